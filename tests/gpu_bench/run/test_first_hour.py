"""The first hour in tiny form, on two machines: cut off on one, carried over in an archive, finished on the other."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gpu_bench.__main__ import _parser, main
from gpu_bench.cases.suites import find_cases
from gpu_bench.record import load
from tests.gpu_bench.processes import files_below, within

ROOT = Path(__file__).parents[3]
SHORT = ("hour-fit-16gb-1558m",)
"""A search, which can be cut off amid: what a short rehearsal runs of the hour."""
CHECK = "hour-memory-sgd"
GUIDE = ROOT / "gpu_bench" / "FIRST_HOUR.md"
QUICK = {"TORCHINDUCTOR_COMPILE_THREADS": "1", "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0"}
"""For a compiler that makes little: neither processes of its own nor headers in advance."""


def _run(out: Path, names: Sequence[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "gpu_bench", "run", "--suite", "first-hour-tiny", "--device", "cpu"]
    command += [word for name in names for word in ("--case", name)]
    command += ["--out", str(out)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env={**os.environ, **QUICK})


def _kept(out: Path) -> list[dict[str, Any]]:
    """The trials that a search has left for the next process; none if it removes the file at this very moment."""
    try:
        texts = [file.read_text(encoding="utf-8") for file in files_below(out, ".kept")]
    except FileNotFoundError:
        return []
    return [trial for text in texts for trial in json.loads(text)["trials"]]


@pytest.mark.full
@pytest.mark.parametrize("names", [pytest.param(SHORT, id="short"), pytest.param((), id="whole")])
def test_an_hour_that_one_machine_began_another_finishes(
    names: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A rehearsal in tiny shapes: begun (the whole hour with checks), cut off, carried in an archive, finished."""
    first, second, home = tmp_path / "first", tmp_path / "second", tmp_path / "home.tar.gz"
    cut_off = _run(first, names)
    try:
        assert within(900, lambda: bool(_kept(first)) or cut_off.poll() is not None)
    finally:
        cut_off.kill()
        cut_off.communicate()
    trials = _kept(first)
    assert trials, "it was killed after a trial of the search"
    assert main(["pack", str(home), "--out", str(first), "--split-mib", "15", "--most-mib", "45"]) == 0
    assert main(["unpack", *map(str, tmp_path.glob("home.tar.gz*")), "--into", str(second), "--compiled"]) == 0
    assert names or f"filed first-hour-tiny/{CHECK}--" in capsys.readouterr().out
    goes_on = _run(second, names)
    said, _ = goes_on.communicate(timeout=900)
    assert goes_on.returncode == 0, said
    assert names or f"kept first-hour-tiny/{CHECK}--" in said, "a check counts, and is not repeated"
    files = list(second.glob("*/*.json"))
    assert [fault for file in files for fault in load.file_faults(file)] == []
    records = {file.name.split("--")[0]: load.read(file)[0] for file in files}
    assert {*records} == {*(names or [case.name for _, case in find_cases("first-hour-tiny", ())])}
    one = records[SHORT[0]]
    assert one is not None
    found = one["fit"]
    assert found["trials"][: len(trials)] == trials, "their times are the same to the last digit: none was made twice"
    assert {"fits", "oom"} == {trial["outcome"] for trial in found["trials"]}, "real processes meet the limit"
    assert not (second / ".parts").exists()


def test_every_command_of_the_guide_is_one_that_there_is() -> None:
    text = GUIDE.read_text(encoding="utf-8").replace("\\\n", " ").replace("$HOUR", "first-hour")
    commands = re.findall(r"python3? -m gpu_bench (.*?)(?: 2?>|[;|&`#\n])", text)
    assert len(commands) >= 15
    for command in commands:
        options = _parser().parse_args(shlex.split(command.replace('"', "").strip()))
        if getattr(options, "suite", None):
            find_cases(options.suite, tuple(options.case))


def test_a_plan_says_what_a_budget_has_room_for_and_what_it_has_not(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--budget", "520,520,460", "--gpu", "h200"]) == 0
    said = capsys.readouterr().out
    names = [line.split()[0].split("/")[1] for line in said.splitlines() if "/" in line.split(" ")[0]]
    assert names == [case.name for _, case in find_cases("first-hour", ())]
    assert "11 of 12 cases end in time, 10 if everything takes 1.3 x as long; checks not counted" in said
    assert main(["plan", "--budget", "400", "--gpu", "h200"]) == 0
    assert "3 of 12 cases end in time" in capsys.readouterr().out
