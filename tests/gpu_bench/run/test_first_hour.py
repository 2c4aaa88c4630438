"""The first hour in tiny form, on two machines: cut off on one, carried over in an archive, finished on the other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gpu_bench.__main__ import main
from gpu_bench.cases.suites import SUITES
from gpu_bench.record import load
from tests.gpu_bench.processes import files_below, within

ROOT = Path(__file__).parents[3]
CASES = ("--case", "hour-products", "--case", "hour-fit-16gb-1558m")


def _run(out: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "gpu_bench", "run", "--suite", "first-hour-tiny", *CASES, "--device", "cpu"]
    return subprocess.Popen([*command, "--out", str(out)], cwd=ROOT, stdout=subprocess.PIPE, text=True)


def _kept(out: Path) -> list[dict[str, Any]]:
    """The trials that a search has left for the next process; none if it removes the file at this very moment."""
    try:
        texts = [file.read_text(encoding="utf-8") for file in files_below(out, ".kept")]
    except FileNotFoundError:
        return []
    return [trial for text in texts for trial in json.loads(text)["trials"]]


def test_what_one_machine_began_another_finishes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, home = tmp_path / "first", tmp_path / "second", tmp_path / "home.tar.gz"
    cut_off = _run(first)
    try:
        assert within(150, lambda: bool(_kept(first)) or cut_off.poll() is not None)
    finally:
        cut_off.kill()
        cut_off.communicate()
    trials = _kept(first)
    assert trials, "it was killed after a trial of the search"
    assert main(["pack", str(home), "--out", str(first)]) == 0
    assert main(["unpack", str(home), "--into", str(second), "--compiled"]) == 0
    assert "filed first-hour-tiny/hour-products--" in capsys.readouterr().out
    goes_on = _run(second)
    said, _ = goes_on.communicate(timeout=300)
    assert goes_on.returncode == 0, said
    assert "kept first-hour-tiny/hour-products--" in said
    files = list(second.glob("*/*.json"))
    assert [fault for file in files for fault in load.file_faults(file)] == []
    (found,) = [one["fit"] for file in files if (one := json.loads(file.read_text(encoding="utf-8")))["fit"]]
    assert found["trials"][: len(trials)] == trials, "their times are the same to the last digit: none was made twice"
    assert {"fits", "oom"} == {trial["outcome"] for trial in found["trials"]}, "real processes meet the limit"
    assert not (second / ".parts").exists()


def test_a_plan_says_what_a_budget_has_room_for_in_which_order_and_what_is_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["plan", "--budget", "1500", "--gpu", "h200"]) == 0
    said = capsys.readouterr().out
    names = [
        line.split()[0].removeprefix("first-hour/") for line in said.splitlines() if line.startswith("first-hour/")
    ]
    by_value = sorted(SUITES["first-hour"], key=lambda case: -case.value)
    assert names == [case.name for case in by_value]
    assert "LEFT OUT" not in said
    assert main(["plan", "--budget", "400", "--gpu", "h200"]) == 0
    short = capsys.readouterr().out
    assert short.count("LEFT OUT") > 0
    assert "of 13 cases" in short
