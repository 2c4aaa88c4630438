"""What a build will ask of a child process, begun while the build does something else.

A build waits for its child processes a third of its time, unless they begin before a page needs their answers.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

Asked = TypeVar("Asked", bound=Hashable)
Answer = TypeVar("Answer")


class Ahead(Generic[Asked, Answer]):
    """Answers, each found by `find`, in a thread of their own and in the order in which they were wanted.

    Args:
        find: finds the answer. Nothing else may use what it uses: a child process takes one request at a time. It
            parses no Python: before 3.13, `ast.parse` in two threads at once raises a SystemError now and then.
    """

    def __init__(self, find: Callable[[Asked], Answer]) -> None:
        self._find = find
        self._thread = ThreadPoolExecutor(1)
        self._begun: dict[Asked, Future[Answer]] = {}

    def begin(self, wanted: Iterable[Asked]) -> None:
        """Begin to find answers. What is wrong with one is told when it is asked for."""
        for one in wanted:
            if one not in self._begun:
                self._begun[one] = self._thread.submit(self._find, one)

    def answer(self, asked: Asked) -> Answer:
        """The answer, or the exception that `find` raised. One that is asked for again is found again."""
        return (self._begun.pop(asked, None) or self._thread.submit(self._find, asked)).result()

    def end(self, stop: Callable[[], None]) -> None:
        """Find no more answers, and begin anew when one is asked for.

        Args:
            stop: ends the child process, and so the search that goes on.
        """
        self._thread.shutdown(wait=False, cancel_futures=True)
        stop()
        self._thread.shutdown()
        # Between two requests of one search, it may have been started again.
        stop()
        self._thread = ThreadPoolExecutor(1)
        self._begun.clear()
