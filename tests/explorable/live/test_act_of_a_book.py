"""The act that `explorable new act` writes, in a small book with a library, and what an author gets wrong there."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import explorable
from explorable.live import check
from explorable.live.runtime.acts import load
from explorable.live.runtime.exchange import mapping
from explorable.live.runtime.program import Program

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
    edit(tmp_path / "docs/acts/first/act.py", 'name="first-act"', 'name="first"')
    return tmp_path / "docs/acts/first"


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


def test_it_is_sound_and_keeps_the_prediction_on_the_chart(act: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([str(act)]) == 0, capsys.readouterr().err
    loaded = load("first", Program({"act.py": (act / "act.py").read_text().replace("import hydro\n", "")}))
    state = {"context": "account", "controls": {"rate": 2}, "prediction": 380, "revealed": False}
    view = mapping(loaded.compute(state))
    assert mapping(view["data"])["said"] == [{"year": 20, "worth": 380}]
    assert 'name="said"' in (act / "charts.py").read_text()


def test_a_package_that_no_page_has_is_told_where_the_library_imports_it(
    act: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (act.parents[2] / "hydro/__init__.py").write_text('"""Floods."""\nimport numpy\n')
    assert check.main([str(act)]) == 2
    assert capsys.readouterr().err.startswith("hydro/__init__.py:2: it imports numpy. In an act the library has ")


def test_a_field_that_no_row_ever_has_is_told_where_a_data_set_is_empty_at_first(
    act: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit(act / "charts.py", 'x="year:Q", y="worth:Q")', 'x="year:Q", y="wort:Q")')
    assert check.main([str(act)]) == 2
    said = "docs/acts/first/charts.py:6: no row has the field 'wort'; perhaps 'worth' is meant.\n"
    assert capsys.readouterr().err == said


def test_a_library_that_is_no_python_is_one_line_with_its_place(act: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = act.parents[2] / "hydro"
    (library / "__init__.py").write_text("from .peak import peak\n")
    (library / "peak.py").write_text("def peak():\n    return (1\n")
    assert check.main([str(act)]) == 2
    assert capsys.readouterr().err == "hydro/peak.py:2: SyntaxError: '(' was never closed.\n"


def test_an_error_says_where_all_controls_stood_and_its_place_once(
    act: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = "    if state.controls['rate'] == 6:\n        1 / 0\n    rate = float("
    edit(act / "act.py", "    rate = float(", broken)
    assert check.main([str(act)]) == 2
    said = "docs/acts/first/act.py:22: with rate = 6: compute: ZeroDivisionError: division by zero.\n"
    assert capsys.readouterr().err == said


def test_an_act_that_is_no_python_names_its_line_once(act: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edit(act / "act.py", "YEARS = 20", "YEARS = (20")
    assert check.main([str(act)]) == 2
    assert capsys.readouterr().err == "docs/acts/first/act.py:6: loading: SyntaxError: '(' was never closed.\n"
