"""The committed notebooks: text files without outputs, short enough to read, and free of what a page cannot show."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from explorable.notebooks.pages import LOCAL
from explorable.notebooks.source import read

DOCS = Path(__file__).parents[2] / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.py"))


def outputs(document: dict[str, list[dict[str, object]]]) -> list[object]:
    """Everything in a notebook's file that comes from a run: outputs and execution counts."""
    cells = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    return [found for cell in cells for found in (cell.get("outputs"), cell.get("execution_count")) if found]


def test_no_committed_notebook_has_outputs() -> None:
    assert len(NOTEBOOKS) == 3
    for path in DOCS.rglob("*.ipynb"):
        assert not outputs(json.loads(path.read_text("utf-8"))), path
    for path in NOTEBOOKS:
        assert not outputs(read(path).document), path


def test_an_output_is_found() -> None:
    run = {"cell_type": "code", "outputs": [{"output_type": "stream"}], "execution_count": 1}
    assert len(outputs({"cells": [run]})) == 2


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_short_and_every_cell_of_code_is_introduced(path: Path) -> None:
    cells = read(path).document["cells"]
    kinds = [cell["cell_type"] for cell in cells]
    assert 10 <= kinds.count("code") <= 20
    assert all(before == "markdown" for before, kind in pairwise(kinds) if kind == "code")
    assert all(len(line) < 80 for cell in cells if cell["cell_type"] == "code" for line in cell["source"].split("\n"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells_for_the_page_need_only_the_engine_and_the_standard_library(path: Path) -> None:
    source = read(path)
    here = [
        cell["source"]
        for cell in source.document["cells"]
        if cell["cell_type"] == "code" and LOCAL not in cell["metadata"].get("tags", ())
    ]
    needs_more = any(word in code for code in here for word in ("matplotlib", "IPython", "gpu_bench", "%" + "config"))
    assert source.runs_in_page is not needs_more
