"""`explorable` knows no book: it imports none of this checkout's other packages, and names nothing of this book."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import explorable

PACKAGE = Path(explorable.__file__).parent
SOURCES = sorted(
    path
    for suffix in ("py", "ts", "mjs", "j2", "css", "js", "json", "txt")
    for path in PACKAGE.rglob(f"*.{suffix}")
    # Built files, tests, and texts of licenses.
    if not {"dist", "test", "licenses", "__pycache__", "pyodide"} & set(path.relative_to(PACKAGE).parts)
)
ELSEWHERE = {"book", "docs", "engine", "gpu_bench", "ironlaw", "plugins", "tests", "tools"}
"""The other packages and folders of this checkout, from its root."""
OF_THIS_BOOK = re.compile(
    r"iron.?law|gpu_bench|\bgpt-?2|h100|adamw|optimizer|docs/lab|lab/ledger|last-update|mean-update|dynamic-modes|"
    r"--il-(?:memory|compute|optimizer|data|activation)\b",
    re.IGNORECASE,
)
"""Its name, its measurements, its subject, its paths, its predictors, its colors."""
OF_ITS_FIELD = re.compile(
    r"\b(?:GPUs?|llama|loss|training)\b|(?<![A-Za-z])[kMGTPEZ]?FLOPs?\b|\btokens?(?:\?|/s)|\[token\]",
    re.IGNORECASE,
)
"""What models are trained on, and what counts them. Only `ceilings`, which measures cards, may say it."""


def imported(path: Path) -> Iterator[str]:
    """The top-level packages that a module imports, also inside of functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "explorable" if node.level else str(node.module).partition(".")[0]


@pytest.mark.parametrize("path", [path for path in SOURCES if path.suffix == ".py"], ids=lambda path: path.stem)
def test_no_module_imports_a_package_of_this_checkout(path: Path) -> None:
    assert not ELSEWHERE & set(imported(path))


def test_no_source_names_this_book() -> None:
    named = {
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()[:80]}"
        for path in SOURCES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if OF_THIS_BOOK.search(line)
    }
    assert not named


def test_no_source_knows_the_field_of_this_book() -> None:
    named = {
        f"{path.relative_to(PACKAGE)}:{number}: {line.strip()[:80]}"
        for path in SOURCES
        if "ceilings" not in path.relative_to(PACKAGE).as_posix()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if OF_ITS_FIELD.search(line)
    }
    assert not named


def test_the_search_sees_what_it_looks_for(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(
        "def late():\n    from gpu_bench.record import load\nfrom . import sibling\nimport tools.accuracy\n"
    )
    assert set(imported(module)) == {"gpu_bench", "explorable", "tools"}
    for line in ('const KEY = "iron-law/ledger/";', "stroke: var(--il-memory);", 'parents[3] / "docs/lab/ledger.json"'):
        assert OF_THIS_BOOK.search(line)
    for line in (
        'HEADING = "Waiting for a GPU"',
        "the loss diverged",
        "`Llama 2 70B`",
        "FLOPs?(?:/s)",
        "tokens?(?:/s)?",
    ):
        assert OF_ITS_FIELD.search(line)
    assert len(SOURCES) > 150
