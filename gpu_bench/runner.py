"""The runner: each repeat in a fresh process with a time limit, interleaved, resumable, never losing finished work.

It does not import PyTorch, so that it holds no GPU memory and no crash of a case can reach it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpu_bench import BENCHMARK_VERSION, provenance, records
from gpu_bench.cases import Case
from gpu_bench.progress import Progress, duration
from gpu_bench.quiet import QUIET_SHARE, await_quiet

if sys.platform != "win32":
    import fcntl

_PROBE_LIMIT_S = 120.0
_GUESS_S = 30.0
"""What a repeat is assumed to take before any has been seen."""
_TAIL_LINES = 6
"""How much of a dead worker's last words goes into the record."""


class RunError(Exception):
    """The run cannot start; the message is one line for the person who asked."""


@dataclass(frozen=True)
class Settings:
    """How to run.

    Attributes:
        device: `auto`, `cpu` or `cuda`.
        out: Folder of the records.
        again: Measure even what has a finished record.
        budget_s: No repeat starts that would likely end later than this many seconds from now; None is no budget.
        patience_s: How long, in all, to wait for a quiet machine before repeats, and to spend on repeats that others
        spoiled and that are therefore measured again.
    command: What was typed, for the records.
        on_start: Called with the case and the process id of each worker.
    """

    device: str
    out: Path
    again: bool = False
    budget_s: float | None = None
    patience_s: float = 0.0
    command: str = "python -m gpu_bench run"
    on_start: Callable[[Case, int], None] = lambda case, pid: None


@dataclass
class _Job:
    """A case under way: its reports so far, and what is known of it."""

    suite: str
    case: Case
    path: Path
    parts: list[dict[str, Any]] = field(default_factory=list)

    @property
    def over(self) -> bool:
        """Whether nothing is left to run: all repeats are there, or one failed."""
        failed = any(part["status"] not in ("ok", "throttled") for part in self.parts)
        return failed or len(self.parts) >= self.case.repeats


def probe(device: str) -> dict[str, Any]:
    """What the machine is, found by a short-lived process. Raises `RunError` when the device is not there."""
    report = _work({"task": "probe", "device": device}, _PROBE_LIMIT_S, lambda pid: None)
    if "unavailable" in report:
        raise RunError(report["unavailable"])
    if "device" not in report:
        raise RunError(f"the machine could not be examined: {report['message']}")
    return report


def run(cases: Sequence[tuple[str, Case]], settings: Settings) -> int:
    """Run the cases and write their records.

    Returns:
        0 when every case that could be run has a finished record, 1 when one failed or time ran out.

    Raises:
        RunError: When the device is missing, none of the cases fits it, or another run writes to the same folder.
    """
    with _only_run(settings.out):
        return _run(cases, settings)


def _run(cases: Sequence[tuple[str, Case]], settings: Settings) -> int:
    began = time.monotonic()
    context = probe(settings.device)
    jobs, notes = _plan(cases, settings, context)
    progress = Progress(sum(job.case.repeats - len(job.parts) for job in jobs))
    for note in notes:
        progress.say(note)
    times: dict[str, float] = {}
    failures = 0
    patience = settings.patience_s
    # One repeat of each case in turn, so that a slow drift of the machine spreads over all of them.
    queue = deque(jobs)
    try:
        while queue:
            job = queue.popleft()
            patience -= _wait(patience, settings.budget_s, began)
            left = None if settings.budget_s is None else settings.budget_s - (time.monotonic() - began)
            expected = _expected(job, times)
            if left is not None and left < expected:
                progress.say(_budget_spent(job, queue))
                return 1
            start = time.monotonic()
            limit = job.case.time_limit_s if left is None else min(job.case.time_limit_s, left)
            part = _repeat(job, context, limit, settings)
            if part["status"] == "timeout" and limit < job.case.time_limit_s:
                # The budget ended this repeat, not its own limit: that says nothing about the case.
                progress.say(_budget_spent(job, queue))
                return 1
            times[job.case.name] = time.monotonic() - start
            if patience > 0 and _spoiled(part):
                patience -= times[job.case.name]
                progress.say(f"{job.case.name}: others took {_spoiled(part):.0%} of the processors; measured again")
                queue.append(job)
                continue
            job.parts.append(part)
            if job.over:
                failures += not _finish(job, context, settings, progress)
            else:
                records.write_json(_part_path(job), {"context": _key(job.case, context), "parts": job.parts})
                queue.append(job)
            remaining = sum(_expected(other, times) * (other.case.repeats - len(other.parts)) for other in queue)
            progress.finish(_line(job, part), remaining)
    finally:
        progress.close()
    return 1 if failures else 0


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
        yield


def _plan(
    cases: Sequence[tuple[str, Case]], settings: Settings, context: Mapping[str, Any]
) -> tuple[list[_Job], list[str]]:
    """The jobs to do, and a line for every case that is not: it does not fit the device or has its record."""
    device = context["device"]
    jobs: list[_Job] = []
    notes: list[str] = []
    unfit: list[str] = []
    for suite, case in cases:
        reason = _unfit(case, device)
        if reason:
            unfit.append(f"{case.name} {reason}")
            continue
        path = records.record_path(settings.out, suite, case.name, device["slug"])
        if not settings.again and records.answers(records.read_json(path), case):
            notes.append(f"kept {suite}/{path.stem}: has a finished record; --again measures it again")
            continue
        job = _Job(suite, case, path)
        saved = records.read_json(_part_path(job)) or {}
        if saved.get("context") == _key(case, context) and not settings.again:
            job.parts = saved["parts"]
            notes.append(f"resumed {case.name} after {len(job.parts)} of {case.repeats} repeats")
        jobs.append(job)
    if unfit and len(unfit) == len(cases):
        raise RunError(f"no case fits this device ({device['slug']}): {unfit[0]}")
    return jobs, [f"skipped {line}" for line in unfit] + notes


def _unfit(case: Case, device: Mapping[str, Any]) -> str | None:
    """Why the case cannot run on the device, or None."""
    if case.device == "cuda" and device["type"] != "cuda":
        return "needs a CUDA GPU"
    if device["memory"] is not None and device["memory"] < case.minimum_memory:
        return f"needs {case.minimum_memory / 1e9:.0f} GB, the device has {device['memory'] / 1e9:.0f} GB"
    return None


def _key(case: Case, context: Mapping[str, Any]) -> dict[str, Any]:
    """What must be unchanged for repeats of two runs to belong to one record."""
    return {"benchmark_version": BENCHMARK_VERSION, "case": case.as_dict(), **context}


def _part_path(job: _Job) -> Path:
    """Where the finished repeats of an unfinished case wait: a hidden folder beside the suites."""
    return job.path.parent.parent / ".parts" / job.suite / f"{job.path.stem}.partial"


def _expected(job: _Job, times: Mapping[str, float]) -> float:
    """Seconds that the next repeat will take: as long as its last one, or as the others on average."""
    return times.get(job.case.name) or (statistics.fmean(times.values()) if times else _GUESS_S)


def _repeat(job: _Job, context: Mapping[str, Any], limit_s: float, settings: Settings) -> dict[str, Any]:
    """One repeat in a worker. A worker that dies or hangs yields a failure report, not an exception."""
    started = provenance.utc_now()
    order = {
        "task": "train",
        "case": job.case.as_dict(),
        "device": context["device"]["type"],
        "repeat": len(job.parts),
    }
    report = _work(order, limit_s, lambda pid: settings.on_start(job.case, pid))
    return {"started": started, "finished": provenance.utc_now(), **report}


def _work(order: Mapping[str, Any], limit_s: float, on_start: Callable[[int], None]) -> dict[str, Any]:
    """Start a worker, give it the order, wait at most `limit_s` seconds, return its report or the failure."""
    with tempfile.TemporaryDirectory(prefix="gpu_bench-") as name:
        folder = Path(name)
        report_path = folder / "report.json"
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(_import_path())}
        with (folder / "stderr").open("w+b") as stderr:
            worker = subprocess.Popen(
                [sys.executable, "-m", "gpu_bench.worker"],
                stdin=subprocess.PIPE,
                stdout=stderr,
                stderr=stderr,
                env=environment,
                start_new_session=True,
            )
            assert worker.stdin is not None
            try:
                on_start(worker.pid)
                # A broken pipe means that it died at once; its exit status says how.
                with contextlib.suppress(BrokenPipeError):
                    worker.stdin.write(json.dumps({**order, "report": str(report_path)}).encode() + b"\n")
                    worker.stdin.flush()
                code = worker.wait(limit_s)
            except subprocess.TimeoutExpired:
                return {"status": "timeout", "message": f"no result within the limit of {duration(limit_s)}; ended"}
            finally:
                _end(worker)
            report = records.read_json(report_path)
            if code == 0 and report is not None:
                return report
            stderr.seek(0)
            return {"status": "error", "message": _last_words(code, stderr.read().decode("utf-8", "replace"))}


def _import_path() -> list[str]:
    """The checkout first, then what the caller had."""
    return [str(provenance.ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]


def _end(worker: subprocess.Popen[bytes]) -> None:
    """End the worker and whatever it started, and collect it."""
    if worker.stdin is not None and not worker.stdin.closed:
        with contextlib.suppress(BrokenPipeError):
            worker.stdin.close()
    if worker.poll() is None:
        if hasattr(os, "killpg"):
            os.killpg(worker.pid, signal.SIGKILL)
        else:
            worker.kill()
    worker.wait()


def _last_words(code: int, stderr: str) -> str:
    """How a worker ended, and the end of what it printed, without absolute paths."""
    if code < 0:
        ended = f"the worker was killed by {signal.Signals(-code).name}"
        if -code == signal.SIGKILL:
            ended += "; the system's out-of-memory killer ends processes this way"
    else:
        ended = f"the worker exited with status {code} and left no report"
    lines = [line for line in stderr.splitlines() if line.strip()][-_TAIL_LINES:]
    return provenance.redact("\n".join([ended, *lines]))


def _wait(patience_s: float, budget_s: float | None, began: float) -> float:
    """Wait for a quiet machine within what is left of patience and budget. Returns the seconds waited."""
    start = time.monotonic()
    await_quiet(patience_s if budget_s is None else min(patience_s, budget_s - (start - began)))
    return time.monotonic() - start


def _spoiled(part: Mapping[str, Any]) -> float:
    """The share of the processors that others took during the timed steps, when it was too large; else 0."""
    share: float | None = part.get("timing", {}).get("others_share")
    return share if share is not None and share > QUIET_SHARE else 0.0


def _finish(job: _Job, context: Mapping[str, Any], settings: Settings, progress: Progress) -> bool:
    """Write the record. A failure never replaces a finished record. Returns whether the case is finished."""
    record = records.assemble(job.suite, job.case, context, job.parts, settings.command)
    good = record["status"] in records.FINISHED
    earlier = records.read_json(job.path)
    if not good and earlier is not None and earlier.get("status") in records.FINISHED:
        progress.say(f"kept the earlier record of {job.case.name}; this run failed: {record['message']}")
    else:
        if earlier is not None:
            finished = earlier.get("provenance", {}).get("finished", "an unknown time")
            progress.say(f"replaced the {earlier.get('status')} record of {job.case.name} of {finished}")
        records.write_json(job.path, record)
    waiting = _part_path(job)
    waiting.unlink(missing_ok=True)
    for folder in (waiting.parent, waiting.parent.parent):
        with contextlib.suppress(OSError):
            folder.rmdir()
    return good


def _budget_spent(job: _Job, queue: Iterable[_Job]) -> str:
    waiting = ", ".join(other.case.name for other in (job, *queue))
    return f"budget spent; the same command goes on with {waiting}"


def _line(job: _Job, part: Mapping[str, Any]) -> str:
    """One line about a finished repeat."""
    head = f"{job.case.name}, repeat {len(job.parts)} of {job.case.repeats}: "
    if part["status"] not in ("ok", "throttled"):
        # The first line says how it ended, the last one why.
        told = part["message"].splitlines()
        return head + ": ".join(dict.fromkeys([part["status"], told[0], told[-1]]))
    step = statistics.median(part["timing"]["step_s"])
    speed = f"{step * 1000:.1f} ms/step, {job.case.tokens_per_step / step:,.0f} tokens/s"
    if others := _spoiled(part):
        speed += f", but others took {others:.0%} of the processors"
    return head + (speed if part["status"] == "ok" else f"{speed}, {part['message']}")
