"""The job of a GPU runner, really run on a CPU: it measures, is killed, goes on, compares, proposes, and no more.

The script around it is run as the workflow runs it: its records are checked as a stranger's data, then pushed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpu_bench.cases.suites import find_cases
from gpu_bench.machine import provenance
from gpu_bench.record import load
from gpu_bench.record.compare import Change, compare_records, worse
from gpu_bench.record.derive import BLOCKS, derive
from gpu_bench.record.store import RESULTS, write_json
from gpu_bench.run import admission, job
from gpu_bench.run.archive import PARTS
from tests.gpu_bench.processes import files_below, within
from tests.gpu_bench.tiny import tiny_case

ROOT = Path(__file__).parents[3]
ADAM, SGD = CASES = ("gpt2-nano-fp32-adam", "gpt2-nano-fp32-sgd")


def _git(*words: str, cwd: Path) -> str:
    return subprocess.run(["git", *words], cwd=cwd, check=True, capture_output=True, text=True).stdout


def _committed(results: Path) -> None:
    """Write a record by which this machine's processor is known, of another suite than the tests measure."""
    file = next(file for file in sorted((RESULTS / "smoke").glob("*--cpu-*.json")))
    _write(load.parse(file.read_bytes()), provenance.cpu_model(), results)


def _write(record: dict[str, Any], cpu: str | None, results: Path) -> None:
    """Write a record as of another processor, where it belongs."""
    record["provenance"]["cpu"] = cpu
    view = derive(record)
    file = results / view["suite"] / f"{view['name']}--{view['device']['slug']}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(record), encoding="utf-8")


def _repository(folder: Path) -> tuple[Path, Path]:
    """A repository that knows this machine, and the bare remote that it came from."""
    remote, repository = folder / "remote.git", folder / "repository"
    _git("init", "--quiet", "--bare", "--initial-branch=main", str(remote), cwd=folder)
    _git("clone", "--quiet", str(remote), str(repository), cwd=folder)
    _committed(repository / "gpu_bench" / "results")
    _git("add", ".", cwd=repository)
    _git("-c", "user.name=T", "-c", "user.email=t@example.org", "commit", "--quiet", "-m", "Begin", cwd=repository)
    _git("push", "--quiet", "origin", "HEAD:main", cwd=repository)
    return repository, remote


def _start(repository: Path, *words: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHON": sys.executable}
    command = [str(ROOT / "tools/remeasure.sh"), *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, cwd=repository, env=environment, text=True, start_new_session=True, **pipes)  # type: ignore[call-overload, no-any-return]


def _run(repository: Path, *words: str) -> tuple[int, str]:
    process = _start(repository, *words)
    out, _ = process.communicate(timeout=300)
    return process.returncode, out


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path, str]:
    """Repository, remote, the job's folder and its words, after a run that was killed and started again."""
    folder = tmp_path_factory.mktemp("remeasure")
    repository, remote = _repository(folder)
    named = [word for case in CASES for word in ("--case", case)]
    words = ("all", str(folder / "job"), str(remote), "--suite", "smoke-tiny", *named, "--device", "cpu", "--unfit-too")
    first = _start(repository, *words)
    records = folder / "job" / "measured" / "records"
    assert within(240, lambda: bool(files_below(records, ".json")) or first.poll() is not None)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    assert "gpu-bench/" not in _git("branch", "--list", cwd=remote)
    # A kill between a record and the end of its unfinished repeats leaves them behind; they are no part of a proposal.
    write_json(records / PARTS / "smoke-tiny" / f"{ADAM}--left.partial", {"context": {}, "parts": []})
    status, out = _run(repository, *words)
    assert status == 0, out
    return repository, remote, folder / "job", out


def test_a_killed_job_goes_on_and_proposes_exactly_its_records(whole: tuple[Path, Path, Path, str]) -> None:
    repository, remote, folder, out = whole
    assert "kept smoke-tiny/" in out
    branch = (folder / "branch").read_text(encoding="utf-8").strip()
    changed = _git("diff", "--raw", "--abbrev=7", "main", branch, cwd=remote).splitlines()
    names = sorted(line.split("\t")[1].partition("--")[0] for line in changed)
    assert names == [f"gpu_bench/results/smoke-tiny/{case}" for case in CASES]
    assert all(line.startswith(":000000 100644 ") for line in changed)
    status, again = _run(repository, "propose", str(folder), str(remote))
    assert (status, again.strip()) == (0, f"Proposed before, as {branch}.")


def _link(folder: Path) -> None:
    (folder / "smoke-tiny" / "gpt2-nano-fp32-sgd--other.json").symlink_to("/etc/passwd")


def _linked_suite(folder: Path) -> None:
    (folder / "ladder").symlink_to(folder / "smoke-tiny")


def _large(folder: Path) -> None:
    file = next((folder / "smoke-tiny").glob("gpt2-nano-fp32-sgd--*.json"))
    file.write_text(file.read_text(encoding="utf-8") + " " * 5_000_000, encoding="utf-8")


def _elsewhere(folder: Path) -> None:
    file = next((folder / "smoke-tiny").glob("gpt2-nano-fp32-sgd--*.json"))
    record = json.loads(file.read_text(encoding="utf-8"))
    record["provenance"]["cpu"] = "../../../tests/conftest"
    file.write_text(json.dumps(record), encoding="utf-8")


def _another_case(folder: Path) -> None:
    file = next((folder / "smoke-tiny").glob("gpt2-nano-fp32-sgd--*.json"))
    record = json.loads(file.read_text(encoding="utf-8"))
    record["case"]["seed"] += 1
    file.write_text(json.dumps(record), encoding="utf-8")


def _file(path: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text("* filter=x\n", encoding="utf-8")

    return write


@pytest.mark.parametrize(
    ("poison", "told"),
    [
        (_file(".gitattributes"), "'.gitattributes': not the folder of a suite"),
        (_file("conftest.py"), "'conftest.py': not the folder of a suite"),
        (_file("smoke-tiny/.gitattributes"), "smoke-tiny/'.gitattributes': not called <case>--<device>.json"),
        (_file("smoke-tiny/index.html"), "smoke-tiny/'index.html': not called <case>--<device>.json"),
        (_file("smoke-tiny/gpt2-nano-fp32-sgd--..%2f..%2fx.json"), "not called <case>--<device>.json"),
        (_file("workflows/gpt2-nano-fp32-sgd--cpu.json"), "no case of this checkout"),
        (_large, "allowed: 4,194,304 B"),
        (_link, "not a regular file"),
        (_linked_suite, "'ladder': not the folder of a suite"),
        (_elsewhere, "the file should be called smoke-tiny/"),
        (_another_case, "the case is not what these sources have under its name"),
    ],
)
def test_one_thing_out_of_place_and_nothing_is_taken(
    whole: tuple[Path, Path, Path, str],
    tmp_path: Path,
    poison: Callable[[Path], None],
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shutil.copytree(whole[2] / "measured" / "records", tmp_path / "records")
    poison(tmp_path / "records")
    asked = job.JobSettings("auto", tmp_path / "committed", tmp_path / "out")
    assert job.admit(tmp_path / "records", asked) == 1
    out = capsys.readouterr().out
    assert told in out
    assert "refused: 1 faults" in out
    assert not (tmp_path / "out").exists()


def _invented(whole: tuple[Path, Path, Path, str], folder: Path, names: list[str]) -> None:
    """The measured records, as of processors that nobody knows."""
    for file in (whole[2] / "measured" / "records").rglob("*.json"):
        for name in names:
            _write(json.loads(file.read_text(encoding="utf-8")), name, folder)


def test_a_device_that_nobody_knows_is_laid_apart_until_somebody_takes_its_first_record(
    whole: tuple[Path, Path, Path, str], tmp_path: Path
) -> None:
    shutil.copytree(whole[2] / "measured" / "records", tmp_path / "records")
    _invented(whole, tmp_path / "records", ["Abacus @9000"])
    _committed(tmp_path / "committed")
    asked = job.JobSettings("auto", tmp_path / "committed", tmp_path / "out")
    assert job.admit(tmp_path / "records", asked) == 0
    proposed, apart = (_names(tmp_path / "out" / name) for name in ("proposal", "unknown"))
    assert proposed == apart == [ADAM, SGD]
    assert not [file for file in (tmp_path / "out" / "proposal").rglob("*.json") if "abacus" in file.name]
    text = (tmp_path / "out" / "pull-request.md").read_text(encoding="utf-8")
    told = "**Devices that nobody here knows: their records are not proposed**\n\n- `Abacus @9000`\n\nRecords: 2"
    assert told in text
    (tmp_path / "committed" / "smoke-tiny").mkdir()
    shutil.copy(next((tmp_path / "out" / "unknown").rglob(f"{ADAM}--*.json")), tmp_path / "committed" / "smoke-tiny")
    assert job.admit(tmp_path / "records", asked) == 0
    assert not (tmp_path / "out" / "unknown").exists()


def test_a_machine_of_unknown_devices_alone_proposes_nothing_and_one_of_many_is_refused(
    whole: tuple[Path, Path, Path, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    most = admission.MOST_UNKNOWN
    for count, status in ((most, 0), (most + 1, 1)):
        _invented(whole, tmp_path / f"{count}", [f"Abacus {index}" for index in range(count)])
        out = tmp_path / f"out-{count}"
        assert job.admit(tmp_path / f"{count}", job.JobSettings("auto", tmp_path / "none", out)) == status
        assert not (out / "proposal").exists()
        assert (out / "unknown").exists() == (status == 0)
    assert f"records of {most + 1} devices that nobody here knows; allowed: {most}" in capsys.readouterr().out


def test_the_pushing_stage_looks_again_by_itself(whole: tuple[Path, Path, Path, str], tmp_path: Path) -> None:
    """It trusts no earlier stage: a link or a configuration beside the records stops it before anything is pushed."""
    repository, remote, folder, _ = whole
    shutil.copytree(folder / "checked", tmp_path / "job" / "checked")
    (tmp_path / "job" / "checked" / "proposal" / ".gitattributes").write_text("* filter=x\n", encoding="utf-8")
    before = _git("branch", "--list", cwd=remote)
    status, out = _run(repository, "propose", str(tmp_path / "job"), str(remote))
    assert status == 1
    assert "gpu_bench/results/.gitattributes" in out
    assert _git("branch", "--list", cwd=remote) == before


def test_a_regression_becomes_an_issue_and_changes_no_number(
    whole: tuple[Path, Path, Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The committed record says one second a step; two are measured now."""
    (file,) = (whole[2] / "measured" / "records").rglob("gpt2-nano-fp32-sgd--*.json")
    before, now = (dict(load.read(file)[0] or {}) for _ in range(2))
    for record, seconds in ((before, 1.0), (now, 2.0)):
        record["samples"]["step_s"] = [[seconds for _ in row] for row in record["samples"]["step_s"]]
    found = job._Found(file, now, tuple(compare_records("smoke-tiny/sgd", before, now)), ())
    assert not found.proposed
    text = job.issue([found])
    assert "+100.0 %" in text
    assert "Bounds: step time 10 %." in text
    monkeypatch.setattr(job._Found, "of", lambda file, record, committed: found)
    asked = job.JobSettings("auto", tmp_path, tmp_path / "out")
    assert job.propose([(file, now)], [], asked, "", complete=True, say=lambda text: None) == 0
    assert (tmp_path / "out" / "issue.md").read_text(encoding="utf-8") == text
    assert not (tmp_path / "out" / "proposal").exists()
    assert "Held back" in (tmp_path / "out" / "pull-request.md").read_text(encoding="utf-8")


def test_worse_is_slower_larger_or_no_longer_working_and_never_better() -> None:
    changes = [
        Change("r", "step time", "moved", 1.0, 1.09, "s"),
        Change("r", "step time", "moved", 1.0, 0.5, "s"),
        Change("r", "largest batch, none", "moved", 8, 16, "1"),
        Change("r", "status", "status", note="oom, now ok"),
        Change("r", "step time", "moved", 1.0, 1.11, "s"),
        Change("r", "peak memory", "moved", 100, 106, "B"),
        Change("r", "largest batch, none", "moved", 16, 15, "1"),
        Change("r", "status", "status", note="ok, now oom"),
    ]
    assert list(filter(worse, changes)) == changes[4:]


@pytest.fixture(scope="module")
def first(whole: tuple[Path, Path, Path, str], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folder of a job in this process that goes on from the records of `whole`, and that of the applied records."""
    folder = tmp_path_factory.mktemp("job")
    shutil.copytree(whole[2] / "measured" / "records", folder / "out" / "records")
    # `unfit_too`, because the machine that runs the tests may be busy.
    asked = job.JobSettings("cpu", folder / "committed", folder / "out", unfit_too=True, apply=True)
    assert job.run(find_cases("smoke-tiny", CASES), asked) == 0
    return folder / "out", folder / "committed"


@pytest.fixture
def examined(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first job had the machine examined; the others measure nothing."""
    monkeypatch.setattr(job, "_examine", lambda device: (True, "device cpu"))


def _names(folder: Path) -> list[str]:
    return sorted(file.stem.partition("--")[0] for file in folder.rglob("*.json"))


def _slower(record: dict[str, Any]) -> dict[str, Any]:
    """The record as a machine that takes a tenth of a second longer for each step would have written it."""
    step_s = [[second + 0.1 for second in row] for row in record["samples"]["step_s"]]
    return {
        **record,
        "samples": {**record["samples"], "step_s": step_s},
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
    assert job.run(find_cases("smoke-tiny", CASES), job.JobSettings("cpu", committed, out)) == 0
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
    assert (
        job.run(find_cases("smoke-tiny", CASES), job.JobSettings("cpu", tmp_path / "committed", out, apply=True)) == 0
    )
    assert f"another--cpu.json: the file should be called smoke-tiny/{ADAM}" in capsys.readouterr().out
    assert _names(tmp_path / "committed") == [ADAM, SGD]


def test_an_unfit_machine_is_not_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(job, "_examine", lambda device: (False, "WARN 2 other processes on the GPU"))
    assert job.run([("trial", tiny_case())], job.JobSettings("cpu", tmp_path / "committed", tmp_path / "out")) == 1
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
    text = job.pull_request([found], "ok", job.JobSettings("cuda", tmp_path, tmp_path), complete=False)
    assert "throttled, the GPU was throttled: hardware_thermal" in text
    assert "Not every case was measured" in text


@pytest.mark.parametrize(
    "name",
    [
        "@everyone",
        "[free](https://elsewhere.example)",
        "![x](x.png)",
        "<img src=x>",
        "www.elsewhere.example",
        "elsewhere.example",
        "GH-12",
        "fixed in 75a167a",
        "a`b`@c",
        "a\nb",
        "\u202eevil",
    ],
)
def test_what_a_machine_calls_itself_speaks_to_nobody(first: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    (file,) = (first[0] / "records").rglob(f"{ADAM}--*.json")
    record, _ = load.read(file)
    assert record is not None
    told = {**record, "status": "throttled", "message": name, "device": {**record["device"], "name": name}}
    found = job._Found.of(file, told, tmp_path / "committed")
    settings = job.JobSettings("cuda", tmp_path, tmp_path)
    for text in (job.pull_request([found], f"```\n{name}", settings, complete=True, faults=[name]), job.issue([found])):
        # Code is shown as it is written: nobody is called, nothing is linked or fetched.
        bare = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
        assert not re.search(r"@|\]\(|<img|www\.|://|\.example|GH-|75a167a|[\u202a-\u202e]", bare), bare


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
                "case": case.as_dict(),
                "outcome": "error",
                "message": "it broke",
                "provenance": {**record["provenance"], "repeats": [repeat]},
            }
            file = tmp_path / "trial" / f"{case.name}--{derive(record)['device']['slug']}.json"
            file.parent.mkdir(exist_ok=True)
            file.write_text(json.dumps(failed), encoding="utf-8")
            assert load.file_faults(file) == []
    assert [case.name for _, case in job.in_order(cases, tmp_path)] == ["first", "second", "older", "old"]
