"""The job of a GPU runner: examine the machine, measure within a budget, check, compare, and write down a proposal.

It proposes and never publishes: what a person may merge lies in a folder, with the text of the pull request. It needs
no credentials and no network, and it does the same on a laptop. It does not import PyTorch: it holds no memory of the
GPU that it measures.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_bench.cases.case import Case
from gpu_bench.machine import provenance
from gpu_bench.record import load, report
from gpu_bench.record.compare import (
    Change,
    beyond_noise,
    bound_of,
    compare_records,
    software_changes,
    summary,
    table,
    worse,
)
from gpu_bench.record.tables import render, words
from gpu_bench.run import admission, runner
from gpu_bench.run.admission import Measured

PROPOSED = ("ok", "oom", "unsupported")
"""States of a record worth keeping: not one of a GPU that was slowed down, and not a failure."""
_MOST_ROWS = 100
"""GitHub refuses a text of more than 65,536 characters."""


@dataclass(frozen=True)
class JobSettings:
    """What the job is to do."""

    device: str  # `auto`, `cpu` or `cuda`
    committed: Path  # The records that are compared with
    # Folder of the job: `records/` as measured, `proposal/` for the pull request, `pull-request.md` its text. A job
    # that was cut off goes on where it stopped when it is given the same folder
    out: Path
    budget_s: float | None = None  # Seconds for measuring; None is no budget
    patience_s: float = 0.0  # Seconds to wait for a quiet machine
    unfit_too: bool = False  # Whether to measure although the machine is not fit, e.g. to try the job out
    apply: bool = False  # Whether to copy the proposal into `committed`
    command: str = "python -m gpu_bench job"  # What was typed, for the records


def run(cases: Sequence[tuple[str, Case]], job: JobSettings, say: Callable[[str], None] = print) -> int:
    """Do the job: 0 when there is a proposal or nothing to propose, 1 when the machine is unfit or no record is valid.

    A record that is not valid is left out and told: hours of other measurements do not wait for it. Raises `RunError`
    when the device is missing, or none of the cases fits it.
    """
    fit, examined = _examine(job.device)
    say(examined)
    if not fit and not job.unfit_too:
        say("this machine is not fit to measure now, so nothing was measured")
        return 1
    measured = job.out / "records"
    settings = runner.Settings(
        device=job.device,
        out=measured,
        budget_s=job.budget_s,
        patience_s=job.patience_s,
        command=job.command,
        # Compiled programs stay outside the proposal: nobody should run programs that another machine made.
        compiled=job.out / "compiled",
    )
    complete = runner.run(in_order(cases, job.committed), settings) == 0
    found: list[Measured] = []
    faults: list[str] = []
    for file in load.record_files([measured]):
        record, wrong = load.read(file, measured)
        faults += [f"{file.parent.name}/{file.name}: {fault}" for fault in wrong]
        if record is not None:
            found.append((file, record))
    return propose(found, faults, job, examined, complete=complete, say=say)


def admit(measured: Path, job: JobSettings, say: Callable[[str], None] = print) -> int:
    """Propose what another machine has measured, after a look at each file as at a stranger's.

    Records of a device that nobody here knows are laid apart, into `unknown/`: a person takes the first of them.

    Returns 0 when there is a proposal or nothing to propose; 1 when anything was out of place, and then nothing is
    written. Raises `ValueError` when there is no such folder.
    """
    found, faults = admission.admit(measured)
    known, unknown = admission.apart(found, job.committed)
    if (names := len({record["device"]["name"] for _, record in unknown})) > admission.MOST_UNKNOWN:
        faults.append(f"records of {names} devices that nobody here knows; allowed: {admission.MOST_UNKNOWN}")
    if faults:
        say("\n".join([*faults, f"refused: {len(faults)} faults, so none of {len(found)} records is taken"]))
        return 1
    return propose(known, [], job, "", complete=True, say=say, unknown=unknown) if found else 0


def propose(
    measured: Sequence[Measured],
    faults: Sequence[str],
    job: JobSettings,
    examined: str,
    *,
    complete: bool,
    say: Callable[[str], None],
    unknown: Sequence[Measured] = (),
) -> int:
    """Write down what a person may merge, and what became worse and is held back; 1 when there is no valid record.

    `faults` are those of other records, a line each; `examined` is what the doctor said; `unknown` are records of
    devices that nobody here knows, which are laid apart.
    """
    found = [_Found.of(file, record, job.committed) for file, record in measured]
    strangers = [_Found.of(file, record, job.committed) for file, record in unknown]
    if not found and not strangers:
        say("\n".join(faults) or "nothing was measured within the budget")
        return 1
    proposed = [one for one in found if one.proposed]
    job.out.mkdir(parents=True, exist_ok=True)
    for old in ("proposal", "unknown", "pull-request.md", "issue.md"):
        _remove(job.out / old)
    _copy(proposed, job.out / "proposal")
    _copy(strangers, job.out / "unknown")
    text = pull_request(found, examined, job, complete=complete, faults=faults, strangers=strangers)
    (job.out / "pull-request.md").write_text(text, encoding="utf-8")
    if worse := [one for one in found if one.worse]:
        (job.out / "issue.md").write_text(issue(worse), encoding="utf-8")
        text += "\n" + issue(worse)
    if job.apply:
        _copy(proposed, job.committed)
    say(text)
    return 0


def in_order(cases: Sequence[tuple[str, Case]], committed: Path) -> list[tuple[str, Case]]:
    """The cases in the order in which a short budget serves best: never measured first, then the oldest record.

    Among those never measured the order stays: by value. Records of all devices are considered, because it is not
    known yet which machine this is.
    """

    def last(pair: tuple[str, Case]) -> str:
        suite, case = pair
        found = (load.read(file, committed)[0] for file in (committed / suite).glob(f"{case.name}--*.json"))
        dates = [str(record["provenance"]["finished"]) for record in found if record is not None]
        return max(dates, default="")

    return sorted(cases, key=last)


@dataclass(frozen=True)
class _Found:
    """One measured record beside the committed one."""

    file: Path
    record: Mapping[str, Any]
    changes: tuple[Change, ...]
    software: tuple[str, ...]
    """What else is different from the committed record."""

    @classmethod
    def of(cls, file: Path, record: Mapping[str, Any], committed: Path) -> _Found:
        """The record beside the committed one of the same name, which is ignored if it is no longer valid."""
        target = committed / file.parent.name / file.name
        before = load.read(target, committed)[0] if target.is_file() else None
        changes = tuple(compare_records(f"{file.parent.name}/{file.stem}", before, record))
        return cls(file, record, changes, tuple(software_changes(before, record)) if before else ())

    @property
    def proposed(self) -> bool:
        """Whether it should replace the committed one: it is good, new or different beyond noise, and not worse."""
        good = self.record["status"] in PROPOSED and not self.worse
        return good and any(change.verdict != "same" for change in self.changes)

    @property
    def worse(self) -> tuple[Change, ...]:
        """What became worse by more than its bound. A slowed-down GPU or a failure says nothing about the case."""
        return tuple(filter(worse, self.changes)) if self.record["status"] in PROPOSED else ()


def _copy(found: Sequence[_Found], folder: Path) -> None:
    for one in found:
        target = folder / one.file.parent.name / one.file.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(one.file, target)


def _remove(path: Path) -> None:
    """Remove what an earlier start of the job wrote there."""
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _examine(device: str) -> tuple[bool, str]:
    """What the doctor says, in a process of its own."""
    command = [sys.executable, "-m", "gpu_bench", "doctor", "--device", device]
    done = subprocess.run(command, cwd=provenance.ROOT, capture_output=True, text=True, timeout=300)
    if done.returncode == 2:
        raise runner.RunError(done.stderr.strip().removeprefix("gpu_bench: "))
    return done.returncode == 0, done.stdout.strip()


def pull_request(
    found: Sequence[_Found],
    examined: str,
    job: JobSettings,
    *,
    complete: bool,
    faults: Sequence[str] = (),
    strangers: Sequence[_Found] = (),
) -> str:
    """The text of the pull request, in Markdown."""
    changes = [change for one in found for change in one.changes]
    shown = beyond_noise(changes)
    titles = _devices(found or strangers)
    proposed = sum(one.proposed for one in found)
    parts = [
        f"# Measurements on {', '.join(titles)}",
        f"Cases measured: {len(found)}; records proposed: {proposed}. {summary(changes)}.",
    ]
    if not complete:
        parts.append("Not every case was measured: the budget was spent, or a case failed. The next run begins there.")
    if software := sorted({words(line) for one in found for line in one.software}):
        parts.append(f"Since the committed records: {'; '.join(software)}.")
    if shown:
        parts.append(render(table(shown[:_MOST_ROWS], "New, or moved beyond noise"), "markdown"))
    if len(shown) > _MOST_ROWS:
        parts.append(f"{len(shown) - _MOST_ROWS} more rows: `python -m gpu_bench compare OLD NEW` prints them.")
    left_out = [one for one in found if one.record["status"] not in PROPOSED]
    if worse := [one for one in found if one.worse]:
        names = "\n".join(f"- {one.file.parent.name}/{one.file.stem}" for one in worse)
        parts.append(f"**Held back, because they became worse by more than their bound**\n\n{names}")
    if left_out or faults:
        lines = [f"- {one.file.parent.name}/{one.file.stem}: {_told(one.record)}" for one in left_out]
        lines += [f"- {words(fault)}" for fault in faults]
        parts.append("\n".join(["**Not proposed**", "", *lines]))
    if strangers:
        parts.append(
            "**Devices that nobody here knows: their records are not proposed**\n\n"
            + "\n".join(f"- {name}" for name in _devices(strangers))
            + f"\n\nRecords: {len(strangers)}, in the folder `unknown` beside this text. If such a device is there, "
            "commit one of its records by hand; the next ones are proposed as any other."
        )
    if examined:
        parts.append(
            "\n".join(["**The machine before the run**", "", "```text", examined.replace("```", "'''"), "```"])
        )
    again = report.command_of((found or strangers)[0].record)
    parts.append(f"Run with `{job.command}`. One case again: `{again}`.")
    return "\n\n".join(parts) + "\n"


def issue(worse: Sequence[_Found]) -> str:
    """The text of the issue about records that are held back, in Markdown."""
    changes = [change for one in worse for change in one.worse]
    bounds = sorted({f"{change.quantity} {bound * 100:.0f} %" for change in changes if (bound := bound_of(change))})
    names = _devices(worse)
    parts = [
        f"# Worse than before on {', '.join(names)}",
        f"{len(worse)} records are worse by more than their bound. The committed numbers stay until somebody decides.",
        render(table(changes[:_MOST_ROWS], "What became worse"), "markdown"),
    ]
    if bounds:
        parts.append(f"Bounds: {', '.join(bounds)}.")
    if software := sorted({words(line) for one in worse for line in one.software}):
        parts.append(f"Since the committed records: {'; '.join(software)}.")
    parts.append(
        f"Measure again: `{report.command_of(worse[0].record)} --again`. If the number stays, find the cause. If it is "
        "right, commit its record by hand and say why."
    )
    return "\n\n".join(parts) + "\n"


def _told(record: Mapping[str, Any]) -> str:
    return f"{record['status']}, {words(str(record['message']).splitlines()[0])}"


def _devices(found: Sequence[_Found]) -> list[str]:
    """How the machines call themselves, for a text."""
    return sorted({words(str(one.record["device"]["name"] or one.record["device"]["slug"])) for one in found})
