"""The runner keeps what was measured whatever happens to its workers; here they are really killed and stopped."""

from __future__ import annotations

import copy
import functools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gpu_bench.__main__ import main
from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.predict import prediction
from gpu_bench.record import derive, load, store
from gpu_bench.record.report import page
from gpu_bench.run import isolation, runner, schedule
from gpu_bench.run.plan import conditions
from gpu_bench.run.runner import Settings
from tests.gpu_bench import recorded_worker
from tests.gpu_bench.processes import alive, within
from tests.gpu_bench.tiny import tiny_case


def _records(out: Path) -> dict[str, dict[str, Any]]:
    return {record["name"]: record for _, record in load.valid([out])}


def _kill(name: str, how: signal.Signals = signal.SIGKILL) -> Any:
    def on_start(case: Case, pid: int) -> None:
        if case.name == name:
            os.kill(pid, how)

    return on_start


def _with_record(out: Path, record_file: Path) -> Path:
    """Put a finished record of `tiny_case(repeats=2)` into the folder."""
    file = out / "trial" / record_file.name
    file.parent.mkdir()
    shutil.copy(record_file, file)
    return file


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, report: dict[str, Any]) -> None:
    """Workers are real processes, which tests kill and stop, but they report `report` instead of measuring."""
    isolation.probe("cpu")
    file = tmp_path_factory.mktemp("report") / "report.json"
    # Without the times of that earlier measurement; the runner sets those of this repeat.
    kept = {name: value for name, value in report.items() if name not in ("started", "finished")}
    file.write_text(json.dumps(kept), encoding="utf-8")
    monkeypatch.setenv(recorded_worker.REPORT_VARIABLE, str(file))
    monkeypatch.setattr(isolation, "WORKER", recorded_worker.__name__)


@pytest.fixture
def measured_once(monkeypatch: pytest.MonkeyPatch, report: dict[str, Any]) -> None:
    """Every measurement gives `report`: for tests of which repeats run, and in which order."""
    # A real process examines the machine, once for all tests; it has to happen before workers are replaced.
    isolation.probe("cpu")

    def work(order: Mapping[str, Any], limit_s: float, on_start: Callable[[int], None] = lambda pid: None) -> Any:
        on_start(0)
        # Without the times of the earlier measurement; the runner sets those of this repeat.
        found = recorded_worker.varied(copy.deepcopy(dict(report)), order["repeat"])
        return {name: value for name, value in found.items() if name not in ("started", "finished")}

    monkeypatch.setattr(isolation, "work", work)


@pytest.mark.usefixtures("measured_once")
def test_what_is_predicted_is_predicted_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []
    told, work = prediction.predict, isolation.work

    def predict(case: TrainingCase, device: Mapping[str, Any]) -> dict[str, Any]:
        happened.append(f"predicted {case.name}")
        return {**told(case, device), "step_s": 4711.0}

    def working(order: Mapping[str, Any], *rest: Any) -> Any:
        happened.append(f"ran {order['case']['name']}")
        return work(order, *rest)

    for module in list(sys.modules.values()):
        if getattr(module, "predict", None) is told and module is not prediction:
            monkeypatch.setattr(module, "predict", predict)
    monkeypatch.setattr(isolation, "work", working)
    cases = [("trial", tiny_case("one", repeats=2)), ("trial", tiny_case("two", repeats=2))]
    runner.run(cases, Settings("cpu", tmp_path))
    assert happened[:3] == ["predicted one", "predicted two", "ran one"]
    stated = [json.loads(file.read_text(encoding="utf-8"))["predicted"] for file in tmp_path.rglob("*.json")]
    assert [one["step_s"] for one in stated] == [4711.0, 4711.0], "what was said then is what the record states"


@pytest.mark.usefixtures("recorded")
def test_a_killed_worker_leaves_an_error_record_the_others_go_on_and_the_next_run_tries_again(tmp_path: Path) -> None:
    cases = [("trial", tiny_case("one")), ("trial", tiny_case("two"))]
    assert runner.run(cases, Settings("cpu", tmp_path, on_start=_kill("one"))) == 1
    found = _records(tmp_path)
    assert found["one"]["status"] == "error"
    assert "SIGKILL" in found["one"]["message"]
    assert found["one"]["summary"] is None
    assert found["two"]["status"] == "ok"
    assert [fault for file in tmp_path.rglob("*.json") for fault in load.file_faults(file)] == []
    assert runner.run(cases, Settings("cpu", tmp_path)) == 0
    assert _records(tmp_path)["one"]["status"] == "ok"


@pytest.mark.usefixtures("recorded")
def test_a_worker_that_hangs_is_ended_at_its_time_limit(tmp_path: Path) -> None:
    pids: list[int] = []

    def freeze(case: Case, pid: int) -> None:
        pids.append(pid)
        os.kill(pid, signal.SIGSTOP)

    began = time.monotonic()
    case = tiny_case(time_limit_s=2.0)
    assert runner.run([("trial", case)], Settings("cpu", tmp_path, on_start=freeze)) == 1
    assert time.monotonic() - began < 60
    assert _records(tmp_path)["tiny"]["status"] == "timeout"
    assert not Path(f"/proc/{pids[0]}").exists()


def test_running_out_of_memory_is_a_result_not_an_error(tmp_path: Path) -> None:
    def limit(case: Case, pid: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))

    # The embeddings of this batch alone take as much: nothing is computed before it is refused.
    case = tiny_case(batch=2**17, sequence=128, steps=1)
    assert runner.run([("trial", case)], Settings("cpu", tmp_path, on_start=limit)) == 0
    record = _records(tmp_path)["tiny"]
    assert record["status"] == "oom"
    assert "can't allocate memory" in record["message"]


@pytest.mark.usefixtures("measured_once")
def test_a_finished_record_is_kept_and_measured_again_only_on_demand(tmp_path: Path, record_file: Path) -> None:
    file = _with_record(tmp_path, record_file)
    before = file.read_bytes()
    started: list[str] = []
    cases = [("trial", tiny_case(repeats=2))]
    assert runner.run(cases, Settings("cpu", tmp_path, on_start=lambda case, pid: started.append(case.name))) == 0
    assert started == []
    assert file.read_bytes() == before
    assert runner.run(cases, Settings("cpu", tmp_path, again=True)) == 0
    assert file.read_bytes() != before


@pytest.mark.usefixtures("recorded")
def test_a_failure_never_replaces_a_finished_record(tmp_path: Path, record_file: Path) -> None:
    file = _with_record(tmp_path, record_file)
    cases = [("trial", tiny_case(repeats=2))]
    before = file.read_bytes()
    assert runner.run(cases, Settings("cpu", tmp_path, again=True, on_start=_kill("tiny"))) == 1
    assert file.read_bytes() == before


@pytest.mark.usefixtures("measured_once")
def test_a_record_that_cannot_be_keeps_all_that_was_measured_and_no_figure(
    tmp_path: Path, report: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The allocator's peak is twice what the components sum to: hours of measuring stay in the file."""
    changed = {**report["memory"], "peak": 2 * report["memory"]["peak"] + 2**30}
    monkeypatch.setitem(report, "memory", changed)
    assert runner.run([("trial", tiny_case())], Settings("cpu", tmp_path)) == 1
    (file,) = tmp_path.rglob("*.json")
    record, faults = load.read(file)
    assert record is not None, faults
    assert record["status"] == "impossible"
    blocks = {*derive.BLOCKS} - {"predicted", "message", "withheld"}
    assert [record[block] for block in blocks if record[block] is not None] == []
    kept = record["withheld"]
    assert [fault for fault in kept["faults"] if "memory components sum to" in fault]
    assert kept["measured"]["samples"]["step_s"] == [report["timing"]["step_s"]]
    assert kept["measured"]["loss"]["curve"] == report["timing"]["losses"]
    assert kept["measured"]["memory"]["peak"] == changed["peak"]
    assert kept["measured"]["ceilings"] == report["ceilings"]
    assert not {"summary", "flops", "utilization", "cost"} & {*kept["measured"]}
    assert "measured and withheld, raw, in the file: model, data, samples" in page(record)
    assert runner.run([("trial", tiny_case())], Settings("cpu", tmp_path)) == 1, "it is tried again"


@pytest.mark.usefixtures("recorded")
def test_repeats_before_one_that_failed_stay_in_the_record(tmp_path: Path) -> None:
    started: list[int] = []

    def kill_the_second(case: Case, pid: int) -> None:
        started.append(pid)
        if len(started) == 2:
            os.kill(pid, signal.SIGKILL)

    assert runner.run([("trial", tiny_case(repeats=2))], Settings("cpu", tmp_path, on_start=kill_the_second)) == 1
    (file,) = tmp_path.rglob("*.json")
    record, faults = load.read(file)
    assert record is not None, faults
    assert (record["status"], record["samples"]) == ("error", None)
    assert [len(row) for row in record["withheld"]["measured"]["samples"]["step_s"]] == [3]


@pytest.mark.usefixtures("measured_once")
def test_a_changed_case_is_measured_anew(tmp_path: Path, record_file: Path) -> None:
    _with_record(tmp_path, record_file)
    started: list[str] = []
    changed = [("trial", tiny_case(repeats=2, seed=1))]
    runner.run(changed, Settings("cpu", tmp_path, on_start=lambda case, pid: started.append(case.name)))
    assert started == ["tiny", "tiny"]


def _interrupted(out: Path) -> tuple[list[tuple[str, TrainingCase]], list[int], Callable[[Case, int], None]]:
    """The cases of a run that is interrupted at its second repeat, the processes it started, and what notes them."""
    started: list[int] = []

    def interrupt_the_second(case: Case, pid: int) -> None:
        started.append(pid)
        if len(started) == 2:
            raise KeyboardInterrupt

    cases = [("trial", tiny_case(repeats=2))]
    with pytest.raises(KeyboardInterrupt):
        runner.run(cases, Settings("cpu", out, on_start=interrupt_the_second))
    return cases, started, interrupt_the_second


@pytest.mark.usefixtures("recorded")
def test_an_interrupted_run_goes_on_with_the_repeats_it_has(tmp_path: Path) -> None:
    cases, started, begin = _interrupted(tmp_path)
    assert _records(tmp_path) == {}
    assert not Path(f"/proc/{started[1]}").exists()
    assert runner.run(cases, Settings("cpu", tmp_path, on_start=begin)) == 0
    assert len(started) == 3
    assert len(_records(tmp_path)["tiny"]["samples"]["step_s"]) == 2
    assert not (tmp_path / ".parts").exists()


DAMAGES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "no parts": lambda saved: saved.pop("parts"),
    "parts of nothing": lambda saved: saved.update(parts=None),
    "a number as parts": lambda saved: saved.update(parts=5),
    "a number as a part": lambda saved: saved.update(parts=[1]),
    "no status": lambda saved: saved["parts"][0].pop("status"),
    "a status alone": lambda saved: saved.update(parts=[{"status": "ok"}]),
    "no start": lambda saved: saved["parts"][0].pop("started"),
    "a text as timing": lambda saved: saved["parts"][0].update(timing="<x>"),
    "a text as losses": lambda saved: saved["parts"][0]["timing"].update(losses=["<x>"]),
    "a text as model": lambda saved: saved["parts"][0].update(model="<x>"),
    "a text as a share": lambda saved: saved["parts"][0].update(others_share="<x>"),
    "more repeats than the case has": lambda saved: saved.update(parts=saved["parts"] * 50),
}


@pytest.mark.usefixtures("measured_once")
@pytest.mark.parametrize("name", DAMAGES)
def test_repeats_that_no_run_has_left_are_measured_anew_with_a_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases, _, _ = _interrupted(tmp_path)
    [file] = (tmp_path / ".parts").rglob("*.partial")
    saved = json.loads(file.read_text(encoding="utf-8"))
    DAMAGES[name](saved)
    file.write_text(json.dumps(saved), encoding="utf-8")
    capsys.readouterr()
    assert runner.run(cases, Settings("cpu", tmp_path)) == 0
    assert f"begun again tiny: {file} does not hold what a run leaves" in "".join(capsys.readouterr())
    assert len(_records(tmp_path)["tiny"]["samples"]["step_s"]) == 2


@pytest.mark.usefixtures("measured_once")
@pytest.mark.parametrize("text", ["", "[]", '{"context"'])
def test_a_file_that_is_not_what_a_run_leaves_is_begun_again_with_a_line(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases, _, _ = _interrupted(tmp_path)
    [file] = (tmp_path / ".parts").rglob("*.partial")
    file.write_text(text, encoding="utf-8")
    assert runner.run(cases, Settings("cpu", tmp_path)) == 0
    assert f"begun again tiny: {file} does not hold what a run leaves" in "".join(capsys.readouterr())


@pytest.mark.usefixtures("measured_once")
def test_repeats_of_another_case_are_begun_again_with_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases, _, _ = _interrupted(tmp_path)
    [file] = (tmp_path / ".parts").rglob("*.partial")
    saved = json.loads(file.read_text(encoding="utf-8"))
    saved["context"]["case"]["batch"] = 77
    file.write_text(json.dumps(saved), encoding="utf-8")
    capsys.readouterr()
    assert runner.run(cases, Settings("cpu", tmp_path)) == 0
    assert f"begun again tiny: {file} is of another case, machine or program" in "".join(capsys.readouterr())


def test_repeats_of_two_rented_machines_belong_together_unless_what_decides_a_number_differs() -> None:
    def changed(context: dict[str, Any], block: str, **values: Any) -> dict[str, Any]:
        return {**context, block: {**context[block], **values}}

    case, here = tiny_case(), isolation.probe("cpu")
    gpu = changed(here, "device", type="cuda")
    another = changed(changed(gpu, "machine", host="another", cpu="another", memory=1), "software", threads=99)
    assert conditions(case, another) == conditions(case, gpu)
    assert conditions(case, changed(here, "software", threads=99)) != conditions(case, here), "on a CPU threads matter"
    for block, name in (
        ("software", "driver"),
        ("software", "torch"),
        ("device", "power_limit_w"),
        ("code", "sources"),
    ):
        assert conditions(case, changed(gpu, block, **{name: "another"})) != conditions(case, gpu)


@pytest.mark.usefixtures("recorded")
def test_two_runs_do_not_write_to_the_same_folder(tmp_path: Path) -> None:
    refused: list[str] = []

    def second_run(case: Case, pid: int) -> None:
        with pytest.raises(runner.RunError, match="another run writes to") as failure:
            runner.run([("trial", tiny_case("second"))], Settings("cpu", tmp_path))
        refused.append(str(failure.value))
        os.kill(pid, signal.SIGKILL)

    runner.run([("trial", tiny_case("first"))], Settings("cpu", tmp_path, on_start=second_run))
    assert len(refused) == 1
    assert set(_records(tmp_path)) == {"first"}


@pytest.mark.skipif(sys.platform == "win32", reason="no links and no pipes there")
def test_the_lock_is_a_file_of_the_runs_own(tmp_path: Path) -> None:
    run = functools.partial(runner.run, [("trial", tiny_case("one"))])
    precious, out = tmp_path / "precious.txt", tmp_path / "out"
    precious.write_text("kept", "utf-8")
    out.mkdir()
    (out / ".lock").symlink_to(precious)
    with pytest.raises(runner.RunError, match="cannot be opened"):
        run(Settings("cpu", out))
    assert precious.read_text("utf-8") == "kept"
    (out / ".lock").unlink()
    os.mkfifo(out / ".lock")
    with pytest.raises(runner.RunError, match="is no file"):
        run(Settings("cpu", out))
    (tmp_path / "away").symlink_to(tmp_path / "nowhere")
    with pytest.raises(runner.RunError, match="is no folder"):
        run(Settings("cpu", tmp_path / "away"))


@pytest.mark.usefixtures("measured_once")
def test_cases_that_are_compared_take_turns(tmp_path: Path) -> None:
    started: list[str] = []
    cases = [("trial", tiny_case("one", repeats=2)), ("trial", tiny_case("two", repeats=2, against="one"))]
    runner.run(cases, Settings("cpu", tmp_path, on_start=lambda case, pid: started.append(case.name)))
    assert started == ["one", "two", "two", "one"], "a drift hits both alike"


def test_a_spent_budget_stops_before_the_next_repeat_and_blames_no_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = [("trial", tiny_case())]
    assert runner.run(cases, Settings("cpu", tmp_path, budget_s=1.0)) == 1
    assert "budget spent; the same command goes on with tiny" in capsys.readouterr().out
    assert _records(tmp_path) == {}


@pytest.mark.usefixtures("measured_once")
def test_one_case_follows_the_other_the_most_valuable_first(tmp_path: Path) -> None:
    started: list[str] = []
    cases = [("trial", tiny_case(f"case-{number}", repeats=2)) for number in range(6)]

    def note(case: Case, pid: int) -> None:
        started.append(case.name)
        if len(started) == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run(cases, Settings("cpu", tmp_path, on_start=note))
    # A run that is cut short has finished the first cases, rather than begun all of them.
    assert started == ["case-0", "case-0", "case-1", "case-1", "case-2"]
    assert set(_records(tmp_path)) == {"case-0", "case-1"}


@pytest.mark.usefixtures("measured_once")
def test_a_run_of_checks_makes_one_repeat_of_each_and_the_next_run_goes_on_with_it(tmp_path: Path) -> None:
    started: list[str] = []
    cases = [
        ("trial", tiny_case("first", repeats=2)),
        ("trial", tiny_case("whole", check=True)),
        ("trial", tiny_case("part", repeats=2, against="first", check=True)),
    ]

    def note(case: Case, pid: int) -> None:
        started.append(case.name)

    assert runner.run(cases, Settings("cpu", tmp_path, on_start=note, checks_only=True)) == 0
    assert started == ["whole", "part"]
    assert set(_records(tmp_path)) == {"whole"}
    assert runner.run(cases, Settings("cpu", tmp_path, on_start=note)) == 0
    assert started[2:] == ["first", "part", "first"], "what was checked is kept, and not repeated"


@pytest.mark.usefixtures("recorded")
def test_a_lost_repeat_is_begun_again_when_retries_are_left(tmp_path: Path) -> None:
    started: list[int] = []

    def kill_the_first(case: Case, pid: int) -> None:
        started.append(pid)
        if len(started) == 1:
            os.kill(pid, signal.SIGKILL)

    settings = Settings("cpu", tmp_path, retries=1, on_start=kill_the_first)
    assert runner.run([("trial", tiny_case())], settings) == 0
    assert len(started) == 2
    assert _records(tmp_path)["tiny"]["status"] == "ok"


_TWO_CASES = """
import sys
from pathlib import Path
from gpu_bench.run import runner
from tests.gpu_bench.tiny import tiny_case

out = Path(sys.argv[1])

def note(case, pid):
    (out / "pid.new").write_text(str(pid))
    (out / "pid.new").rename(out / case.name)

cases = [("trial", tiny_case("short")), ("trial", tiny_case("long", steps=100_000))]
sys.exit(runner.run(cases, runner.Settings("cpu", out, on_start=note)))
"""


@pytest.mark.usefixtures("measured_once")
def test_a_killed_runner_loses_no_finished_record_takes_its_worker_along_and_the_next_run_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runner.run([("trial", tiny_case("short"))], Settings("cpu", tmp_path)) == 0
    (file,) = tmp_path.rglob("short*.json")
    before = file.read_bytes()
    # A runner and a worker of its own, which trains for real.
    killed = subprocess.Popen([sys.executable, "-c", _TWO_CASES, str(tmp_path)], cwd=Path(__file__).parents[3])
    try:
        assert within(90, (tmp_path / "long").exists)
    finally:
        killed.kill()
        killed.wait()
    worker = int((tmp_path / "long").read_text(encoding="ascii"))
    assert within(60, lambda: not alive(worker)), "a worker outlived its runner"
    assert file.read_bytes() == before
    assert load.file_faults(file) == []
    assert runner.run([("trial", tiny_case("short")), ("trial", tiny_case("long"))], Settings("cpu", tmp_path)) == 0
    assert "kept trial/short" in capsys.readouterr().out
    assert {name: record["status"] for name, record in _records(tmp_path).items()} == {"short": "ok", "long": "ok"}


@pytest.mark.usefixtures("recorded")
def test_a_budget_that_ends_amid_a_repeat_blames_no_case_and_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The runner guesses that a first repeat takes 30 s, and would not begin one with a budget of 2 s.
    monkeypatch.setattr(schedule, "GUESS_S", 1.0)
    started: list[int] = []
    settings = Settings("cpu", tmp_path, budget_s=2.0, on_start=lambda case, pid: started.append(pid))
    assert runner.run([("trial", tiny_case("long", steps=10**9))], settings) == 1
    assert len(started) == 1
    assert not alive(started[0])
    assert _records(tmp_path) == {}


@pytest.mark.usefixtures("measured_once")
def test_a_spoiled_repeat_is_measured_again_while_patience_lasts(
    tmp_path: Path, report: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # With waiting switched off, all patience goes into repeats.
    monkeypatch.setattr(runner, "await_quiet", lambda patience_s: True)
    monkeypatch.setitem(report, "others_share", 0.5)
    started: list[int] = []

    def note(case: Case, pid: int) -> None:
        started.append(pid)
        if len(started) == 3:
            report["others_share"] = 0.0

    assert runner.run([("trial", tiny_case())], Settings("cpu", tmp_path, patience_s=60.0, on_start=note)) == 0
    assert len(started) == 3
    assert capsys.readouterr().out.count("others took 50% of the processors; measured again") == 2
    assert _records(tmp_path)["tiny"]["provenance"]["repeats"][0]["others_share"] == 0.0


@pytest.mark.usefixtures("measured_once")
def test_a_disk_that_fills_up_amid_a_run_loses_no_repeat(tmp_path: Path) -> None:
    started: list[int] = []
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(case: Case, pid: int) -> None:
        started.append(pid)
        if len(started) == 2:
            # From now on files take a kilobyte and no more.
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))

    cases = [("trial", tiny_case(repeats=3))]
    try:
        with pytest.raises(OSError, match=r"File too large: '.*tiny--.*\.partial'"):
            runner.run(cases, Settings("cpu", tmp_path, on_start=fill))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert list(tmp_path.rglob(f".*{store.TEMPORARY}")) == []
    assert runner.run(cases, Settings("cpu", tmp_path, on_start=fill)) == 0
    assert len(started) == 4, "the first repeat was kept"
    assert _records(tmp_path)["tiny"]["status"] == "ok"


@pytest.mark.usefixtures("measured_once")
def test_a_record_that_cannot_be_written_is_made_of_its_repeats_by_the_next_run(tmp_path: Path) -> None:
    """A file stands where the suite's folder should be, below which root cannot write either."""
    started: list[int] = []
    settings = Settings("cpu", tmp_path, on_start=lambda case, pid: started.append(pid))
    cases = [("trial", tiny_case(repeats=2))]
    (tmp_path / "trial").touch()
    with pytest.raises(OSError, match="tiny--"):
        runner.run(cases, settings)
    (tmp_path / "trial").unlink()
    assert runner.run(cases, settings) == 0
    assert len(started) == 2, "nothing was measured again"
    assert _records(tmp_path)["tiny"]["status"] == "ok"
    assert not (tmp_path / ".parts").exists()


def test_a_folder_that_cannot_be_written_is_one_line_before_anything_is_measured(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["run", "--suite", "smoke-tiny", "--device", "cpu", "--out", "/proc/gpu_bench-none"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("gpu_bench: No such file or directory '/proc/gpu_bench-none'")
    assert said.err.count("\n") == 1
