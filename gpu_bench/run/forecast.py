"""What a budget will finish: the runner's own schedule, with predicted times in place of a clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpu_bench.cases.case import Case
from gpu_bench.run.schedule import GUESS_S, Schedule, predicted

SLOWER = 1.3
"""A plan also says what is finished if everything takes so many times as long as predicted."""


@dataclass
class Planned:
    """A case in a plan."""

    suite: str  # The suite it belongs to
    case: Case  # What is measured
    device: str | None  # The GPU, as its driver calls it
    done: int = 0  # Repeats that are finished
    starts: float | None = None  # Seconds after the beginning at which its first repeat begins; None where none does
    ends: float | None = None  # Seconds at which it has its record; None where that is not before the end
    broken: bool = False  # Whether a repeat passed its time limit
    slug: str = "planned"

    @property
    def over(self) -> bool:
        """Whether no repeat is to follow."""
        return self.broken or self.done >= self.case.repeats


def forecast(
    cases: Iterable[tuple[str, Case]], device: str | None, budgets: Sequence[float], factor: float = 1.0
) -> list[Planned]:
    """The cases in their order, the most valuable first, with what becomes of each.

    Budgets are seconds of one command after another; each goes on where the last one stopped. Everything takes `factor`
    times as long as predicted, which the schedule learns only as it goes.
    """
    tasks = [Planned(suite, case, device) for suite, case in cases]
    clock = 0.0
    for budget in budgets:
        schedule, end = Schedule(tasks), clock + budget
        while (task := schedule.next(end - clock)) is not None:
            seconds = factor * (predicted(task, task.done) or GUESS_S)
            task.starts = clock if task.starts is None else task.starts
            schedule.begin(task)
            took = min(seconds, task.case.time_limit_s, end - clock)
            clock += took
            if took < min(seconds, task.case.time_limit_s):
                # The end of the command cut it off.
                break
            task.broken = took < seconds
            schedule.end(task, None if task.broken else took)
            task.done += not task.broken
            task.ends = clock if task.over and not task.broken else None
        clock = end
    return tasks
