"""Records: what the runner writes is valid, and nothing else is."""

from __future__ import annotations

import copy
import json
import shutil
import statistics
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_bench.record.assembly import TRAINING_BLOCKS
from gpu_bench.record.checks import inconsistencies
from gpu_bench.record.load import answers, file_faults, schema_faults, schema_unchecked
from gpu_bench.record.spread import summarize
from gpu_bench.record.store import SCHEMA_FILE, write_json
from tests.gpu_bench.record.mutations import at, places
from tests.gpu_bench.tiny import tiny_case

_ON_ONE_RECORD = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def _faults(record: dict[str, Any]) -> list[str]:
    return schema_faults(record) or inconsistencies(record)


def test_what_the_runner_writes_is_valid(record_file: Path) -> None:
    assert file_faults(record_file) == []


def test_without_the_package_for_schemas_sums_are_checked_all_the_same(
    record_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    assert "python -m pip install jsonschema" in str(schema_unchecked())
    assert file_faults(record_file) == []
    record = json.loads(record_file.read_text(encoding="utf-8"))
    record["memory"]["peak"] += 1
    changed = tmp_path / "changed.json"
    changed.write_text(json.dumps(record), encoding="utf-8")
    assert "memory components sum to" in file_faults(changed)[0]
    changed.write_text("{}", encoding="utf-8")
    assert "missing or malformed" in file_faults(changed)[0]


def test_schema_is_a_valid_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(SCHEMA_FILE.read_text(encoding="utf-8")))


def test_every_number_in_the_schema_has_a_unit() -> None:
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    for place in [(), *places(schema)]:
        node = at(schema, place)
        kind = node.get("type") if isinstance(node, dict) else None
        kinds = kind if isinstance(kind, list) else [kind]
        if "number" in kinds or "integer" in kinds:
            assert "unit" in node, place


_LATER = (
    "compile_region", "step_graph", "residual", "scaling", "implementation", "allocator", "validate_every",
    "course", "arms", "withheld",
)  # fmt: skip
"""Fields that the oldest records lack, where they mean their default, and the parts which they lack as a whole."""


def test_a_record_without_one_of_its_parts_is_refused(record: dict[str, Any]) -> None:
    # The optimizer's vectors depend on the optimizer, so the sum refuses a missing one, save an empty one.
    # A record without one of its packages or environment variables is valid: it describes another machine.
    free = ("packages", "environment")
    named = [p for p in places(record) if isinstance(p[-1], str) and not {*p[:-1]} & {*free}]
    accepted = []
    for place in named:
        if at(record, place) == 0 or place[-1] in _LATER:
            continue
        mutant = copy.deepcopy(record)
        del at(mutant, place[:-1])[place[-1]]
        if not _faults(mutant):
            accepted.append(place)
    assert len(named) > 100
    assert accepted == []


@_ON_ONE_RECORD
@given(data=st.data(), name=st.text(min_size=1, max_size=8))
def test_a_record_with_an_unknown_part_is_refused(record: dict[str, Any], data: st.DataObject, name: str) -> None:
    free = ("packages", "environment")
    objects = [(), *(p for p in places(record) if isinstance(at(record, p), dict) and p[-1] not in free)]
    mutant = copy.deepcopy(record)
    target = at(mutant, data.draw(st.sampled_from(objects)))
    target.setdefault(f"_{name}", "unexpected")
    assert _faults(mutant)


@_ON_ONE_RECORD
@given(data=st.data())
def test_a_number_replaced_by_text_is_refused(record: dict[str, Any], data: st.DataObject) -> None:
    numbers = [p for p in places(record) if type(at(record, p)) in (int, float)]
    place = data.draw(st.sampled_from(numbers))
    mutant = copy.deepcopy(record)
    at(mutant, place[:-1])[place[-1]] = str(at(record, place))
    assert _faults(mutant)


@_ON_ONE_RECORD
@given(data=st.data(), extra=st.integers(1, 10**12))
def test_a_component_changed_by_one_byte_no_longer_meets_the_peak(
    record: dict[str, Any], data: st.DataObject, extra: int
) -> None:
    component = data.draw(st.sampled_from(sorted(record["memory"]["at_peak"])))
    record = copy.deepcopy(record)
    record["memory"]["at_peak"][component] += extra
    assert any("sum to" in fault for fault in _faults(record))


@_ON_ONE_RECORD
@given(data=st.data(), factor=st.floats(0.5, 0.99))
def test_a_summary_that_was_improved_by_hand_is_refused(
    record: dict[str, Any], data: st.DataObject, factor: float
) -> None:
    record = copy.deepcopy(record)
    block = record["summary"][data.draw(st.sampled_from(["step_s", "tokens_per_s"]))]
    block["median"] *= factor
    assert any("does not follow" in fault for fault in _faults(record))


def test_a_remainder_above_the_tolerance_is_refused(record: dict[str, Any]) -> None:
    memory = record["memory"]
    memory["at_peak"]["parameters"] -= memory["tolerance"] + 1
    memory["at_peak"]["remainder"] += memory["tolerance"] + 1
    assert any("remainder" in fault for fault in _faults(record))


def test_an_ok_record_must_hold_what_was_measured_and_an_error_must_say_why(record: dict[str, Any]) -> None:
    assert _faults({**record, "samples": None})
    assert _faults({**record, "status": "error"})
    empty = dict.fromkeys((*TRAINING_BLOCKS, "attention_ran"))
    assert _faults({**record, **empty, "status": "error", "message": "it broke"}) == []
    assert _faults({**record, **empty, "status": "error", "message": None})


def test_a_record_under_another_name_is_refused(record_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "trial" / "other--cpu.json"
    other.parent.mkdir()
    shutil.copy(record_file, other)
    assert any("should be called trial/tiny--" in fault for fault in file_faults(other))


def test_a_record_answers_only_its_own_case(record_file: Path, record: dict[str, Any], tmp_path: Path) -> None:
    assert answers(record_file, tiny_case(repeats=2))
    assert not answers(record_file, tiny_case(repeats=2, batch=3))
    assert not answers(tmp_path / "none.json", tiny_case(repeats=2))
    for change in ({"benchmark_version": "0.0.1"}, {"status": "impossible"}):
        write_json(tmp_path / "other.json", {**record, **change})
        assert not answers(tmp_path / "other.json", tiny_case(repeats=2))


def test_record_carries_the_spread_the_losses_and_both_flop_conventions(record: dict[str, Any]) -> None:
    assert [len(row) for row in record["samples"]["step_s"]] == [3, 3]
    assert record["summary"]["step_s"]["n"] == 6
    assert record["loss"]["same_in_all_repeats"]
    assert record["flops"]["model_per_step"] > record["flops"]["model_per_step_causal"]
    assert record["utilization"]["mfu"] is None, "a CPU has no data sheet peak here, and unknown is null"


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=50))
def test_quartiles_enclose_the_median(values: list[float]) -> None:
    spread = summarize(values)
    assert spread["q1"] <= spread["median"] <= spread["q3"]
    assert spread["median"] == pytest.approx(statistics.median(values))
    assert spread["n"] == len(values)


def test_a_failed_write_leaves_the_old_record_and_no_litter(tmp_path: Path) -> None:
    file = tmp_path / "record.json"
    write_json(file, {"value": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(file, {"value": float("nan")})
    assert json.loads(file.read_text(encoding="utf-8")) == {"value": 1}
    assert list(tmp_path.iterdir()) == [file]
