"""The job of a GPU runner, really run on a CPU: it measures, compares, proposes, and touches nothing it should not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpu_bench.cases.case import TrainingCase
from gpu_bench.cases.kinds import case_from_dict
from gpu_bench.cases.suites import find_cases
from gpu_bench.record import load
from gpu_bench.record.assembly import BLOCKS, step_summary, utilization
from gpu_bench.run import job
from tests.gpu_bench.tiny import tiny_case

ROOT = Path(__file__).parents[3]
ADAM, SGD = "gpt2-nano-fp32-adam", "gpt2-nano-fp32-sgd"
CASES = find_cases("smoke-tiny", (ADAM, SGD))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folders of a first job, and of the records that it applied. The machine of tests may be busy."""
    folder = tmp_path_factory.mktemp("job")
    asked = job.Job("cpu", folder / "committed", folder / "out", unfit_too=True, apply=True)
    assert job.run(CASES, asked) == 0
    return folder / "out", folder / "committed"


@pytest.fixture
def examined(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first job had the machine examined; the others measure nothing."""
    monkeypatch.setattr(job, "_examine", lambda device: (True, "device cpu"))


def _names(folder: Path) -> list[str]:
    return sorted(file.stem.partition("--")[0] for file in folder.rglob("*.json"))


def _slower(record: dict[str, Any]) -> dict[str, Any]:
    """The record as a machine that takes a tenth of a second longer for each step would have written it."""
    case = case_from_dict(record["case"])
    assert isinstance(case, TrainingCase)
    step_s = [[second + 0.1 for second in row] for row in record["samples"]["step_s"]]
    summary, used = step_summary(case.tokens_per_step, step_s), record["utilization"]
    peaks = {
        "format": used["peak_format"],
        "specified": used["specified_peak"],
        "specified_fp8": None,
        "ceilings": used["ceilings"],
    }
    return {
        **record,
        "samples": {**record["samples"], "step_s": step_s},
        "summary": summary,
        "utilization": utilization(record["flops"], peaks, summary["step_s"]["median"]),
        "provenance": {**record["provenance"], "torch": "1.0.0"},
    }


def test_a_first_job_proposes_every_record_and_applies_it_when_asked(first: tuple[Path, Path]) -> None:
    out, committed = first
    assert _names(out / "records") == _names(out / "proposal") == _names(committed) == [ADAM, SGD]
    assert [fault for file in committed.rglob("*.json") for fault in load.file_faults(file)] == []
    text = (out / "pull-request.md").read_text(encoding="utf-8")
    assert text.startswith("# Measurements on ")
    assert "Cases measured: 2; records proposed: 2." in text
    assert text.count("| new: ok |") == 2
    assert "device cpu" in text, "what the doctor said before the run"
    assert str(ROOT) not in text


@pytest.mark.usefixtures("examined")
def test_only_what_moved_is_proposed_and_nothing_is_applied_unasked(
    first: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The committed record of SGD is from a slower machine; that of Adam is what was measured."""
    out, committed = tmp_path / "out", tmp_path / "committed"
    shutil.copytree(first[1], committed)
    shutil.copytree(first[0] / "records", out / "records")
    (file,) = committed.rglob(f"{SGD}--*.json")
    file.write_text(json.dumps(_slower(json.loads(file.read_text(encoding="utf-8")))), encoding="utf-8")
    assert load.file_faults(file) == []
    before = {path: path.read_bytes() for path in committed.rglob("*.json")}
    # The measured records are there already, so the job goes on where it stopped: nothing is measured again.
    assert job.run(CASES, job.Job("cpu", committed, out)) == 0
    assert f"kept smoke-tiny/{SGD}" in capsys.readouterr().out
    assert _names(out / "proposal") == [SGD]
    assert {path: path.read_bytes() for path in committed.rglob("*.json")} == before
    text = (out / "pull-request.md").read_text(encoding="utf-8")
    assert f"smoke-tiny/{SGD}" in text
    assert "step time | moved" in text
    assert "Since the committed records: torch 1.0.0, now " in text


@pytest.mark.usefixtures("examined")
def test_an_invalid_record_is_left_out_and_does_not_hold_up_the_others(
    first: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    shutil.copytree(first[0] / "records", out / "records")
    (file,) = out.rglob(f"{ADAM}--*.json")
    shutil.copy(file, file.with_name("another--cpu.json"))
    assert job.run(CASES, job.Job("cpu", tmp_path / "committed", out, apply=True)) == 0
    assert f"another--cpu.json: the file should be called smoke-tiny/{ADAM}" in capsys.readouterr().out
    assert _names(tmp_path / "committed") == [ADAM, SGD]


def test_an_unfit_machine_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(job, "_examine", lambda device: (False, "WARN 2 other processes on the GPU"))
    assert job.run([("trial", tiny_case())], job.Job("cpu", tmp_path / "committed", tmp_path / "out")) == 1
    out = capsys.readouterr().out
    assert "WARN 2 other processes on the GPU" in out
    assert "nothing was measured" in out
    assert not (tmp_path / "out").exists()


def test_a_missing_device_is_one_line_and_status_2(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gpu_bench", "job", "--device", "cuda", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert done.stderr.startswith("gpu_bench: device 'cuda' is not available")
    assert done.stderr.count("\n") == 1


def test_a_slowed_down_gpu_is_told_and_not_proposed(first: tuple[Path, Path], tmp_path: Path) -> None:
    (file,) = (first[0] / "records").rglob(f"{ADAM}--*.json")
    record, _ = load.read(file)
    slowed = {**(record or {}), "status": "throttled", "message": "the GPU was throttled: hardware_thermal"}
    found = job._Found.of(file, slowed, tmp_path / "committed")
    assert not found.proposed
    text = job.pull_request([found], "ok", job.Job("cuda", tmp_path, tmp_path), complete=False)
    assert "throttled, the GPU was throttled: hardware_thermal" in text
    assert "Not every case was measured" in text


def test_a_short_budget_serves_what_was_never_measured_then_what_is_oldest(
    record: dict[str, Any], tmp_path: Path
) -> None:
    cases = [("trial", tiny_case(name)) for name in ("old", "first", "older", "second")]
    for _, case in cases:
        if case.name.startswith("old"):
            at = "2025-02-01T00:00:00Z" if case.name == "old" else "2025-01-02T00:00:00Z"
            repeat = {**record["provenance"]["repeats"][0], "started": at, "finished": at}
            failed = {
                **record,
                **dict.fromkeys(BLOCKS),
                "predicted": record["predicted"],
                "name": case.name,
                "case": case.as_dict(),
                "status": "error",
                "message": "it broke",
                "provenance": {**record["provenance"], "started": at, "finished": at, "repeats": [repeat]},
            }
            file = tmp_path / "trial" / f"{case.name}--{record['device']['slug']}.json"
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(failed), encoding="utf-8")
            assert load.file_faults(file) == []
    assert [case.name for _, case in job.in_order(cases, tmp_path)] == ["first", "second", "older", "old"]
