"""The act that `explorable new act` writes, in a small book with a library, and what an author gets wrong there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import explorable
from explorable.live import check

FIRST = Path(explorable.__file__).parent / "first_act"


@pytest.fixture
def act(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The first act of a book whose library is `hydro`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hydro").mkdir()
    (tmp_path / "hydro/__init__.py").write_text("def peak():\n    return 1\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: x\nplugins: [{explorable: {library: hydro}}]\n")
    shutil.copytree(FIRST, tmp_path / "docs/acts/first", ignore=shutil.ignore_patterns("__pycache__"))
    edit(
        tmp_path / "docs/acts/first/act.py", "from explorable import live", "import hydro\nfrom explorable import live"
    )
    return tmp_path / "docs/acts/first"


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_a_package_that_no_page_has_is_told_where_the_library_imports_it(
    act: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (act.parents[2] / "hydro/__init__.py").write_text('"""Floods."""\nimport numpy\n')
    assert check.main([str(act)]) == 2
    assert capsys.readouterr().err.startswith("hydro/__init__.py:2: it imports numpy. In an act the library has ")
