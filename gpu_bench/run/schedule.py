"""What runs next: one order of repeats, for the runner, which measures them, and for a plan, which only counts.

Checks come first, the shortest first: one repeat of each case that shows whether the machinery works. Then one
comparison group follows the other. Its cases take turns, A B C then C B A, so that a drift of the machine hits all
alike. Of a group only what can be finished in time is begun, and where nothing can be, what comes later is tried. The
time that is then left goes into single repeats, which the next run goes on with.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, Protocol, TypeVar

from gpu_bench.cases.case import Case
from gpu_bench.predict.durations import duration_of

GUESS_S = 30.0
"""What a repeat is assumed to take of which nothing is known."""
_IN_TURN = 4
"""Cases that a chain of comparisons lets take turns: more would spread a drift wider, but finish nothing for long."""
_SLOWEST, _FASTEST = 2.0, 0.5
"""How far what was seen of other cases may move a prediction."""


class Task(Protocol):
    """A case as the schedule sees it."""

    @property
    def case(self) -> Case:
        """What is measured."""

    @property
    def slug(self) -> str:
        """The kind of device that it is measured on."""

    @property
    def device(self) -> str | None:
        """The GPU's name, where the engine can tell how long things take there."""

    @property
    def done(self) -> int:
        """Repeats that are finished."""

    @property
    def over(self) -> bool:
        """Whether no repeat is to follow."""


def predicted(task: Task, repeat: int) -> float | None:
    """Seconds of a repeat by the engine; None where it knows nothing of the device."""
    if task.device is None:
        return None
    told = duration_of(task.case, task.device)
    return told.later if repeat else told.first


T = TypeVar("T", bound=Task)


class Schedule(Generic[T]):
    """The tasks that are left, in the order of their worth, those that run, and what was seen of their times."""

    def __init__(self, tasks: Sequence[T], *, checks_only: bool = False) -> None:
        self._tasks, self._checks_only = list(tasks), checks_only
        self._groups = grouped(self._tasks)
        self._running: list[T] = []
        self._own: dict[tuple[str, str], float] = {}
        self._seconds: list[float] = []
        self._told: list[tuple[float, float]] = []

    @property
    def waiting(self) -> list[T]:
        """Tasks that are neither over nor running."""
        return [task for task in self._tasks if not task.over and not _among(task, self._running)]

    def next(self, left_s: float | None, free: Callable[[T], bool] = lambda task: True, slots: int = 1) -> T | None:
        """The task whose repeat begins now and ends within `left_s` seconds (None is no limit); None where none can.

        `free` says whether there is room for a repeat of a task, `slots` how many run at a time.
        """
        ready = [
            task for task in self.waiting if free(task) and (left_s is None or self.expected(task, task.done) <= left_s)
        ]
        if checks := [task for task in ready if task.case.check and not task.done]:
            return min(checks, key=lambda task: self.expected(task, 0))
        if self._checks_only:
            return None
        finished = [self._finishing(group, left_s, slots) for group in self._groups]
        for group in (*finished, *self._groups):
            if (turn := _in_turn([task for task in ready if _among(task, group)])) is not None:
                return turn
        return None

    def _finishing(self, group: Sequence[T], left_s: float | None, slots: int) -> list[T]:
        """The tasks of a group that can be finished in time, the first ones first, and none without its control."""
        spent, chosen = 0.0, []
        left_out: set[str] = set()
        for task in group:
            rest = self.rest(task)
            if left_s is None or (spent + rest <= left_s * slots and task.case.against not in left_out):
                spent += rest
                chosen.append(task)
            else:
                left_out.add(task.case.name)
        return chosen

    def begin(self, task: T) -> None:
        """A repeat of the task has begun."""
        self._running.append(task)

    def end(self, task: T, seconds: float | None = None) -> None:
        """The repeat has ended, after so many seconds; None where that says nothing about the task."""
        self._running = [one for one in self._running if one is not task]
        if seconds is None:
            return
        told = predicted(task, task.done)
        self._own[_key(task)] = seconds if told is None else seconds / told
        self._seconds.append(seconds)
        if told is not None:
            self._told.append((seconds, told))

    def expected(self, task: T, repeat: int) -> float:
        """Seconds that a repeat will take: by the engine and by what was seen of its case, or else of the others."""
        told, own = predicted(task, repeat), self._own.get(_key(task))
        if told is None:
            seen = statistics.fmean(self._seconds) if self._seconds else GUESS_S
            seconds = seen if own is None else own
        else:
            seconds = told * (self._pace() if own is None else own)
        return min(seconds, task.case.time_limit_s)

    def rest(self, task: T) -> float:
        """Seconds that all that is left of a task will take."""
        repeats = range(task.done, 0 if task.over else task.case.repeats)
        return sum(self.expected(task, repeat) for repeat in repeats)

    def remaining(self) -> float:
        """Seconds that everything will take, one after the other."""
        return sum(self.rest(task) for task in self._tasks)

    def _pace(self) -> float:
        """How many times as long as predicted repeats have taken so far."""
        if not self._told:
            return 1.0
        pace = sum(seconds for seconds, _ in self._told) / sum(told for _, told in self._told)
        return min(max(pace, _FASTEST), _SLOWEST)


def _key(task: Task) -> tuple[str, str]:
    return task.slug, task.case.name


def _among(task: Task, tasks: Iterable[Task]) -> bool:
    return any(one is task for one in tasks)


def _in_turn(ready: Sequence[T]) -> T | None:
    """Whose turn it is: first all have one repeat, then two; every second round goes the other way."""
    least = min((task.done for task in ready), default=0)
    alike = [task for task in ready if task.done == least]
    return alike[-1 if least % 2 else 0] if alike else None


def grouped(tasks: Sequence[T]) -> list[list[T]]:
    """The tasks in comparison groups, both in their order.

    A group is a task with all that it is compared with; a chain of comparisons goes on until four take turns.
    """
    groups: list[list[T]] = []
    left = list(tasks)
    while left:
        seed = left[0]
        chosen: list[T] = [seed, *(task for task in left[1:] if _compared(task, seed))]
        for task in chosen:
            more = [one for one in left if _compared(one, task) and not _among(one, chosen)]
            chosen += more[: max(0, _IN_TURN - len(chosen))]
        groups.append([task for task in left if _among(task, chosen)])
        left = [task for task in left if not _among(task, chosen)]
    return groups


def _compared(one: Task, other: Task) -> bool:
    named = (one.case.against == other.case.name, other.case.against == one.case.name)
    return one.slug == other.slug and any(named)
