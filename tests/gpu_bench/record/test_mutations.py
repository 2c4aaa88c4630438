"""Falsified records: what follows from anything else, or cannot be, is refused."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from gpu_bench.record import load
from gpu_bench.record.checks import inconsistencies
from gpu_bench.record.load import RecordError
from gpu_bench.record.store import RESULTS
from tests.gpu_bench.record.mutations import falsified, kind

COMMITTED = sorted(RESULTS.rglob("*.json"))
RAW = {
    "data.files", "data.sha256", "data.tokens", "data.bytes", "device.memory", "loss.curve.*",
    "loss.same_in_all_repeats", "memory.held.activations", "memory.held.cast_weights", "memory.peak_source",
    "memory.held.optimizer.step", "compile.seconds", "compile.seconds.*", "compile.graphs.*",
    "samples.step_s.*.*", "samples.warmup_s.*", "samples.warmup_s.*.*", "samples.warmup_settled.*",
    "benchmark_version", "suite", "attention_ran", "utilization.ceilings", "utilization.ceilings.*.flops_per_s",
    "utilization.ceilings.*.m", "utilization.ceilings.*.n", "utilization.ceilings.*.k",
    "case.value", "predicted.engine_version", "predicted.approximations", "predicted.approximations.*",
}  # fmt: skip
"""What nothing else in a record says: a change of these within what is possible can be told by measuring again only."""
RAW_BELOW = ("provenance.", "predicted.memory", "case.")
"""Where much is raw: the machine's own story; in records of an engine that has changed since, its prediction; settings
of a case that leave no other trace, such as its seed."""
NEVER = {
    "not a number", "infinite", "negative", "nested", "control character", "half a character", "renamed", "year 2099",
    "no such day",
}  # fmt: skip
"""What no place of a record takes."""


def _faults(text: str) -> list[str]:
    try:
        record = load.parse(text.encode("utf-8", "surrogatepass"))
    except RecordError as error:
        return [str(error)]
    return load.schema_faults(record) or inconsistencies(record)


def _sampled(file: Path, count: int) -> list[tuple[str, tuple[str | int, ...], str]]:
    record = load.upgraded(json.loads(file.read_text(encoding="utf-8")))
    found = [one for one in falsified(record) if json.loads(one[2]) != record]
    return random.Random(file.name).sample(found, count)


@pytest.mark.parametrize("file", COMMITTED[:2], ids=lambda file: file.stem)
def test_only_facts_that_nothing_else_says_can_be_changed_unseen(file: Path) -> None:
    for name, place, text in _sampled(file, 100):
        where = kind(place)
        if name not in NEVER and (where in RAW or where.startswith(RAW_BELOW)):
            continue
        assert _faults(text), f"{name} at {where} was accepted"


def test_a_share_above_one_is_refused_even_where_all_else_is_made_to_fit() -> None:
    record = load.upgraded(json.loads(COMMITTED[0].read_text(encoding="utf-8")))
    used = record["utilization"]
    used["matmul_ceiling"] = used["model_flops_per_s_causal"] / 2.87
    used["matmul_share"], used["matmul_share_causal"] = used["model_flops_per_s"] / used["matmul_ceiling"], 2.87
    assert any("no step is faster than its device" in fault for fault in inconsistencies(record))


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
