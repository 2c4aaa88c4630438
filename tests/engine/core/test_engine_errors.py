"""Errors: data that every reader gets in their own words, in one line; and numbers as Python's own."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from ironlaw import estimate, job_time, setup
from ironlaw.core.arrays import whole_numbers
from ironlaw.core.errors import LARGEST, LONGEST_VALUE, MISSING, EngineError, Instead, closest, show, whole_number
from ironlaw.models.config_json import from_config, published
from tests.engine.bad_input import BAD_INPUT, BadInput


class _Speechless:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "value",
    ["x" * 1000, 10**400, 10**5000, np.arange(9000), "a\nb", _Speechless()],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_shown_in_one_short_line(value: Any) -> None:
    text = show(value)
    assert "\n" not in text
    assert 0 < len(text) <= LONGEST_VALUE


def test_the_nearest_name_is_proposed_and_none_where_none_is_near() -> None:
    assert closest("btch", ("batch", "dropout")) == ", did you mean batch?"
    assert closest("seq", ("sequence", "sequence_parallel")) == ", did you mean sequence?"
    assert closest("zzz", ("batch", "dropout")) == ""
    assert str(EngineError("link", 3, ("a", "b"))) == "link 3 is unknown; allowed: a, b"


@pytest.mark.parametrize("kind", [int, np.int8, np.int64, np.uint16, np.array])
def test_whole_numbers_become_pythons(kind: Any) -> None:
    assert type(whole_number("batch", kind(3))) is int
    assert type(whole_numbers("batch", kind(3))) is int


@pytest.mark.parametrize("value", [True, np.bool_(True), 3.0, "3", None, 0, LARGEST + 1, np.array([3, 4])])
def test_what_is_no_whole_number_in_range_is_refused(value: Any) -> None:
    with pytest.raises(EngineError, match=r"^batch .* is not allowed; it must be a whole number of at"):
        whole_number("batch", value)


def test_arrays_are_widened() -> None:
    assert whole_numbers("batch", np.array([1, 2], dtype=np.int16)).dtype == np.int64


@pytest.mark.parametrize("bad", BAD_INPUT, ids=lambda bad: bad.options)
def test_an_error_names_the_words_of_its_caller(bad: BadInput) -> None:
    for ask in (setup, estimate, job_time):
        with pytest.raises(EngineError) as error:
            ask(bad.model, **bad.words)
        bad.raised(error.value)


def test_an_error_is_worded_from_its_data() -> None:
    """The four verdicts: a value that other arguments exclude, one out of range, an unknown name, and none at all."""
    others = ({"dp": 1, "gpu": "orin"}, "which keeps nothing")
    excluded = EngineError("zero", 3, (0, Instead("dp", "of at least 2"), Instead("gpu", "with links")), *others)
    assert str(excluded) == (
        "zero 3 is not allowed with dp 1 and gpu orin, which keeps nothing; "
        "allowed: 0, or dp of at least 2, or gpu with links"
    )
    assert str(EngineError("batch", 0, "at least 1")) == "batch 0 is not allowed; it must be at least 1"
    names = ("full", "chunked:K with K at least 1")
    assert str(EngineError("loss", "ful", names)).startswith("loss 'ful' is unknown, did you mean full?; allowed:")
    assert "did you mean" not in str(EngineError("loss", "chunked", names))
    assert str(EngineError("link", MISSING, ("a",), {"gpu": "orin"})) == "link is missing with gpu orin; allowed: a"


def test_an_error_renamed_is_the_same_but_for_the_names() -> None:
    error = EngineError("data", 0, (1, Instead("tensor", "of 2")), {"pipeline": 2, "zero": 1}, "which is so")
    renamed = error.named({"data": "dp", "tensor": "tp", "pipeline": "pp"})
    assert renamed.args == ("dp", 0, (1, Instead("tp", "of 2")), {"pp": 2, "zero": 1}, "which is so")
    assert EngineError("data", 0, "1").named({"data": "dp"}).args == ("dp", 0, "1", {}, "")


def test_an_error_can_be_copied_and_sent_to_another_process() -> None:
    error = EngineError("zero", 1, (0, Instead("dp", "of at least 2")), {"dp": 1}, "which divides nothing")
    for other in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (type(other), other.args, str(other)) == (EngineError, error.args, str(error))
        assert (other.what, other.value, other.allowed, other.beside) == ("zero", 1, error.allowed, {"dp": 1})


@pytest.mark.parametrize("key", ["\x1b]0;PWN\x07\nfoo", "a\u202eb", "k" * 900_000, "none\n\nAll fits: 12 GB of 80 GB."])
def test_a_strangers_key_stands_in_an_error_as_a_value_does(key: str) -> None:
    """In one line, cut, and without what turns a terminal or the direction of a line; an engine's own stays."""
    config = {**published()["Qwen/Qwen2.5-7B"]["config"], key: 5}
    with pytest.raises(EngineError) as error:
        from_config(config)
    for one in (error.value, error.value.named({}), EngineError("text", 1, (key,), {"model": key})):
        assert str(one).isprintable()
        assert len(str(one)) < 300
    assert error.value.what == show(key)
    assert EngineError("lora_targets", 5, "absent").what == "lora_targets"
