"""Falsified records: a changed value is refused if it follows from other values, or if it is impossible."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpu_bench.record import load
from gpu_bench.record.checks import inconsistencies
from gpu_bench.record.load import RecordError
from gpu_bench.record.store import RESULTS
from tests.gpu_bench.record.mutations import at, falsified_at, kind, places

COMMITTED = sorted(RESULTS.rglob("*.json"))


def _committed(part: str) -> Path:
    return next(file for file in COMMITTED if json.loads(file.read_text(encoding="utf-8")).get(part))


TIMED = _committed("summary")
"""A record of timed steps, of an earlier version."""
COMPARED = _committed("arms")
"""A record of compared runs. Nothing else in it determines its curves; its results follow from them."""
RAW: dict[str, tuple[str, ...]] = {
    "times and memory that a machine told, as long as they are possible there: only measuring again could tell": (
        "samples.step_s.*.*", "samples.warmup_s.*.*", "samples.warmup_s.*", "samples.warmup_settled.*",
        "compile.seconds.*", "compile.graphs.*", "compile.graphs_while_timed.*", "memory.held.activations",
        "memory.held.cast_weights", "memory.held.optimizer.step", "utilization.ceilings.*.flops_per_s",
        "utilization.ceilings.*.m", "course.points.*.validation_loss",
        "course.gradient_norms.*",
    ),
    "losses: each is what the model gave, within what guessing allows": (
        "loss.curve.*", "loss.same_in_all_repeats",
    ),
    "the machine's own story, of its device, its software and its load": (
        "device.memory", "provenance.*", "provenance.*.*", "provenance.*.*.*", "benchmark_version", "attention_ran",
    ),
    "the text, which the hash names": (
        "data.files", "data.sha256", "data.tokens", "data.bytes",
    ),
    "settings that leave no other trace; where the sources are those of this checkout, the case is held against it": (
        "case.*",
    ),
    "what an engine of another day said; one of this checkout is asked again": (
        "predicted.engine_version", "predicted.approximations", "predicted.approximations.*", "predicted.memory",
        "predicted.memory.*",
    ),
    "the folder, which the file's place is held against": ("suite",),
}  # fmt: skip
"""Why a change can go unnoticed -> the values where it can. A change of any other value in a record is refused."""
NEVER = {
    "not a number", "infinite", "negative", "nested", "control character", "half a character", "renamed", "year 2099",
    "no such day",
}  # fmt: skip
"""Changes that are refused at every place of a record."""


def _raw(where: str) -> bool:
    names = [names for some in RAW.values() for names in some]
    return any(re.fullmatch(re.escape(name).replace(r"\*", r"[^.]+"), where) for name in names)


def _faults(text: str) -> list[str]:
    try:
        record = load.parse(text.encode("utf-8", "surrogatepass"))
    except RecordError as error:
        return [str(error)]
    return load.schema_faults(record) or inconsistencies(record)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), fresh=st.booleans())
def test_only_facts_that_nothing_else_says_can_be_changed_unseen(
    record: dict[str, Any], data: st.DataObject, fresh: bool
) -> None:
    """A record of this checkout and one of an earlier version, falsified at any one place in any of many ways."""
    whole = record if fresh else json.loads(TIMED.read_text(encoding="utf-8"))
    for repeat in whole["provenance"]["repeats"]:
        # A field of version 2 that nothing reads any more.
        repeat.pop("gpu_samples", None)
    place = data.draw(st.sampled_from(sorted(places(whole), key=str)), label="place")
    ways = [way for way in falsified_at(whole, place) if json.loads(way[2]) != whole]
    name, _, text = data.draw(st.sampled_from(ways), label="way")
    where = kind(place)
    listed = where.startswith(("provenance.packages.", "provenance.environment."))
    if (name in NEVER and not listed) or not _raw(where):
        assert _faults(text), f"{name} at {where} was accepted"


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), factor=st.floats(1e-3, 1e3).filter(lambda one: abs(one - 1) > 1e-6))
def test_a_number_that_follows_from_others_cannot_be_any_other(
    record: dict[str, Any], data: st.DataObject, factor: float
) -> None:
    derived = [
        place
        for place in places(record)
        if place[0] in ("summary", "flops", "utilization", "energy", "cost", "model") and not _raw(kind(place))
        if type(at(record, place)) in (int, float) and at(record, place) != 0
    ]
    place = data.draw(st.sampled_from(derived))
    before = at(record, place)
    # Another whole number where there was one: a size a thousandth as large may round to the same.
    after = round(before * factor) if isinstance(before, int) else before * factor
    mutant = copy.deepcopy(record)
    at(mutant, place[:-1])[place[-1]] = after if after != before else before + 1
    assert _faults(json.dumps(mutant)), f"{kind(place)}: {before}, now {after}"


def test_a_share_above_one_is_refused_even_where_all_else_is_made_to_fit() -> None:
    record = load.upgraded(json.loads(TIMED.read_text(encoding="utf-8")))
    used = record["utilization"]
    used["matmul_ceiling"] = used["model_flops_per_s_causal"] / 2.87
    used["matmul_share"], used["matmul_share_causal"] = used["model_flops_per_s"] / used["matmul_ceiling"], 2.87
    assert any("no step is faster than its device" in fault for fault in inconsistencies(record))


def test_what_compared_runs_come_to_follows_from_their_curves() -> None:
    record = json.loads(COMPARED.read_text(encoding="utf-8"))
    verdict = [place for place in places(record) if kind(place).startswith("arms.verdict")]
    assert verdict
    for place in verdict:
        for name, _, text in falsified_at(record, place):
            assert json.loads(text) == record or _faults(text), f"{name} at {kind(place)} was accepted"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a": ' * 200_000, "nested too deeply"),
        (b'{"a": NaN}', "NaN is not a finite number"),
        (b'{"a": 1e999}', "inf is not a finite number"),
        (b'{"a": 1, "a": 2}', "given twice"),
        (b'{"a": "\\u001b[31m"}', "control character"),
        (b'{"a": "\\ud800"}', "control character"),
        (b"\xff\xfe", "not valid JSON"),
        (b"[]", "not a JSON object"),
        (b'{"a": ' + b"9" * 10_000 + b"}", "not valid JSON"),
        (b'{"schema_version": 2}', "a record of version 2 without"),
    ],
)
def test_whatever_is_wrong_with_a_file_is_one_line(text: bytes, line: str, tmp_path: Path) -> None:
    file = tmp_path / "suite" / "case--device.json"
    file.parent.mkdir()
    file.write_bytes(text)
    record, faults = load.read(file)
    assert record is None
    assert line in faults[0]
    assert len(faults) == 1
    assert "\n" not in faults[0]


def test_records_of_the_version_before_are_read_as_they_stand() -> None:
    for file in COMMITTED:
        record, faults = load.read(file)
        assert faults == []
        assert record is not None
        assert record["schema_version"] == 3
        before: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        assert {**record["case"], **before["case"]} == record["case"]
