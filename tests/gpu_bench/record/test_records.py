"""Records: what the runner writes is valid, and nothing else is."""

from __future__ import annotations

import copy
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_bench.record import load
from gpu_bench.record.derive import BLOCKS, derive
from gpu_bench.record.load import answers, checked, file_faults
from gpu_bench.record.spread import summarize
from gpu_bench.record.store import RESULTS, SCHEMA_FILE, write_json
from tests.conftest import tries
from tests.gpu_bench.record.mutations import at, places
from tests.gpu_bench.tiny import tiny_case

_ON_ONE_RECORD = settings(max_examples=tries(60), suppress_health_check=[HealthCheck.function_scoped_fixture])


def _faults(record: dict[str, Any]) -> list[str]:
    return load.faults(record)


def test_what_the_runner_writes_is_valid(record_file: Path) -> None:
    assert file_faults(record_file) == []


def test_python_alone_judges_a_record() -> None:
    """The machine that measures may have nothing but PyTorch, which reading does not need either."""
    code = "import sys, gpu_bench.record.load; print({'pydantic', 'jsonschema', 'torch'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "set()", done.stderr


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


def test_a_record_without_one_of_its_parts_is_refused(record: dict[str, Any]) -> None:
    # The optimizer's vectors depend on the optimizer, so the sum refuses a missing one, save an empty one.
    # A record without one of its packages or environment variables is valid: it describes another machine.
    # Fields of a case have defaults, which `load.parse` fills in.
    free = ("packages", "environment", "case")
    named = [p for p in places(record) if isinstance(p[-1], str) and not {*p[:-1]} & {*free}]
    accepted = []
    for place in named:
        if at(record, place) == 0 or place[-1] in ("attention_ran", "step"):
            continue
        mutant = copy.deepcopy(record)
        del at(mutant, place[:-1])[place[-1]]
        if not _faults(mutant):
            accepted.append(place)
    assert len(named) > 60
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


@pytest.mark.parametrize("sign", [-1, 1])
def test_components_that_leave_more_of_the_peak_than_the_tolerance_are_refused(
    record: dict[str, Any], sign: int
) -> None:
    memory = record["memory"]
    remainder, tolerance = (derive(record)["memory"][name] for name in ("at_peak", "tolerance"))
    memory["at_peak"]["activations"] += remainder["remainder"] - sign * tolerance
    assert _faults(record) == []
    memory["at_peak"]["activations"] -= sign
    assert any("memory components sum to" in fault for fault in _faults(record))


def test_what_follows_from_the_rest_stands_in_no_file(record: dict[str, Any]) -> None:
    view = derive(record)
    for block, field in (("loss", "first"), ("memory", "tolerance"), ("predicted", "mfu"), ("model", "layers")):
        stated = {**record, block: {**record[block], field: view[block][field]}}
        assert _faults(stated) == [f"at /{block}/{field}: no record states it, because it follows from other values"]
    for block in ("status", "name", "summary", "flops", "utilization"):
        assert "no record states it" in _faults({**record, block: view[block]})[0]


def test_what_is_read_of_a_record_is_described(record: dict[str, Any]) -> None:
    """Pages take units from the schema, of what is derived too."""
    schema = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    free = {"case", "environment", "packages"}
    undescribed = [place for place in places(derive(record)) if not {*place} & free and not _described(schema, place)]
    assert undescribed == []


def _described(schema: dict[str, Any], place: tuple[str | int, ...]) -> bool:
    found = [schema]
    for key in place:
        found = [member for one in _open(schema, found) if (member := _member(one, key)) is not None]
    return bool(found)


def _open(schema: dict[str, Any], parts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for part in parts:
        yield part
        if "$ref" in part:
            yield from _open(schema, [schema["$defs"][part["$ref"].rpartition("/")[2]]])
        yield from _open(schema, part.get("anyOf", []))


def _member(part: dict[str, Any], key: str | int) -> dict[str, Any] | None:
    inner = part.get("items") if isinstance(key, int) else part.get("properties", {}).get(key)
    found = inner if inner is not None else part.get("additionalProperties")
    return found if isinstance(found, dict) else None


def test_a_measured_record_must_hold_what_was_measured_and_an_error_must_say_why(record: dict[str, Any]) -> None:
    assert _faults({**record, "samples": None})
    assert _faults({**record, "outcome": "error"})
    bare = {name: value for name, value in record.items() if name not in BLOCKS or name == "predicted"}
    assert _faults({**bare, "outcome": "error", "message": "it broke"}) == []
    assert _faults({**bare, "outcome": "error"})


def test_fields_that_a_case_did_not_know_yet_have_their_defaults_in_every_version(
    record_file: Path, record: dict[str, Any]
) -> None:
    for name in ("steady", "residual", "loss"):
        record["benchmark_version"] = "0.2.0"
        del record["case"][name]
        read, faults = checked(json.dumps(record).encode(), None)
        # `steady` is False in the tiny case: without it, its repeats count as unsettled.
        assert read is not None, faults
        assert read["case"][name] == {"steady": True, "residual": "as-is", "loss": "full"}[name]


def test_parameters_that_an_allocator_rounds_up_are_not_impossible(record: dict[str, Any]) -> None:
    """A CUDA allocator rounds each tensor up to 512 bytes, and older records count what it gave."""
    tensors = 12 * 3 + 4
    for block in (record["memory"]["held"], record["memory"]["at_peak"]):
        block["parameters"] += 511 * tensors
    record["memory"]["peak"] += 511 * tensors
    assert _faults(record) == []
    record["memory"]["held"]["parameters"] -= 520 * tensors
    assert any("memory.held.parameters" in fault for fault in _faults(record))


def _state(file: str, change: Callable[[dict[str, Any]], object]) -> tuple[str, str | None]:
    """The status of a committed record after a change."""
    record = load.parse((RESULTS / file).read_bytes())
    change(record)
    assert _faults(record) == []
    view = derive(record)
    return view["status"], view["message"]


def _shared(record: dict[str, Any]) -> None:
    record["provenance"]["repeats"][1]["others_share"] = 0.4


def _slower(record: dict[str, Any]) -> None:
    """The second repeat of everything took two and a half times as long as it did."""
    for one in record["points"]:
        one["samples_s"][1] = [2.5 * second for second in one["samples_s"][1]]
    record["provenance"]["repeats"][1]["started"] = record["provenance"]["repeats"][0]["finished"]


@pytest.mark.parametrize("file", [f"{name}--cpu-amd-epyc-2c.json" for name in (
    "roofline/roofline-copy", "pipeline/pipeline-tokenize", "smoke/gpt2-nano-fp32-sgd"
)])  # fmt: skip
def test_times_of_a_processor_that_others_used_are_no_result(file: str) -> None:
    assert _state(file, lambda record: None) == ("ok", None)
    assert _state(file, _shared) == ("unsettled", "others took 40% of the processors")


@pytest.mark.parametrize("file", ["roofline/roofline-copy", "pipeline/pipeline-tokenize"])
def test_repeats_that_are_far_apart_are_no_result(file: str) -> None:
    status, message = _state(f"{file}--cpu-amd-epyc-2c.json", _slower)
    assert status == "unsettled"
    assert "times as long as the fastest" in str(message)


def test_a_record_under_another_name_is_refused(record_file: Path, tmp_path: Path) -> None:
    other = tmp_path / "trial" / "other--cpu.json"
    other.parent.mkdir()
    shutil.copy(record_file, other)
    assert any("should be called trial/tiny--" in fault for fault in file_faults(other))


def test_a_record_answers_only_its_own_case(record_file: Path, record: dict[str, Any], tmp_path: Path) -> None:
    assert answers(record_file, tiny_case(repeats=2))
    assert not answers(record_file, tiny_case(repeats=2, batch=3))
    assert not answers(tmp_path / "none.json", tiny_case(repeats=2))
    for change in ({"benchmark_version": "0.0.1"}, {"outcome": "impossible"}):
        write_json(tmp_path / "other.json", {**record, **change})
        assert not answers(tmp_path / "other.json", tiny_case(repeats=2))


def test_record_carries_the_spread_the_losses_and_both_flop_conventions(record: dict[str, Any]) -> None:
    record = derive(record)
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
