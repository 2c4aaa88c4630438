"""The runner: each repeat in a fresh process with a time limit, interleaved, resumable, never losing finished work.

It does not import PyTorch, so that it holds no GPU memory and no crash of a case can reach it. What runs, and what
becomes of it, is decided here; where it runs is an executor's business.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.cases.kinds import FitCase
from gpu_bench.machine import provenance
from gpu_bench.machine.quiet import QUIET_SHARE, await_quiet
from gpu_bench.record import load, store
from gpu_bench.record.assembly import assemble, impossible
from gpu_bench.record.derive import found_by_policy
from gpu_bench.record.judgement import MEASURED
from gpu_bench.run.archive import COMPILED
from gpu_bench.run.isolation import Executor, LocalExecutor, Place, RunError
from gpu_bench.run.plan import Job, Settings, conditions, kept_path, part_path, plan_jobs
from gpu_bench.run.progress import Progress
from gpu_bench.run.schedule import Schedule

if sys.platform != "win32":
    import fcntl

__all__ = ["RunError", "Settings", "run"]


def run(cases: Sequence[tuple[str, Case]], settings: Settings) -> int:
    """Run the cases and write their records: 0 when all that could run are finished, 1 when one failed or time ran out.

    Raises `RunError` when the device is missing, none of the cases fits it, or another run writes to the same folder.
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
        self._schedule: Schedule[Job] = Schedule(())
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

            return RayExecutor(self._settings.device, self._settings.compiled or Path(tempfile.gettempdir()) / COMPILED)
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
        self._schedule = Schedule(jobs, checks_only=self._settings.checks_only)
        self._progress = Progress(sum(job.case.repeats - len(job.parts) for job in jobs))
        for note in notes:
            self._progress.say(note)
        for job in jobs:
            if job.over and job.place is not None:
                self._finish(job, job.place)
        while True:
            while not self._out_of_time and (found := self._next_start()) is not None:
                self._start(*found)
            if not self._running:
                break
            for ticket, report in self._executor.collect():
                self._take(self._running.pop(ticket), report)
        if waiting := self._schedule.waiting:
            over = "budget spent" if self._settings.budget_s is not None else "no machine is left for the rest"
            over = "checked" if self._settings.checks_only else over
            names = ", ".join(job.case.name for job in waiting)
            self._progress.say(f"{over}; the same command goes on with {names}")
        out, written = self._settings.out, self._written
        if written:
            self._progress.say(f"{len(written)} records written to {out}; python -m gpu_bench show {written[-1]}")
        else:
            self._progress.say(f"records are in {out}")
        return 1 if self._failures or (waiting and not self._settings.checks_only) else 0

    def _next_start(self) -> tuple[Job, Place] | None:
        """The job that the schedule names, and a place that can take it now."""
        places = self._executor.places()
        alive = {place.name for place in places}
        for job in self._schedule.waiting:
            if job.place is not None and job.place.name not in alive:
                self._move_on(job)
        self._patience -= self._await_quiet()
        slots = sum(place.slots for place in places)
        found = self._schedule.next(self._left(), lambda job: self._place_of(job, places) is not None, slots)
        place = self._place_of(found, places) if found is not None else None
        return (found, place) if found is not None and place is not None else None

    def _place_of(self, job: Job, places: Sequence[Place]) -> Place | None:
        """A place that can take a repeat of the job now."""
        for place in places:
            if place.context["device"]["slug"] != job.slug or (job.place or place).name != place.name:
                continue
            here = [one.job.case for one in self._running.values() if one.place.name == place.name]
            if _slots(job.case, place) + sum(_slots(case, place) for case in here) <= place.slots:
                return place
        return None

    def _move_on(self, job: Job) -> None:
        """Free a job from a machine that is gone. Its repeats go too: one record tells of one machine."""
        if job.parts:
            self._progress.say(f"{job.case.name}: its machine is gone; begun again elsewhere")
            self._progress.add(len(job.parts))
        job.place, job.parts = None, []

    def _start(self, job: Job, place: Place) -> None:
        """Begin the job's next repeat."""
        left = self._left()
        self._schedule.begin(job)
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
        seconds = time.monotonic() - started.began
        if report["status"] == "timeout" and started.limit_s < job.case.time_limit_s:
            # The budget ended this repeat, not its own limit: that says nothing about the case.
            self._out_of_time = True
            self._schedule.end(job)
            return
        if report.get("lost") and job.lost < self._settings.retries:
            job.lost += 1
            told = report["message"].splitlines()[0]
            self._progress.say(f"{job.case.name}: {told}; attempt {job.lost + 1} of {self._settings.retries + 1}")
            self._schedule.end(job)
            return
        self._schedule.end(job, seconds if report["status"] in MEASURED else None)
        part = {
            "started": started.at,
            "finished": provenance.utc_now(),
            "host": started.place.context["machine"]["host"],
            **report,
        }
        if self._patience > 0 and _spoiled(part):
            self._patience -= seconds
            self._progress.say(f"{job.case.name}: others took {_spoiled(part):.0%} of the processors; measured again")
            return
        job.place = started.place
        job.parts.append(part)
        # Saved first: if there is no room for the record, the next run can still make it from this file.
        store.write_json(part_path(job), {"context": conditions(job.case, started.place.context), "parts": job.parts})
        if job.over:
            self._finish(job, started.place)
        slots = sum(place.slots for place in self._executor.places())
        # If every place stays busy.
        self._progress.finish(_line(job, part), self._schedule.remaining() / max(1, slots))

    def _finish(self, job: Job, place: Place) -> None:
        self._failures += not _finish(job, place.context, self._settings, self._progress)
        self._written.append(job.path)

    def _await_quiet(self) -> float:
        """Wait for a quiet machine within what is left of patience and budget. Returns the seconds waited."""
        if self._patience <= 0 or self._running or not self._schedule.waiting:
            return 0.0
        start, left = time.monotonic(), self._left()
        await_quiet(self._patience if left is None else min(self._patience, left))
        return time.monotonic() - start


@dataclass(frozen=True)
class _Started:
    """A repeat that runs: whose, where, under which limit, since when."""

    job: Job
    place: Place
    limit_s: float
    began: float
    at: str


def _opened(path: Path) -> BinaryIO:
    """The file of a lock, made where there is none. What a link leads to is not touched, and no pipe is waited for."""
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        file = os.fdopen(os.open(path, flags, 0o644), "rb+", buffering=0)
    except OSError as error:
        raise RunError(f"'{path}' cannot be opened: {error.strerror}; a run keeps a file of its own there") from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise RunError(f"'{path}' is no file; a run keeps a file of its own there: remove it")
    return file


@contextlib.contextmanager
def _only_run(out: Path) -> Iterator[None]:
    """Hold the folder of records: two runs at once would measure each other. The lock ends with its process."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise RunError(f"'{out}' is there and is no folder; give another --out") from error
    with _opened(out / ".lock") as lock:
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


def _spoiled(part: Mapping[str, Any]) -> float:
    """The share of the processors that others took meanwhile, when it was too large; else 0."""
    share: float | None = part.get("others_share")
    return share if share is not None and share > QUIET_SHARE else 0.0


def _finish(job: Job, context: Mapping[str, Any], settings: Settings, progress: Progress) -> bool:
    """Write the record. A failure never replaces a finished record. Returns whether the case is finished."""
    record = assemble(job.suite, job.case, context, job.parts, settings.command, job.predicted)
    # A machine whose memory others fill says nothing about a case that needs little: the next run tries it again.
    if record["outcome"] in ("measured", "oom", "timeout") and (faults := load.faults(record)):
        record = impossible(record, faults)
        progress.say(f"refused what {job.case.name} measured: {faults[0]}")
    good = record["outcome"] in store.FINISHED
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
    if isinstance(case, FitCase):
        found = found_by_policy(case, part["fit"])
        return "largest batches " + ", ".join(f"{one['policy']} {one['largest_batch'] or 'none'}" for one in found)
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
