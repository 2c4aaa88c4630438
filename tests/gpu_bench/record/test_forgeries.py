"""Forged records are refused: by Python alone where they are measured, and by pydantic and the JSON Schema at home."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

import jsonschema
import pydantic
import pytest

from gpu_bench.record import load, schema
from gpu_bench.record.store import RESULTS, SCHEMA_FILE
from tests.explorable.measured.made import document
from tests.gpu_bench.record.forgeries import FORGERIES, Record, forged

_MOST_PASS = 0.02
_IMAGINED = (
    ("gpt2-nano-fp32-adam", "nvidia-h200", 1e-3),
    ("gpt2-nano-fp32-momentum", "abacus-9000", 1e-3),
    ("gpt2-nano-amp-bf16-adam", "nvidia-h200", 1e-4),
)
"""Case, device, and about twice to four times the seconds that its products take."""


@cache
def _valid() -> tuple[str, ...]:
    """Texts of valid records: all that are committed, and some of imagined GPUs, known and unknown."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(RESULTS.rglob("*.json"))]
    return (
        *texts,
        *(json.dumps(document(case, seconds=seconds, device=device)) for case, device, seconds in _IMAGINED),
    )


def _records() -> list[Record]:
    return [json.loads(text) for text in _valid()]


def _claims_success(text: str) -> bool:
    """Whether a record is accepted, and as a result that nothing spoiled."""
    record, _ = load.checked(text.encode(), None)
    return record is not None and record["status"] == "ok"


def _count(count: int, seed: int) -> None:
    passed = Counter(forgery.claim for forgery, text in forged(_records(), count, seed) if _claims_success(text))
    share = sum(passed.values()) / count
    print(f"{share:.1%} of {count} forgeries pass: {dict(passed) or 'none'}")
    assert share <= _MOST_PASS
    assert {*passed} <= {forgery.claim for forgery in FORGERIES if forgery.passes}


def test_what_is_forged_is_valid_as_it_stands() -> None:
    assert [load.checked(text.encode(), None)[1] for text in _valid()] == [[] for _ in _valid()]


def test_of_200_forgeries_at_most_two_percent_pass() -> None:
    assert len(FORGERIES) >= 46
    _count(200, seed=24)


@pytest.mark.full
def test_of_2000_forgeries_at_most_two_percent_pass() -> None:
    _count(2000, seed=2026)


def _by_pydantic(text: str) -> bool:
    try:
        schema.adapter().validate_json(text, strict=True)
    except pydantic.ValidationError:
        return False
    return True


def test_the_machine_that_measures_and_home_judge_the_form_of_every_forgery_alike() -> None:
    """The machine has Python alone; at home pydantic reads the same annotations, and wrote the JSON Schema."""
    published: Any = jsonschema.Draft202012Validator(_without_derived(json.loads(SCHEMA_FILE.read_text("utf-8"))))
    texts = [*_valid(), *(text for _, text in forged(_records(), 2 * len(FORGERIES), seed=7))]
    for text in texts:
        alone = not load.form_faults(json.loads(text))
        assert alone == _by_pydantic(text), load.form_faults(json.loads(text))
        # What a class knows of its fields together, a schema cannot say.
        assert published.is_valid(json.loads(text)) or not alone


def _without_derived(value: Any) -> Any:
    """A schema without the properties that no file states."""
    if isinstance(value, list):
        return [_without_derived(one) for one in value]
    if not isinstance(value, dict):
        return value
    return {
        name: {key: _without_derived(one) for key, one in part.items() if not one.get("readOnly")}
        if name == "properties"
        else _without_derived(part)
        for name, part in value.items()
    }


def test_the_schema_in_the_repository_is_that_of_the_annotations() -> None:
    assert json.loads(SCHEMA_FILE.read_text(encoding="utf-8")) == schema.document()
