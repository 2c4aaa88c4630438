"""The text is the same every time, and cases refuse what cannot be measured."""

from __future__ import annotations

import ast
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import gpu_bench
from gpu_bench.cases.kinds import case_from_dict
from gpu_bench.cases.suites import SUITES, TINY, find_cases
from gpu_bench.machine.provenance import slugify
from gpu_bench.measure.data import draw_windows, read_corpus
from tests.gpu_bench.tiny import tiny_case


def test_text_is_python_source_and_the_same_every_time() -> None:
    first, second = read_corpus(2**18), read_corpus(2**18)
    assert first.sha256 == second.sha256
    assert len(first.tokens) == 2**18
    text = bytes(first.tokens.tolist()).decode("utf-8", "replace")
    assert "def " in text
    assert "import " in text


def test_windows_are_stretches_of_the_text_and_depend_on_the_seed_only() -> None:
    corpus = read_corpus(2**16)
    windows = draw_windows(corpus, count=2, batch=3, sequence=20, seed=5)
    assert windows.shape == (2, 3, 21)
    text = bytes(corpus.tokens.tolist())
    assert all(bytes(row.tolist()) in text for row in windows.view(-1, 21))
    assert torch.equal(windows, draw_windows(corpus, 2, 3, 20, seed=5))
    assert not torch.equal(windows, draw_windows(corpus, 2, 3, 20, seed=6))


def test_a_case_survives_its_own_json() -> None:
    for cases in (*SUITES.values(), *TINY.values()):
        for case in cases:
            again = case_from_dict(json.loads(json.dumps(case.as_dict())))
            assert again == replace(case, value=again.value, reason=again.reason, against="", check=False)


def test_case_names_are_unique_and_fit_a_file_name() -> None:
    names = [case.name for cases in SUITES.values() for case in cases]
    assert len(set(names)) == len(names)
    assert all(slugify(name) == name for name in names)


def test_smoke_suite_needs_no_gpu() -> None:
    assert {case.device for case in SUITES["smoke"]} == {"any"}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"precision": "fp4"}, "fp4.*allowed: fp32"),
        ({"batch": 0}, "batch: 0 is too small; allowed: 1 or more"),
        ({"optimizer": "x"}, "allowed: sgd"),
    ],
)
def test_impossible_case_is_refused(changes: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        tiny_case(**changes)


def test_unknown_field_of_a_case_is_named() -> None:
    with pytest.raises(ValueError, match="unknown field 'colour'"):
        case_from_dict({**tiny_case().as_dict(), "colour": "red"})


def test_unknown_case_name_says_which_may_be_meant() -> None:
    with pytest.raises(ValueError, match=r"did you mean gpt2-nano-fp32-adam\?"):
        find_cases("smoke", ("gpt2-nano-fp32-adm",))


def test_measuring_needs_only_pytorch_and_the_standard_library() -> None:
    # pydantic writes the schema and tqdm draws a bar; both are optional, and imported inside functions.
    allowed = set(sys.stdlib_module_names) | {"torch", "gpu_bench", "ironlaw"}
    for file in Path(gpu_bench.__file__).parent.rglob("*.py"):
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert {name.partition(".")[0] for name in names} <= allowed, file.name
