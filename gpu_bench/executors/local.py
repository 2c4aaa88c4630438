"""The default executor: this machine, one repeat at a time, so that no two measurements disturb each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gpu_bench.executors import Place, isolation


class LocalExecutor:
    """Runs one repeat at a time in a fresh process on this machine.

    Args:
        device: `auto`, `cpu` or `cuda`.
        on_start: Called with the ticket and the process id of each worker.
    """

    def __init__(self, device: str, on_start: Callable[[int, int], None]) -> None:
        self._place = Place("this machine", isolation.probe(device))
        self._on_start = on_start
        self._next: tuple[int, Mapping[str, Any], float] | None = None

    def places(self) -> Sequence[Place]:
        """This machine."""
        return (self._place,)

    def submit(self, ticket: int, place: Place, order: Mapping[str, Any], limit_s: float, devices: int) -> None:
        """Note what to do; `collect` does it. Alone on the machine, a repeat has all of its devices."""
        self._next = (ticket, order, limit_s)

    def collect(self) -> Sequence[tuple[int, dict[str, Any]]]:
        """Do it, and wait until it is done."""
        if self._next is None:
            return ()
        (ticket, order, limit_s), self._next = self._next, None
        return ((ticket, isolation.work(order, limit_s, lambda pid: self._on_start(ticket, pid))),)

    def close(self) -> None:
        """Nothing runs between two calls of `collect`, and an interrupted one ends its worker itself."""
