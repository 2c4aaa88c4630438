"""Forged records are refused: by Python alone where they are measured, and by pydantic and the JSON Schema at home."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import jsonschema
import pydantic
import pytest

from gpu_bench.record import load, schema
from gpu_bench.record.store import RESULTS, SCHEMA_FILE
from tests.conftest import FULL, SUMMARY
from tests.explorable.measured.made import document
from tests.gpu_bench.record.forgeries import FORGERIES, Record, forged

_MOST_PASS = 0.02
_FEW, _MANY = (200, 24), (2000, 2026)
"""How many forgeries a run has, and their seed: of every change, and in full."""
_IMAGINED = (
    ("gpt2-nano-fp32-adam", "nvidia-h200", 1e-3),
    ("gpt2-nano-fp32-momentum", "abacus-9000", 1e-3),
    ("gpt2-nano-amp-bf16-adam", "nvidia-h200", 1e-4),
)
"""Case, device, and about twice to four times the seconds that its products take."""


@cache
def _valid() -> tuple[str, ...]:
    """Texts of valid records: all that are committed, as today's, and some of imagined GPUs, known and unknown."""
    return (
        *(json.dumps(load.parse(file.read_bytes())) for file in sorted(RESULTS.rglob("*.json"))),
        *(json.dumps(document(case, seconds=seconds, device=device)) for case, device, seconds in _IMAGINED),
    )


def _records() -> list[Record]:
    return [json.loads(text) for text in _valid()]


def _claims_success(text: str) -> bool:
    """Whether a record is accepted, and as a result that nothing spoiled."""
    record, _ = load.checked(text.encode(), None)
    return record is not None and record["status"] == "ok"


def _count(count: int, seed: int, record_property: Callable[[str, object], None]) -> None:
    passed = Counter(forgery.claim for forgery, text in forged(_records(), count, seed) if _claims_success(text))
    share = sum(passed.values()) / count
    which = "; ".join(f"{claim} ({times})" for claim, times in passed.most_common())
    record_property(SUMMARY, f"of {count} forged records {share:.1%} pass as measured: {which or 'none'}")
    assert share <= _MOST_PASS
    assert {*passed} <= {forgery.claim for forgery in FORGERIES if forgery.passes}


def test_what_is_forged_is_valid_as_it_stands() -> None:
    assert [load.checked(text.encode(), None)[1] for text in _valid()] == [[] for _ in _valid()]


def test_of_200_forgeries_at_most_two_percent_pass(record_property: Callable[[str, object], None]) -> None:
    assert len(FORGERIES) >= 58
    _count(*_FEW, record_property)


@pytest.mark.full
def test_of_2000_forgeries_at_most_two_percent_pass(record_property: Callable[[str, object], None]) -> None:
    _count(*_MANY, record_property)


def _by_pydantic(text: str) -> bool:
    try:
        schema.adapter().validate_json(text, strict=True)
    except pydantic.ValidationError:
        return False
    return True


def test_the_machine_that_measures_and_home_judge_the_form_of_every_forgery_alike() -> None:
    """The machine has Python alone; at home pydantic reads the same annotations, and wrote the JSON Schema."""
    published: Any = jsonschema.Draft202012Validator(_without_derived(json.loads(SCHEMA_FILE.read_text("utf-8"))))
    compared = Counter[bool]()
    valid = _valid() if FULL else _valid()[::4]
    # Older records lack fields.
    older = (file.read_text(encoding="utf-8") for file in sorted(RESULTS.rglob("*.json"))[:: 1 if FULL else 5])
    texts = itertools.chain(valid, older, (text for _, text in forged(_records(), *(_MANY if FULL else _FEW))))
    for at, text in enumerate(texts):
        document = json.loads(text)
        faults = load.form_faults(document)
        assert (not faults) == _by_pydantic(text), faults
        # What a class knows of its fields together, a schema cannot say. It takes a tenth of a second.
        assert faults or (at % 5 and not FULL) or published.is_valid(document)
        compared[bool(faults)] += 1
    assert min(compared.values()) > 10, "both verdicts occur"


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
