"""The runner: each repeat in a fresh process with a time limit, interleaved, resumable, never losing finished work.

It does not import PyTorch, so that it holds no GPU memory and no crash of a case can reach it. What runs, and what
becomes of it, is decided here; where it runs is an executor's business.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import statistics
import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.machine import provenance
from gpu_bench.machine.quiet import QUIET_SHARE, await_quiet
from gpu_bench.predict.durations import duration_of
from gpu_bench.record import load, store
from gpu_bench.record.assembly import MEASURED, assemble, impossible
from gpu_bench.run.archive import COMPILED
from gpu_bench.run.isolation import Executor, LocalExecutor, Place, RunError
from gpu_bench.run.plan import Job, Settings, conditions, kept_path, part_path, plan_jobs
from gpu_bench.run.progress import Progress

if sys.platform != "win32":
    import fcntl

__all__ = ["RunError", "Settings", "run"]

_GUESS_S = 30.0
"""What a repeat is assumed to take before any has been seen."""
_IN_TURN = 4
"""Cases whose repeats take turns. More would spread a drift wider, but a run that is cut short would finish fewer."""


def run(cases: Sequence[tuple[str, Case]], settings: Settings) -> int:
    """Run the cases and write their records.

    Returns:
        0 when every case that could be run has a finished record, 1 when one failed or time ran out.

    Raises:
        RunError: When the device is missing, none of the cases fits it, or another run writes to the same folder.
    """
    with _only_run(settings.out):
        began = time.monotonic()
        sweep = _Sweep(settings, began)
        try:
            return sweep.run(cases)
        finally:
            sweep.close()


class _Sweep:
    """One call of `run`: the jobs that wait, those that run, and what is known of the time they take."""

    def __init__(self, settings: Settings, began: float) -> None:
        self._settings = settings
        self._began = began
        self._tickets = itertools.count()
        self._running: dict[int, _Started] = {}
        self._later: deque[Job] = deque()
        self._queue: deque[Job] = deque()
        self._round: deque[Job] = deque()
        self._times: dict[str, float] = {}
        self._failures = 0
        self._written: list[Path] = []
        self._patience = settings.patience_s
        self._out_of_time = False
        self._executor = self._make_executor()
        self._progress = Progress(0)

    def _make_executor(self) -> Executor:
        if self._settings.executor == "ray":
            # Only a sweep over a cluster needs Ray.
            from gpu_bench.cluster.ray_cluster import RayExecutor

            return RayExecutor(self._settings.device)
        return LocalExecutor(
            self._settings.device,
            lambda ticket, pid: self._settings.on_start(self._running[ticket].job.case, pid),
            self._settings.compiled or self._settings.out / COMPILED,
        )

    def close(self) -> None:
        """End what runs; what is finished has been written."""
        self._progress.close()
        self._executor.close()

    def run(self, cases: Sequence[tuple[str, Case]]) -> int:
        """Work until nothing waits and nothing runs."""
        jobs, notes = plan_jobs(cases, self._settings, self._executor.places())
        self._later.extend(jobs)
        self._progress = Progress(sum(job.case.repeats - len(job.parts) for job in jobs))
        for note in notes:
            self._progress.say(note)
        for job in [one for one in jobs if one.over and one.place is not None]:
            self._later.remove(job)
            assert job.place is not None
            self._finish(job, job.place)
        while self._later or self._queue or self._round or self._running:
            # One repeat of each case in turn, so that a slow drift of the machine spreads over several of them.
            self._admit()
            if not self._queue:
                self._queue, self._round = self._round, deque()
            while not self._out_of_time and (found := self._next_start()) is not None:
                self._start(*found)
            if not self._running and (self._out_of_time or not self._later):
                break
            if not self._running:
                # The machines of those in turn are gone; others may still find one.
                self._queue.extend(self._later)
                self._later.clear()
            for ticket, report in self._executor.collect():
                self._take(self._running.pop(ticket), report)
        if self._queue or self._round or self._later:
            waiting = ", ".join(job.case.name for job in (*self._queue, *self._round, *self._later))
            why = "budget spent" if self._out_of_time else "no machine is left for the rest"
            self._progress.say(f"{why}; the same command goes on with {waiting}")
            self._progress.say(self._where())
            return 1
        self._progress.say(self._where())
        return 1 if self._failures else 0

    def _where(self) -> str:
        """Where what was measured is, and how to look at it."""
        shown = " ".join(f"{path}" for path in self._written[-1:])
        if not shown:
            return f"records are in {self._settings.out}"
        return f"{len(self._written)} records written to {self._settings.out}; python -m gpu_bench show {shown}"

    def _admit(self) -> None:
        """Let the next cases in, as many as take turns or as there are places."""
        slots = sum(place.slots for place in self._executor.places())
        while self._later and len(self._queue) + len(self._round) + len(self._running) < max(_IN_TURN, 2 * slots):
            job = self._later.popleft()
            # Whatever it is compared with takes turns with it.
            named = {job.case.name, job.case.against}
            partners = [one for one in self._later if {one.case.name, one.case.against} & named - {""}]
            self._later = deque(one for one in self._later if one not in partners)
            self._queue.extend([job, *partners])

    def _next_start(self) -> tuple[Job, Place] | None:
        """The first waiting job that a free place can take now."""
        places = self._executor.places()
        alive = {place.name for place in places}
        for job in self._queue:
            if job.place is not None and job.place.name not in alive:
                self._move_on(job)
            for place in places:
                if place.context["device"]["slug"] != job.slug or (job.place or place).name != place.name:
                    continue
                if _slots(job.case, place) <= place.slots - self._occupied(place):
                    return job, place
        return None

    def _occupied(self, place: Place) -> int:
        return sum(_slots(one.job.case, place) for one in self._running.values() if one.place.name == place.name)

    def _move_on(self, job: Job) -> None:
        """Free a job from a machine that is gone. Its repeats go too: one record tells of one machine."""
        if job.parts:
            self._progress.say(f"{job.case.name}: its machine is gone; begun again elsewhere")
            self._progress.add(len(job.parts))
        job.place, job.parts = None, []

    def _start(self, job: Job, place: Place) -> None:
        """Begin the job's next repeat, unless too little time is left for it."""
        self._patience -= _wait(self._patience, self._settings.budget_s, self._began)
        left = self._left()
        if left is not None and left < _expected(job, self._times):
            self._out_of_time = True
            return
        self._queue.remove(job)
        limit = job.case.time_limit_s if left is None else min(job.case.time_limit_s, left)
        ticket = next(self._tickets)
        self._running[ticket] = _Started(job, place, limit, time.monotonic(), provenance.utc_now())
        order = {
            "task": "train",
            "case": job.case.as_dict(),
            "device": place.context["device"]["type"],
            "repeat": len(job.parts),
        }
        if self._settings.executor == "local":
            order["kept"] = str(kept_path(job, place.context))
        self._executor.submit(ticket, place, order, limit, job.case.devices)

    def _left(self) -> float | None:
        """Seconds of the budget that are left; None without a budget."""
        budget = self._settings.budget_s
        return None if budget is None else budget - (time.monotonic() - self._began)

    def _take(self, started: _Started, report: Mapping[str, Any]) -> None:
        """Take in what a repeat reported."""
        job = started.job
        if report["status"] == "timeout" and started.limit_s < job.case.time_limit_s:
            # The budget ended this repeat, not its own limit: that says nothing about the case.
            self._out_of_time = True
            self._queue.appendleft(job)
            return
        if report.get("lost") and job.lost < self._settings.retries:
            job.lost += 1
            told = report["message"].splitlines()[0]
            self._progress.say(f"{job.case.name}: {told}; attempt {job.lost + 1} of {self._settings.retries + 1}")
            self._queue.append(job)
            return
        part = {
            "started": started.at,
            "finished": provenance.utc_now(),
            "host": started.place.context["machine"]["host"],
            **report,
        }
        self._times[job.case.name] = time.monotonic() - started.began
        if self._patience > 0 and _spoiled(part):
            self._patience -= self._times[job.case.name]
            share = _spoiled(part)
            self._progress.say(f"{job.case.name}: others took {share:.0%} of the processors; measured again")
            self._queue.append(job)
            return
        job.place = started.place
        job.parts.append(part)
        # Saved first: if there is no room for the record, the next run can still make it from this file.
        store.write_json(part_path(job), {"context": conditions(job.case, started.place.context), "parts": job.parts})
        if job.over:
            self._finish(job, started.place)
        else:
            # The next round goes the other way: A B, then B A, so that a drift of the machine hits both alike.
            self._round.appendleft(job)
        self._progress.finish(_line(job, part), self._remaining())

    def _finish(self, job: Job, place: Place) -> None:
        self._failures += not _finish(job, place.context, self._settings, self._progress)
        self._written.append(job.path)

    def _remaining(self) -> float:
        """Seconds that the rest will take, if every place stays busy."""
        waiting = [*self._queue, *self._round, *self._later, *(one.job for one in self._running.values())]
        work = sum(_expected(job, self._times) * (job.case.repeats - len(job.parts)) for job in waiting)
        return work / max(1, sum(place.slots for place in self._executor.places()))


@dataclass(frozen=True)
class _Started:
    """A repeat that runs: whose, where, under which limit, since when."""

    job: Job
    place: Place
    limit_s: float
    began: float
    at: str


@contextlib.contextmanager
def _only_run(out: Path) -> Iterator[None]:
    """Hold the folder of records: two runs at once would measure each other. The lock ends with its process."""
    out.mkdir(parents=True, exist_ok=True)
    with (out / ".lock").open("w") as lock:
        if sys.platform != "win32":
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise RunError(f"another run writes to '{out}'; wait for it, or give another --out") from error
        store.sweep(out)
        yield


def _slots(case: Case, place: Place) -> int:
    """How many of the place's slots a repeat of the case takes; a place with one slot gives it all its devices."""
    return min(case.devices, place.slots)


def _expected(job: Job, times: Mapping[str, float]) -> float:
    """Seconds that the next repeat will take: as its last one, as predicted, or as the others on average."""
    if (last := times.get(job.case.name)) is not None:
        return last
    if job.device is not None:
        told = duration_of(job.case, job.device)
        return told.later if job.parts else told.first
    return statistics.fmean(times.values()) if times else _GUESS_S


def _wait(patience_s: float, budget_s: float | None, began: float) -> float:
    """Wait for a quiet machine within what is left of patience and budget. Returns the seconds waited."""
    start = time.monotonic()
    await_quiet(patience_s if budget_s is None else min(patience_s, budget_s - (start - began)))
    return time.monotonic() - start


def _spoiled(part: Mapping[str, Any]) -> float:
    """The share of the processors that others took during the timed steps, when it was too large; else 0."""
    share: float | None = part.get("timing", {}).get("others_share")
    return share if share is not None and share > QUIET_SHARE else 0.0


def _finish(job: Job, context: Mapping[str, Any], settings: Settings, progress: Progress) -> bool:
    """Write the record. A failure never replaces a finished record. Returns whether the case is finished."""
    record = assemble(job.suite, job.case, context, job.parts, settings.command)
    # As JSON would give it back: tuples become lists.
    if record["status"] in MEASURED and (faults := load.faults(json.loads(json.dumps(record)))):
        record = impossible(job.case, record, faults)
    good = record["status"] in store.FINISHED
    earlier = load.read(job.path, settings.out)[0] if job.path.is_file() else None
    if not good and earlier is not None and earlier["status"] in store.FINISHED:
        progress.say(f"kept the earlier record of {job.case.name}; this run failed: {record['message']}")
    else:
        if earlier is not None:
            finished = earlier["provenance"]["finished"]
            progress.say(f"replaced the {earlier['status']} record of {job.case.name} of {finished}")
        store.write_json(job.path, record)
    waiting = part_path(job)
    waiting.unlink(missing_ok=True)
    kept_path(job, context).unlink(missing_ok=True)
    for folder in (waiting.parent, waiting.parent.parent):
        with contextlib.suppress(OSError):
            folder.rmdir()
    return good


def _told(case: Case, part: Mapping[str, Any]) -> str:
    """What a repeat found, in a few words."""
    if isinstance(case, TrainingCase):
        step = statistics.median(part["timing"]["step_s"])
        return f"{step * 1000:.1f} ms/step, {case.tokens_per_step / step:,.0f} tokens/s"
    if "fit" in part:
        found = ((one["policy"], one["largest_batch"] or "none") for one in part["fit"]["policies"])
        return "largest batches " + ", ".join(f"{policy} {batch}" for policy, batch in found)
    failed = sum(point.get("status", "ok") != "ok" for point in part.get("points", ()))
    return f"{len(part.get('points', ()))} points" + (f", {failed} of them not possible" if failed else "")


def _line(job: Job, part: Mapping[str, Any]) -> str:
    """One line about a finished repeat."""
    head = f"{job.case.name}, repeat {len(job.parts)} of {job.case.repeats}: "
    if part["status"] not in MEASURED:
        # The first line says how it ended, the last one why.
        told = part["message"].splitlines()
        return head + ": ".join(dict.fromkeys([part["status"], told[0], told[-1]]))
    speed = _told(job.case, part)
    if others := _spoiled(part):
        speed += f", but others took {others:.0%} of the processors"
    return head + (speed if part["status"] == "ok" else f"{speed}, {part['message']}")
