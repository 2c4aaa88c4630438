"""Executors: where the repeats of a run take place. The runner decides what runs; an executor only carries it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class RunError(Exception):
    """The run cannot start; the message is one line for the person who asked."""


@dataclass(frozen=True)
class Place:
    """A machine on which repeats run, each on a device of its own.

    Attributes:
        name: Tells the places of one executor apart.
        context: What the machine is: `device`, `device_count`, `software`, `machine`, `code`.
        slots: How many repeats it takes at a time.
    """

    name: str
    context: Mapping[str, Any] = field(repr=False)
    slots: int = 1


class Executor(Protocol):
    """Carries out repeats. Every repeat is a fresh process on whatever place it was given."""

    def places(self) -> Sequence[Place]:
        """The places that are alive now. Raises `RunError` when there is none to begin with."""

    def submit(self, ticket: int, place: Place, order: Mapping[str, Any], limit_s: float, devices: int) -> None:
        """Begin a repeat.

        Args:
            ticket: Names it in `collect`.
            place: Where.
            order: What the worker reads, see `worker.py`.
            limit_s: Seconds after which it is ended.
            devices: How many of the place's slots it occupies.
        """

    def collect(self) -> Sequence[tuple[int, dict[str, Any]]]:
        """Wait a moment for repeats to end: tickets and reports of those that did, possibly none.

        A report with `lost` did not fail by itself: its process, or the machine under it, was taken away.
        """

    def close(self) -> None:
        """End whatever still runs."""
