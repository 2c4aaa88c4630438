"""A library that imports what a page does not have: the build's own Python has it, so only its text can tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorable import book
from explorable.book import Book
from explorable.live.build.library_imports import LibraryImports

USES = "from hydro import peak"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a library of two modules, of which `__init__` imports one."""
    folder = tmp_path / "hydro"
    folder.mkdir()
    (folder / "__init__.py").write_text("from math import exp\nfrom .peak import peak\n")
    (folder / "peak.py").write_text("def peak():\n    return 1\n")
    (folder / "desktop.py").write_text("import tkinter, torch\n")
    monkeypatch.setattr(book, "_used", [Book(library=folder, later={"yaml": tmp_path / "yaml"})])
    return folder


def said(root: Path, packages: tuple[str, ...] | None, source: str = USES) -> list[str]:
    return [str(fault).partition(". ")[0] for fault in LibraryImports(root, packages).faults([source])]


@pytest.mark.parametrize(
    ("text", "snippet", "act"),
    [
        ("import numpy\n", 1, 1),
        ("import yaml.nodes, json, hydro\n", None, None),
        ("if TYPE_CHECKING:\n    import numpy\n", None, None),
        ("try:\n    import numpy\nexcept ImportError:\n    numpy = None\n", None, None),
        ("try:\n    import numpy\nexcept ValueError:\n    numpy = None\n", 2, 2),
        ("def drawn():\n    import subprocess\n    import numpy\n", 3, None),
        ("import pandas.core\n", None, 1),
    ],
)
def test_an_import_that_no_page_has_is_told_with_its_place(
    library: Path, text: str, snippet: int | None, act: int | None
) -> None:
    (library / "peak.py").write_text(text)
    module = "pandas.core" if "pandas" in text else "numpy"
    for packages, line in ((("pandas",), snippet), (None, act)):
        expected = [f"hydro/peak.py:{line}: it imports {module}"] if line else []
        assert said(library.parent, packages) == expected


def test_only_what_programs_reach_is_looked_at(library: Path) -> None:
    assert said(library.parent, (), "import json") == []
    assert said(library.parent, (), USES) == []
    faults = said(library.parent, (), "import hydro.desktop as d")
    assert faults == [f"hydro/desktop.py:1: it imports {name}" for name in ("tkinter", "torch")]
