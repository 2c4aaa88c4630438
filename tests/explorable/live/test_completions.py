"""Completion offers what can stand there, tells how a function is called, and runs nothing to find out."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorable.live.runtime import completions
from explorable.live.runtime.completions import MOST, complete
from explorable.live.runtime.snippets import reset_page, run_snippet

RAN = """\
import math
loud = []

class Thing:
    __slots__ = ("slot",)
    wide = 3
    def __init__(self):
        self.slot = math
    @property
    def costly(self):
        loud.append("ran")
        return math
    def grow(self, by=2):
        "Make it larger."

thing = Thing()
"""


@pytest.fixture(autouse=True)
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(completions, "OWN", ("ironlaw",))
    # Another test of this process may have imported it, and what is imported is looked into.
    for name in [one for one in sys.modules if one.partition(".")[0] == "torch"]:
        monkeypatch.delitem(sys.modules, name)
    run_snippet("page.md", "first", RAN, lambda text: None)
    yield
    reset_page("page.md")


def asked(source: str, at: int | None = None) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(complete("page.md", source, len(source) if at is None else at))
    return found


def labels(source: str) -> list[str]:
    return [one["label"] for one in asked(source)["options"]]


@pytest.mark.parametrize(
    ("source", "offered"),
    [
        ("thi", "thing"),
        ("thing.gr", "grow"),
        ("thing.slot.sq", "sqrt"),
        ("from ironlaw import mod", "model"),
        ("from ironlaw import GB, mod", "model"),
        ("from ironlaw import model\nmod", "model"),
        ("from ironlaw.memory import (tra", "training_memory"),
        ("import ironlaw as iron\niron.accel", "accelerator"),
        ("import mat", "math"),
        ("import ironlaw.mem", "memory"),
        ("pri", "print"),
        ("whi", "while"),
        ("def mine(longish):\n    return longi", "longish"),
        ("value = 3\nx = (valu", "value"),
        ("thing.cos", "costly"),
    ],
)
def test_a_name_that_fits_is_offered(source: str, offered: str) -> None:
    answer = asked(source)
    assert offered in labels(source)
    assert offered.startswith(source[answer["from"] :])


@pytest.mark.parametrize(
    "source", ["thing.costly.sq", "unknown.x", "1.", "f().sq", "(3 + 4).re", "import torch\ntorch.nn"]
)
def test_nothing_is_offered_that_only_running_the_code_would_tell(source: str) -> None:
    assert labels(source) == []
    assert run_snippet("page.md", "look", "loud", lambda text: None).startswith('{"result": "[]"')


def test_private_names_are_offered_to_whoever_asks_for_them() -> None:
    assert "__init__" not in labels("thing.")
    assert "__init__" in labels("thing.__in")


def test_each_kind_is_named() -> None:
    kinds = {one["label"]: one["kind"] for one in asked("")["options"]} | {
        one["label"]: one["kind"] for text in ("th", "Th", "thing.", "mat") for one in asked(text)["options"]
    }
    expected = {"thing": "name", "Thing": "class", "grow": "function", "costly": "property", "math": "module"}
    assert expected.items() <= kinds.items()
    assert len(asked("")["options"]) <= MOST


@pytest.mark.parametrize(
    ("source", "signature", "about"),
    [
        ("thing.grow(", "thing.grow(by=2)", "Make it larger."),
        ("x = [thing.grow(1, (2, 3), ", "thing.grow(by=2)", "Make it larger."),
        ('thing.grow("a) b(", ', "thing.grow(by=2)", "Make it larger."),
        ("def mine(a, b=2):\n    'Adds.'\nmine(1)\nmine(", "mine(a, b=2)", ""),
        ("def mine(a, b=2):\n    'Adds.'\nmine(1)", "mine(a, b=2)", "Adds."),
    ],
)
def test_the_call_around_a_place_is_told(source: str, signature: str, about: str) -> None:
    at = source.rindex("(1)") + 2 if source.endswith("(1)") else None
    assert asked(source, at)["call"] == {"signature": signature, "about": about}


@pytest.mark.parametrize("source", ["thing.grow()", "(1 + ", "if (", "nobody(", "# thing.grow(", "'thing.grow("])
def test_elsewhere_no_call_is_told(source: str) -> None:
    assert asked(source)["call"] is None


@given(st.text(alphabet="thing.slot()[]{}'\"#=, \n\\import from_1é", max_size=60), st.data())
def test_any_text_at_any_place_gets_an_answer(source: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(source)))
    assert 0 <= asked(source, at)["from"] <= at
