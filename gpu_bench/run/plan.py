"""What a run has to do: its settings, a job for each case and kind of device, and what earlier runs have left of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpu_bench import BENCHMARK_VERSION
from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.distributed.case import ScalingCase, meeting
from gpu_bench.machine.chips import chip_of
from gpu_bench.predict.prediction import predict
from gpu_bench.predict.room import too_small
from gpu_bench.record import load, store
from gpu_bench.record.assembly import assemble
from gpu_bench.record.judgement import MEASURED
from gpu_bench.run.archive import PARTS
from gpu_bench.run.isolation import Place, RunError


@dataclass(frozen=True)
class Settings:
    """How to run."""

    device: str  # `auto`, `cpu` or `cuda`
    out: Path  # Folder of the records
    again: bool = False  # Measure even what has a finished record
    # No repeat starts that would likely end later than this many seconds from now; None is no budget
    budget_s: float | None = None
    # How long, in all, to wait for a quiet machine before repeats, and to spend on repeats that others spoiled and that
    # are therefore measured again. Only on this machine
    patience_s: float = 0.0
    command: str = "python -m gpu_bench run"  # What was typed, for the records
    # Called with the case and the process id of each worker on this machine
    on_start: Callable[[Case, int], None] = lambda case, pid: None
    executor: str = "local"  # `local` or `ray`
    retries: int = 0  # How often a repeat is begun again whose process or machine was taken away from outside
    # Folder for what compilers make; None is beside the records, on a cluster each machine's own
    compiled: Path | None = None
    # Whether to stop after the cases that show whether the machinery works, one repeat of each
    checks_only: bool = False


@dataclass
class Job:
    """A case under way on one kind of device: its reports so far, and where they were made."""

    suite: str
    case: Case
    path: Path
    slug: str
    place: Place | None = None
    """Where its repeats so far were made: one record tells of one machine."""
    parts: list[dict[str, Any]] = field(default_factory=list)
    lost: int = 0
    """How often its process or machine was taken away."""
    predicted: dict[str, Any] | None = None
    """What the engine says of a training case, before anything of it runs."""
    device: str | None = None
    """The GPU's name, where the engine can tell how long things take there."""

    @property
    def done(self) -> int:
        """Repeats that are finished."""
        return len(self.parts)

    @property
    def over(self) -> bool:
        """Whether nothing is left to run: all repeats are there, or one failed."""
        failed = any(part["status"] not in MEASURED for part in self.parts)
        return failed or len(self.parts) >= self.case.repeats


def plan_jobs(
    cases: Sequence[tuple[str, Case]], settings: Settings, places: Sequence[Place]
) -> tuple[list[Job], list[str]]:
    """The jobs to do on every kind of device, and a line for every case that is not: unfit, or it has its record."""
    jobs: list[Job] = []
    notes: list[str] = []
    unfit: list[str] = []
    slugs = list(dict.fromkeys(place.context["device"]["slug"] for place in places))
    for slug in slugs:
        alike = [place for place in places if place.context["device"]["slug"] == slug]
        for suite, case in cases:
            reasons = [why_unfit(case, place) for place in alike]
            if all(reasons):
                unfit.append(f"{case.name} {reasons[0]}")
                continue
            path = store.record_path(settings.out, suite, case.name, slug)
            if not settings.again and load.answers(path, case):
                notes.append(f"kept {suite}/{path.stem}: has a finished record; --again measures it again")
                continue
            device = alike[0].context["device"]
            told = predict(case, device) if isinstance(case, TrainingCase) else None
            name = device["name"] if chip_of(device["name"]) else None
            job = Job(suite, case, path, slug, predicted=told, device=name)
            saved = {} if settings.again else store.read_json(part_path(job)) or {}
            job.place = next(
                (place for place in alike if saved.get("context") == conditions(case, place.context)), None
            )
            if job.place is None and not settings.again and part_path(job).exists():
                why = "is of another case, machine or program" if saved else "does not hold what a run leaves"
                notes.append(f"begun again {case.name}: {part_path(job)} {why}")
            if job.place is not None:
                if (left := _left(job, saved, job.place.context)) is None:
                    job.place = None
                    notes.append(f"begun again {case.name}: {part_path(job)} does not hold what a run leaves")
                else:
                    job.parts = left
                    notes.append(f"resumed {case.name} after {len(left)} of {case.repeats} repeats")
            jobs.append(job)
    if unfit and len(unfit) == len(cases) * len(slugs):
        raise RunError(f"no case fits this device ({slugs[0]}): {unfit[0]}")
    return jobs, [f"skipped {line}" for line in unfit] + notes


def _left(job: Job, saved: Mapping[str, Any], context: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The finished repeats in what an earlier run saved; None where no record can be made of them."""
    try:
        parts = [part for part in saved["parts"] if part["status"] in MEASURED]
        record = assemble(job.suite, job.case, context, parts, Settings.command, job.predicted)
        faults = load.form_faults(record) if parts else []
    # A file that somebody or a broken disk has changed can hold anything, of any type.
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return None
    return None if faults or len(parts) > job.case.repeats else parts


def why_unfit(case: Case, place: Place) -> str | None:
    """Why the case cannot run on the place, or None."""
    device = place.context["device"]
    if case.device == "cuda" and device["type"] != "cuda":
        return "needs a CUDA GPU"
    count = place.context["device_count"] * (meeting().nodes if isinstance(case, ScalingCase) else 1)
    if count < case.devices:
        return f"needs {case.devices} devices, there are {count}"
    if device["memory"] is None:
        return None
    if device["type"] != "cuda":
        return None if case.minimum_memory <= device["memory"] else too_small(case, device["memory"])
    return too_small(case, device["memory"])


def conditions(case: Case, context: Mapping[str, Any]) -> dict[str, Any]:
    """What must be unchanged for repeats of two runs to belong to one record: case, code, device and software.

    On a GPU not the machine around it, nor how many of its cores PyTorch uses: a rented machine is another one each
    time. Each repeat names its own. The code counts by its sources, so that a commit which changes none of them does
    not spoil what is finished.
    """
    machine, software = context["machine"], context["software"]
    if context["device"]["type"] == "cuda":
        machine = {"python": machine["python"]}
        software = {name: value for name, value in software.items() if name != "threads"}
    return {
        "benchmark_version": BENCHMARK_VERSION,
        "case": case.as_dict(),
        "sources": context["code"]["sources"],
        **{name: context[name] for name in ("device", "device_count")},
        "software": software,
        "machine": {name: value for name, value in machine.items() if name not in ("host", "memory")},
    }


def part_path(job: Job) -> Path:
    """Where the finished repeats of an unfinished case wait: a hidden folder beside the suites."""
    return job.path.parent.parent / PARTS / job.suite / f"{job.path.stem}.partial"


def kept_path(job: Job, context: Mapping[str, Any]) -> Path:
    """Where a repeat that resumes leaves what it has; another name once anything changed that it depends on."""
    key = hashlib.sha256(json.dumps(conditions(job.case, context), sort_keys=True).encode()).hexdigest()[:12]
    return part_path(job).with_suffix(f".{key}.kept")
