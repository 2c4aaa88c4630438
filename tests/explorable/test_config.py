"""A configuration is read as site generators read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorable.cli import main
from explorable.config import Configuration, Heading, of

YAML = """site_url: !ENV [NO_SUCH, SITE_URL, "http://x/"]
nav: [index.md, {Book: [{One: one.md}, {Parts: [two.md]}]}, {Elsewhere: "https://example.org/"}]
plugins: [search, {explorable: {id: q}}]
markdown_extensions: [admonition, {pymdownx.x: {slugify: !!python/name:os.path.join }}]
use_directory_urls: false
"""
TOML = """[project]
nav = ["index.md", {Book = [{One = "one.md"}, {Parts = ["two.md"]}]}, {Elsewhere = "https://example.org/"}]
site_url = "http://set/"
use_directory_urls = false
[project.plugins.explorable]
id = "q"
[project.markdown_extensions.admonition]
[project.markdown_extensions."pymdownx.x"]
"""


@pytest.mark.parametrize(("name", "text"), [("mkdocs.yml", YAML), ("zensical.toml", TOML)])
def test_both_forms_say_the_same(name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SITE_URL", "http://set/")
    (tmp_path / name).write_text(text)
    found = of(tmp_path)
    assert found
    assert (found.text("site_url"), found.folders, found.docs) == ("http://set/", False, tmp_path / "docs")
    assert found.options == {"id": "q"}
    assert list(found.extensions) == ["toc", "tables", "admonition", "pymdownx.x"]
    assert found.headings == [
        Heading("index.md", "", ""),
        Heading("one.md", "One", "Book"),
        Heading("two.md", "", "Book"),
    ]


def test_one_file_may_build_on_another(tmp_path: Path) -> None:
    (tmp_path / "base.yml").write_text("site_name: x\nextra: {a: 1, b: 2}\n")
    (tmp_path / "mkdocs.yml").write_text("INHERIT: base.yml\nextra: {b: 3}\n")
    found = Configuration(tmp_path / "mkdocs.yml")
    assert (found.text("site_name"), found.extra) == ("x", {"a": 1, "b": 3})


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("INHERIT: mkdocs.yml", "INHERIT: mkdocs.yml inherits from itself"),
        ("INHERIT: 5", "INHERIT: 5 is not allowed; allowed: a path"),
        ("plugins: 3", "plugins: 3 is not allowed; allowed: a list or names with values"),
        ("plugins: [{explorable: 5}]", "the options of explorable: 5 is not allowed"),
        ("plugins: [{explorable: {1: 1}}]", "an option of explorable is named 1"),
        ("a: !ENV []", "!ENV [] names no variable"),
        ("extra: 5", "extra: 5 is not allowed; allowed: names with values"),
        ("nav: 5", "nav: 5 is not allowed; allowed: a list"),
        ("nav: [[[1]]]", "nav: 1 is not allowed; allowed: a list"),
        ("nav: &n [*n]", "lie too deep, or hold themselves"),
        ("a: " + "[" * 3000, "lie too deep, or hold themselves"),
        ('docs_dir: "\\0"', "a text has a zero byte"),
        ("docs_dir: nowhere", "nowhere is no folder"),
    ],
)
def test_a_wrong_entry_is_told_in_a_line(
    line: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mkdocs.yml"
    file.write_text(f"site_name: x\n{line}\n")
    assert main(["prepare", "--config-file", str(file)]) == 2
    said = capsys.readouterr().err
    assert told in said
    assert said.startswith(f"{file}: ")
    assert said.count("\n") == 1


@pytest.mark.parametrize("acts", ["../acts", "", ".", "/tmp/acts", "acts/../.."])
def test_acts_lie_inside_the_docs_folder(acts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is not published is taken out of the site, and must be nothing else."""
    (tmp_path / "docs").mkdir()
    file = tmp_path / "mkdocs.yml"
    file.write_text(
        f'site_name: x\nplugins: [{{explorable: {{acts: "{acts}"}}}}]\nmarkdown_extensions: [explorable.prepared]\n'
    )
    assert main(["prepare", "--config-file", str(file)]) == 2
    told = capsys.readouterr().err
    assert f"'acts': {acts!r} is not allowed; it must be a folder inside the docs folder" in told
    assert told.count("\n") == 1


def test_a_ledger_that_is_no_json_is_told_with_its_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/index.md").write_text("# x\n")
    (tmp_path / "ledger.json").write_text('{"title": "x",}')
    file = tmp_path / "mkdocs.yml"
    file.write_text(
        "site_name: x\nplugins: [{explorable: {ledger: ledger.json}}]\nmarkdown_extensions: [explorable.prepared]\n"
    )
    assert main(["prepare", "--config-file", str(file)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"{tmp_path / 'ledger.json'}: ")
    assert told.count("\n") == 1


def test_an_empty_entry_of_the_navigation_has_no_page(tmp_path: Path) -> None:
    (tmp_path / "mkdocs.yml").write_text("nav: [{Later: }, index.md]\n")
    assert [one.source for one in Configuration(tmp_path / "mkdocs.yml").headings] == ["index.md"]
