"""The job of a GPU runner, really run on a CPU: it measures, compares, proposes, and touches nothing it should not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpu_bench.cases.suites import TINY
from gpu_bench.record import load
from gpu_bench.record.store import read_json
from gpu_bench.run import job
from tests.gpu_bench.tiny import tiny_case

ROOT = Path(__file__).parents[3]
CASES = [case for case in TINY["smoke-tiny"] if case.name in ("gpt2-nano-fp32-adam", "gpt2-nano-fp32-sgd")]


def _job(out: Path, committed: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Run the job as the runner does; the machine of tests may be busy."""
    named = [word for case in CASES for word in ("--case", case.name)]
    command = [sys.executable, "-m", "gpu_bench", "job", "--suite", "smoke-tiny", *named, "--device", "cpu"]
    command += ["--out", str(out), "--committed", str(committed), "--unfit-too", *more]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folders of a first job, and of the records that it applied."""
    folder = tmp_path_factory.mktemp("job")
    done = _job(folder / "out", folder / "committed", "--apply")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "out", folder / "committed"


def _names(folder: Path) -> list[str]:
    return sorted(file.stem.partition("--")[0] for file in folder.rglob("*.json"))


def test_a_first_job_proposes_every_record_and_applies_it_when_asked(first: tuple[Path, Path]) -> None:
    out, committed = first
    expected = sorted(case.name for case in CASES)
    assert _names(out / "records") == _names(out / "proposal") == _names(committed) == expected
    assert [fault for file in committed.rglob("*.json") for fault in load.file_faults(file)] == []
    text = (out / "pull-request.md").read_text(encoding="utf-8")
    assert text.startswith("# Measurements on ")
    assert "Cases measured: 2; records proposed: 2." in text
    assert text.count("| new: ok |") == 2
    assert "device cpu" in text, "what the doctor said before the run"
    assert str(ROOT) not in text


def test_only_what_moved_is_proposed_and_nothing_is_applied_unasked(first: tuple[Path, Path], tmp_path: Path) -> None:
    """The committed record of SGD is from a machine ten times slower; that of Adam is what was measured."""
    out, committed = tmp_path / "out", tmp_path / "committed"
    shutil.copytree(first[1], committed)
    shutil.copytree(first[0] / "records", out / "records")
    (file,) = committed.rglob("gpt2-nano-fp32-sgd--*.json")
    slow = json.loads(file.read_text(encoding="utf-8"))
    slow["samples"]["step_s"] = [[10 * second for second in row] for row in slow["samples"]["step_s"]]
    slow["provenance"]["torch"] = "1.0.0"
    file.write_text(json.dumps(slow), encoding="utf-8")
    before = {path: path.read_bytes() for path in committed.rglob("*.json")}
    # The measured records are there already, so the job goes on where it stopped: nothing is measured again.
    done = _job(out, committed)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kept smoke-tiny/gpt2-nano-fp32-sgd" in done.stdout
    assert _names(out / "proposal") == ["gpt2-nano-fp32-sgd"]
    assert {path: path.read_bytes() for path in committed.rglob("*.json")} == before
    text = (out / "pull-request.md").read_text(encoding="utf-8")
    assert "-90.0 %" in text
    assert "Since the committed records: torch 1.0.0, now " in text


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


def test_an_invalid_record_is_left_out_and_does_not_hold_up_the_others(
    first: tuple[Path, Path], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    shutil.copytree(first[0] / "records", out / "records")
    (file,) = out.rglob("gpt2-nano-fp32-adam--*.json")
    record = json.loads(file.read_text(encoding="utf-8"))
    (out / "records" / "smoke-tiny" / "another--cpu.json").write_text(json.dumps(record), encoding="utf-8")
    done = _job(out, tmp_path / "committed", "--apply")
    assert done.returncode == 0
    assert "another--cpu.json: the file should be called smoke-tiny/gpt2-nano-fp32-adam" in done.stdout
    assert _names(tmp_path / "committed") == sorted(case.name for case in CASES)


def test_a_slowed_down_gpu_is_told_and_not_proposed(first: tuple[Path, Path], tmp_path: Path) -> None:
    (file,) = (first[0] / "records").rglob("gpt2-nano-fp32-adam--*.json")
    record: dict[str, Any] = read_json(file) or {}
    record |= {"status": "throttled", "message": "the GPU was throttled: hardware_thermal"}
    copy = tmp_path / "smoke-tiny" / file.name
    copy.parent.mkdir()
    copy.write_text(json.dumps(record), encoding="utf-8")
    found = job._Found.of(copy, tmp_path / "committed")
    assert not found.proposed
    text = job.pull_request([found], "ok", job.Job("cuda", tmp_path, tmp_path), complete=False)
    assert "throttled, the GPU was throttled: hardware_thermal" in text
    assert "Not every case was measured" in text


def test_a_short_budget_serves_what_was_never_measured_then_what_is_oldest(tmp_path: Path) -> None:
    for name, finished in (("old", "2024-01-01T00:00:00Z"), ("older", "2023-01-01T00:00:00Z")):
        file = tmp_path / "trial" / f"{name}--nvidia-h200.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps({"provenance": {"finished": finished}}), encoding="utf-8")
    cases = [("trial", tiny_case(name)) for name in ("old", "first", "older", "second")]
    assert [case.name for _, case in job.in_order(cases, tmp_path)] == ["first", "second", "older", "old"]
