"""Records as tables and as flat rows."""

from __future__ import annotations

import copy
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from gpu_bench.__main__ import main
from gpu_bench.cases.techniques import CHECKPOINTING
from gpu_bench.predict.prediction import predict
from gpu_bench.record.derive import derive
from gpu_bench.record.report import flat_rows, page, tables
from gpu_bench.record.tables import Table, render, to_csv


@pytest.fixture
def record(record: dict[str, Any]) -> dict[str, Any]:
    """A record as it is read."""
    return derive(record)


H200 = {"type": "cuda", "name": "NVIDIA H200"}


def _point(label: str, tokens_per_s: float, **settings: Any) -> dict[str, Any]:
    return {
        "label": label,
        "settings": settings,
        "status": "ok",
        "message": None,
        "samples_s": [[0.5, 0.5]],
        "seconds": {"median": 0.5, "q1": 0.5, "q3": 0.5, "iqr": 0.0, "n": 2},
        "work": {"flops": None, "bytes": None, "tokens": tokens_per_s / 2},
        "rates": {"flops_per_s": None, "bytes_per_s": None, "tokens_per_s": tokens_per_s},
        "memory_peak": None,
        "shares": {"communication": 0.25},
        "losses": [3.0, 2.5],
    }


def _scaling(record: dict[str, Any]) -> dict[str, Any]:
    points = [_point("1 process", 1000.0, processes=1), _point("4 processes", 3000.0, processes=4)]
    return copy.deepcopy(record) | {"samples": None, "summary": None, "points": points}


def test_a_trained_case_is_one_row_in_si_units(record: dict[str, Any]) -> None:
    (row,) = flat_rows(record)
    assert row["step_s"] == record["summary"]["step_s"]["median"]
    assert row["peak_b"] == record["memory"]["peak"]
    assert row["engine_peak_b"] == record["predicted"]["memory"]["peak"]
    assert row["command"] == "python -m gpu_bench run --suite trial --case tiny --again"


def test_a_failed_case_is_a_row_without_numbers(record: dict[str, Any]) -> None:
    blocks = ("samples", "summary", "memory", "utilization", "loss", "energy", "cost")
    failed = copy.deepcopy(record) | dict.fromkeys(blocks) | {"status": "oom", "message": "no memory"}
    (row,) = flat_rows(failed)
    assert row["status"] == "oom"
    assert row["step_s"] is None
    (table,) = tables([failed])
    assert table.rows[0][2:4] == ("oom", "-")


def test_scaling_shows_speed_up_and_efficiency(record: dict[str, Any]) -> None:
    made = _scaling(record)
    one, four = flat_rows(made)
    assert (one["speedup"], one["efficiency"]) == (1.0, 1.0)
    assert (four["speedup"], four["efficiency"]) == (3.0, 0.75)
    assert four["share_communication"] == 0.25
    (table,) = tables([made])
    assert table.head[-2:] == ("speed-up", "efficiency %")
    assert table.rows[1][-2:] == ("3.00", "75.0")


def test_a_fit_shows_the_engine_s_batch_beside_the_measured_one(record: dict[str, Any]) -> None:
    fit = {
        "limit": 2**34,
        "policies": [
            {"policy": "plain", "predicted_batch": 4, "largest_batch": 6, "peak": 2**30, "tokens_per_s": 9.0},
            {"policy": "tight", "predicted_batch": None, "largest_batch": None, "peak": None, "tokens_per_s": None},
        ],
    }
    made = copy.deepcopy(record) | {"samples": None, "fit": fit}
    (table,) = tables([made])
    assert table.rows == (("plain", "4", "6", "1.00"), ("tight", "-", "-", "-"))
    assert table.title.endswith(": fits (emulated)")
    (itself,) = tables([made | {"fit": fit | {"limit": None}}])
    assert itself.title.endswith(": fits")
    assert [row["largest_batch"] for row in flat_rows(made)] == [6, None]


def test_columns_line_up_in_text_and_bars_are_escaped_in_markdown() -> None:
    table = Table("T", ("name", "n"), (("a", "1"), ("long|er", "1,000")))
    lines = render(table, "text").splitlines()
    assert lines[3:] == ["a            1", "long|er  1,000"]
    assert render(table, "markdown").splitlines()[-1] == "| `long\\|er` | 1,000 |"


def test_csv_has_a_column_for_every_name_and_quotes_text() -> None:
    text = to_csv([{"a": 1, "b": 'x, "y"'}, {"a": 2, "c": None}])
    assert list(csv.DictReader(io.StringIO(text))) == [
        {"a": "1", "b": 'x, "y"', "c": ""},
        {"a": "2", "b": "", "c": ""},
    ]


@pytest.mark.parametrize("form", ["text", "markdown", "csv", "json"])
def test_the_command_prints_every_form(
    record_file: Path, record: dict[str, Any], capsys: pytest.CaptureFixture[str], form: str
) -> None:
    assert main(["report", str(record_file), "--format", form]) == 0
    out = capsys.readouterr().out
    assert "tiny" in out
    if form == "json":
        assert json.loads(out) == flat_rows(record)


def test_the_page_of_a_record_has_its_numbers_in_a_table_like_all_others(record: dict[str, Any]) -> None:
    told = page(record).split("\n\n")[1].splitlines()
    assert told[0].startswith("pico, batch 2 x 32, fp32, adam")
    assert [one.strip() for one in told[1].split("  ")][-2:] == ["measured", "the engine said"]
    assert set(told[2]) == {"-", " "}
    (peak,) = (line for line in told if line.startswith("peak memory, GiB"))
    said = record["predicted"]["memory"]["peak"] / 2**30
    assert peak.split()[-2:] == [f"{record['memory']['peak'] / 2**30:.3f}", f"{said:.3f}"]


def test_no_records_are_said_not_shown_as_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "no records\n"


def test_predictions_are_those_of_the_records(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "--gpu", "h200", "--suite", "checkpointing"]) == 0
    out = capsys.readouterr().out
    told = predict(next(case for case in CHECKPOINTING if case.name == "checkpointing-774m-full"), H200)
    (line,) = [line for line in out.splitlines() if "checkpointing-774m-full" in line]
    assert f"{told['tokens_per_s']:,.0f}" in line
    assert f"{told['memory']['peak'] / 2**30:.2f}" in line


def test_an_unknown_gpu_has_no_prediction(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "--gpu", "abacus"]) == 2
    assert capsys.readouterr().err.startswith("gpu_bench: GPU 'abacus' is not known; allowed: a100-40,")
