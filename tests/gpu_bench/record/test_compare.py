"""Comparing records: what moved beyond noise is found, what did not is left alone."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from gpu_bench.__main__ import main
from gpu_bench.record.assembly import kept
from gpu_bench.record.compare import Change, beyond_noise, compare, compare_records, software_changes, summary, table
from gpu_bench.record.derive import derive
from gpu_bench.record.spread import summarize
from gpu_bench.record.tables import render


@pytest.fixture
def record(record: dict[str, Any]) -> dict[str, Any]:
    """A record as it is read."""
    return derive(record)


def _timed(record: dict[str, Any], rows: list[list[float]]) -> dict[str, Any]:
    made = copy.deepcopy(record)
    made["samples"]["step_s"] = rows
    made["summary"]["step_s"] = summarize([value for row in rows for value in row])
    return made


def _whole(record: dict[str, Any], rows: list[list[float]]) -> dict[str, Any]:
    """A valid record with other times, and with everything that follows from them computed again."""
    made, repeats = _timed(record, rows), range(len(rows))
    made["case"] |= {"repeats": len(rows), "steps": len(rows[0]), "time_limit_s": 900.0}
    draw = random.Random(1)
    warm = [[second * (1 + draw.random()) for second in made["samples"]["warmup_s"][0]] for _ in repeats]
    made["samples"] |= {"warmup_s": warm, "warmup_settled": [False for _ in repeats]}
    made["compile"] = {"seconds": [None] * len(rows), "graphs": [0] * len(rows), "graphs_while_timed": [0] * len(rows)}
    made["compile"]["fallbacks"] = [[] for _ in rows]
    curve = [made["loss"]["first"] - 0.01 * step for step in range(len(warm[0]) + len(rows[0]))]
    made["loss"] = {"curve": curve, "same_in_all_repeats": True, "diverged_later": [None for _ in repeats[1:]]}
    day = "2026-01-01T"
    times = [{"started": f"{day}{10 + one}:00:00Z", "finished": f"{day}{10 + one}:10:00Z"} for one in repeats]
    ran = made["provenance"]
    ran["repeats"] = [{**ran["repeats"][0], "others_share": None, **one} for one in times]
    return derive(kept(made))


def _rows(around: float, spread: float, seed: int) -> list[list[float]]:
    """Three repeats of 20 steps that lie within ± spread of a time."""
    draw = random.Random(seed)
    return [[around * (1 + spread * draw.uniform(-1, 1)) for _ in range(20)] for _ in range(3)]


def _step(changes: list[Change]) -> Change:
    return next(change for change in changes if change.quantity == "step time")


def _compared(old: dict[str, Any], new: dict[str, Any]) -> list[Change]:
    return list(compare_records("trial/tiny--cpu", old, new))


@pytest.mark.parametrize(
    ("factor", "spread", "verdict"),
    [
        (1.00, 0.02, "same"),
        (1.005, 0.0005, "same"),  # Far beyond the spread, but below 1 %, where clocks and temperatures decide.
        (1.03, 0.05, "same"),  # The bands overlap.
        (1.03, 0.005, "moved"),
        (0.90, 0.02, "moved"),
    ],
)
def test_a_time_moves_only_beyond_its_spread_and_one_percent(
    record: dict[str, Any], factor: float, spread: float, verdict: str
) -> None:
    change = _step(_compared(_timed(record, _rows(0.1, spread, 1)), _timed(record, _rows(0.1 * factor, spread, 2))))
    assert change.verdict == verdict
    assert change.share == pytest.approx(factor - 1, abs=spread / 2 + 1e-9)
    assert change.noise is not None
    assert change.noise >= 0.01


def test_one_slow_repeat_is_not_a_change(record: dict[str, Any]) -> None:
    """Two of three processes were slower: their medians lie apart, but one lies among the old ones."""
    old = _timed(record, [[0.100] * 20, [0.101] * 20, [0.102] * 20])
    new = _timed(record, [[0.110] * 20, [0.111] * 20, [0.101] * 20])
    assert _step(_compared(old, new)).verdict == "same"
    assert _step(_compared(old, _timed(record, [[0.110] * 20, [0.111] * 20, [0.109] * 20]))).verdict == "moved"


def test_equal_noise_rarely_counts_as_change(record: dict[str, Any]) -> None:
    moved = sum(
        _step(_compared(_timed(record, _rows(0.1, 0.03, seed)), _timed(record, _rows(0.1, 0.03, seed + 500)))).verdict
        == "moved"
        for seed in range(200)
    )
    assert moved == 0


def test_memory_moves_by_bytes_and_loss_by_more_than_rounding(record: dict[str, Any]) -> None:
    new = copy.deepcopy(record)
    new["memory"]["peak"] = round(record["memory"]["peak"] * 1.02)
    new["loss"]["last_five_mean"] = record["loss"]["last_five_mean"] * 1.001
    verdicts = {change.quantity: change.verdict for change in _compared(record, new)}
    assert verdicts == {"step time": "same", "peak memory": "moved", "loss": "same"}


def test_another_case_is_not_compared_and_another_version_is_said(record: dict[str, Any]) -> None:
    new = copy.deepcopy(record)
    new["case"]["batch"] += 1
    (change,) = _compared(record, new)
    assert (change.verdict, change.note) == ("other", "the case was changed: batch")
    later = copy.deepcopy(record) | {"benchmark_version": "99.0.0"}
    assert _compared(record, later)[0].note.endswith("now 99.0.0")


def test_a_case_that_no_longer_fits_is_told_by_its_status(record: dict[str, Any]) -> None:
    failed = copy.deepcopy(record) | {"status": "oom", "message": "CUDA out of memory", "samples": None}
    changes = _compared(record, failed)
    assert changes[0].note == "ok, now oom"
    assert {change.verdict for change in changes[1:]} == {"gone"}


def _with_points(record: dict[str, Any], seconds: dict[str, float]) -> dict[str, Any]:
    points = [
        {"label": label, "samples_s": [[value, value]], "seconds": summarize([value, value])}
        for label, value in seconds.items()
    ]
    return copy.deepcopy(record) | {"samples": None, "points": points}


def test_points_and_largest_batches_are_compared_one_by_one(record: dict[str, Any]) -> None:
    old = _with_points(record, {"T = 512": 0.2, "T = 1024": 0.4, "T = 2048": 1.0})
    new = _with_points(record, {"T = 512": 0.2, "T = 1024": 0.3, "T = 4096": 3.0})
    verdicts = {change.quantity: change.verdict for change in _compared(old, new)}
    assert verdicts == {
        "time of T = 512": "same",
        "time of T = 1024": "moved",
        "time of T = 2048": "gone",
        "time of T = 4096": "new",
    }
    fits = [
        copy.deepcopy(record) | {"samples": None, "fit": {"policies": [{"policy": "plain", "largest_batch": batch}]}}
        for batch in (8, 6, None)
    ]
    assert [change.verdict for change in _compared(fits[0], fits[1])] == ["moved"]
    assert [change.share for change in _compared(fits[0], fits[2])] == [-1.0]


def test_the_largest_change_comes_first(record: dict[str, Any]) -> None:
    changes = [
        Change("a/small", "step time", "moved", 1.0, 1.1),
        Change("b/none", "record", "new"),
        Change("c/large", "step time", "moved", 1.0, 0.5),
        Change("d/same", "step time", "same", 1.0, 1.0),
    ]
    assert [change.record for change in beyond_noise(changes)] == ["c/large", "a/small", "b/none"]
    assert summary(changes).startswith("3 numbers compared: 2 moved beyond noise, 1 did not; 1 new")
    shown = render(table(beyond_noise(changes), "Moved"), "markdown").splitlines()
    assert shown[2].startswith("| record | quantity |")
    assert "-50.0 %" in shown[4]


def test_what_may_be_the_reason_is_told(record: dict[str, Any]) -> None:
    new = copy.deepcopy(record)
    new["provenance"]["torch"] = "9.9.9"
    assert software_changes(record, new) == [f"torch {record['provenance']['torch']}, now 9.9.9"]


def _folder(path: Path, *made: dict[str, Any]) -> Path:
    for record in made:
        file = path / record["suite"] / f"{record['name']}--{record['device']['slug']}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(kept(record)), encoding="utf-8")
    return path


def test_the_command_says_with_its_status_whether_something_moved(
    record: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = _folder(tmp_path / "old", _whole(record, _rows(0.1, 0.01, 1)))
    quiet = _folder(tmp_path / "quiet", _whole(record, _rows(0.1, 0.01, 2)))
    loud = _folder(tmp_path / "loud", _whole(record, _rows(0.2, 0.01, 2)))
    assert main(["compare", str(old), str(quiet)]) == 0
    assert capsys.readouterr().out.startswith("3 numbers compared: 0 moved")
    assert main(["compare", str(old), str(loud), "--format", "markdown"]) == 1
    out = capsys.readouterr().out
    assert "| step time | moved |" in out
    assert "peak memory" not in out
    assert main(["compare", str(old), str(loud), "--all"]) == 1
    assert "peak memory" in capsys.readouterr().out


def test_records_come_and_go(record: dict[str, Any], tmp_path: Path) -> None:
    old = _folder(tmp_path / "old", record)
    new = _folder(
        tmp_path / "new", copy.deepcopy(record) | {"name": "another", "case": record["case"] | {"name": "another"}}
    )
    assert [(change.record.partition("--")[0], change.verdict) for change in compare(old, new)] == [
        ("trial/another", "new"),
        ("trial/tiny", "gone"),
    ]


def test_two_files_are_compared_whatever_they_are_called(record: dict[str, Any], tmp_path: Path) -> None:
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    one.write_text(json.dumps(kept(_whole(record, _rows(0.1, 0.01, 1)))), encoding="utf-8")
    two.write_text(json.dumps(kept(_whole(record, _rows(9.0, 0.01, 1)))), encoding="utf-8")
    assert _step(compare(one, two)).verdict == "moved"


def test_what_cannot_be_compared_is_one_line_and_status_2(
    record: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "one.json"
    file.write_text("[]", encoding="utf-8")
    assert main(["compare", str(file), str(tmp_path)]) == 2
    assert "are not alike" in capsys.readouterr().err
    assert main(["compare", str(file), str(file)]) == 2
    assert "not a JSON object" in capsys.readouterr().err
    assert main(["compare", str(tmp_path / "none"), str(file)]) == 2
    assert capsys.readouterr().err.count("\n") == 1
