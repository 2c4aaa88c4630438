"""The command line: one clear line and status 2 for bad input; the commands do what they say."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_bench.__main__ import main
from gpu_bench.cases.suites import SUITES
from gpu_bench.record.load import LARGEST

ROOT = Path(__file__).parents[2]


def _gpu_bench(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gpu_bench", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **environment},
        timeout=120,
    )


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "list | run | show | plan"),
        (["fly"], "fly"),
        (["run"], "--suite or --case"),
        (["run", "--suite", "nonsense"], "'nonsense' does not exist; allowed: all, first-hour, first-hour-80gb"),
        (
            ["run", "--case", "ladder-1558m-0-fp3"],
            "'ladder-1558m-0-fp3' does not exist, did you mean ladder-1558m-0-fp32?",
        ),
        (["run", "--suite", "smoke", "--device", "tpu"], "'tpu'"),
        (["run", "--suite", "smoke", "--budget-seconds", "-3"], "'-3' is not a number of seconds"),
        (["pack", "results.tar.gz", "--split-mib", "-1"], "'-1' is not a count"),
        (["run", "--suite", "smoke", "--executor", "ray", "--wait-for-quiet", "9"], "allowed with --executor local"),
        (["run", "--suite", "smoke", "--out", "README.md"], "'README.md' is a file"),
        (["run", "--suite", "checkpointing", "--device", "cpu"], "needs a CUDA GPU"),
        (["validate", "nowhere"], "'nowhere' does not exist"),
        (["card", "--device", "tpu"], "'tpu'"),
        (["card", "--device", "cpu", "--link", "https://example.org"], "--contributor '' is not allowed with --link"),
        (["card", "--contributor", "Ada", "--link", "example.org"], "--link 'example.org' is not allowed"),
        (["card", "--out", "nowhere/card.json"], "there is no folder 'nowhere'"),
    ],
)
def test_bad_input_is_one_line_and_status_2(
    arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status: object = main(arguments)
    except SystemExit as end:
        status = end.code
    said = capsys.readouterr()
    assert status == 2
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert named in said.err


def test_the_name_of_a_file_does_not_command_a_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "\x1b[31mname\x1b]0;title\a.json"
    file.write_text("no record", encoding="utf-8")
    assert main(["show", str(file)]) == 2
    said = capsys.readouterr().err
    assert "\\x1b[31mname\\x1b]0;title\\x07.json" in said
    assert all(letter.isprintable() for letter in said.rstrip("\n"))


_BARE = """
import runpy, sys
sys.path.insert(0, sys.argv.pop(1))
runpy.run_module("gpu_bench", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("arguments", [["plan", "--gpu", "h200", "--budget", "1500"], ["list"], ["validate"]])
def test_a_bare_checkout_and_python_are_enough_where_nothing_is_measured(arguments: list[str], tmp_path: Path) -> None:
    """No package is installed, `ironlaw` and PyTorch included: the engine is found beside gpu_bench."""
    isolated = [sys.executable, "-I", "-S", "-c"]
    none = subprocess.run([*isolated, "import ironlaw"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert "No module named 'ironlaw'" in none.stderr, "otherwise this test shows nothing"
    done = subprocess.run(
        [*isolated, _BARE, str(ROOT), *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert {"plan": "hour-1558m-fp8", "list": "hour-1558m-fp8", "validate": " 0 faulty"}[arguments[0]] in done.stdout


def test_an_output_that_is_closed_is_said_in_a_line() -> None:
    asked = f"{shlex.quote(sys.executable)} -m gpu_bench list >&-"
    done = subprocess.run(asked, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (2, "gpu_bench: the output cannot be written: it is closed\n")


def test_list_names_every_case() -> None:
    done = _gpu_bench("list")
    assert done.returncode == 0
    for suite, cases in SUITES.items():
        assert suite in done.stdout.splitlines()
        assert all(case.name in done.stdout for case in cases)


def test_validate_accepts_good_records_and_names_the_faulty_one(record_file: Path, tmp_path: Path) -> None:
    assert _gpu_bench("validate", str(record_file.parents[1])).stdout == "1 records, 0 faulty\n"
    bad = tmp_path / "bad.json"
    bad.write_text('{"status": "ok"}', encoding="utf-8")
    done = _gpu_bench("validate", str(record_file), str(bad))
    assert done.returncode == 1
    assert f"{bad}: at /: 'schema_version' is a required property" in done.stdout
    assert done.stdout.endswith("2 records, 1 faulty\n")


def test_validate_tells_a_few_faults_and_how_many_more_and_no_name_commands_a_terminal(
    tmp_path: Path,
) -> None:
    bad = tmp_path / "bad\x1b[2J.json"
    bad.write_text(json.dumps({f"unknown-{number}": 1 for number in range(1000)}), encoding="utf-8")
    lines = _gpu_bench("validate", str(bad)).stdout.splitlines()
    assert 3 <= len(lines) <= 22
    assert "\x1b" not in "".join(lines)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no file without end")
def test_a_file_without_end_is_no_record() -> None:
    asked = f"ulimit -v 1000000; {shlex.quote(sys.executable)} -m gpu_bench validate /dev/zero"
    done = subprocess.run(asked, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "/dev/zero: cannot be read: it is no regular file\n1 records, 1 faulty\n"


def test_a_file_of_more_than_the_limit_is_no_record(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(LARGEST + 1)
    done = _gpu_bench("validate", str(large))
    assert (done.returncode, done.stderr) == (1, "")
    assert f"B are too many for a record; allowed: {LARGEST:,} B" in done.stdout


def test_doctor_names_the_device_and_pytorch() -> None:
    done = _gpu_bench("doctor", "--device", "cpu")
    assert done.returncode in (0, 1), "1 on a machine that is busy, which tests cannot choose"
    assert "device cpu" in done.stdout
    assert "PyTorch" in done.stdout
    assert ("WARN" in done.stdout) == (done.returncode == 1)


def test_committed_records_are_valid(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate"]) == 0, capsys.readouterr().out
