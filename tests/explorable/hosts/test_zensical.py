"""A book under Zensical: prepared, built by Zensical itself, finished."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from explorable.cli import main
from explorable.live import part
from tests.explorable.strict_build import browser_code, share_bytecode

CONFIG = """site_name: Tiny
plugins: [search, {explorable: {id: tiny, acts: hidden, parts: [live, figures]}}]
nav: [{Start: index.md}, {More: [plain.md]}]
markdown_extensions: [admonition, explorable.prepared]
"""
PAGE = """---
title: The start
---
# First steps

[Plain](plain.md)

## The second step

```live name="read" files="data.txt"
open("data.txt").read()
```
"""


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A book's folder, in which the test stands."""
    monkeypatch.setattr(part, "DIST", browser_code(tmp_path / "dist"))
    made = tmp_path / "book"
    files = {"index.md": PAGE, "data.txt": "forty-two", "plain.md": "# Plain\n", "hidden/note.md": "# Not published\n"}
    for name, text in files.items():
        (made / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (made / "docs" / name).write_text(text)
    (made / "mkdocs.yml").write_text(CONFIG)
    share_bytecode(made / ".cache/live")
    monkeypatch.chdir(made)
    return made


def zensical() -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def built() -> None:
    """Prepare the book, and let Zensical build it."""
    assert main(["prepare"]) == 0
    done = zensical()
    assert done.returncode == 0, done.stderr


def contents(site: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in site.rglob("*") if path.is_file()}


def test_its_pages_show_what_was_computed_and_load_what_makes_them_live(book: Path) -> None:
    (book / "docs/rules.md").write_text('# Rules\n\n---\n\nBetween.\n\n---\n\n```live name="below"\n1\n```\n')
    built()
    assert main(["finish", "site"]) == 0
    page = (book / "site/index.html").read_text("utf-8")
    assert re.search(r"<live-snippet.*&#39;forty-two&#39;.*</live-snippet>", page, re.DOTALL)
    assert '<a href="plain/">Plain</a>' in page, "Zensical leads prepared links to their pages too"
    assert 'href="#the-second-step"' in page, "the table of contents is the prepared one"
    for name in ("index.html", "plain/index.html"):
        text = (book / "site" / name).read_text("utf-8")
        loaded = re.findall(r'(?:src|href)="((?:\.\./)?assets/(?:live|book)/[^"]*)"', text)
        assert len(loaded) == 3, loaded
        assert all((book / "site" / name).parent.joinpath(uri).is_file() for uri in loaded)
    [data] = re.findall(r"assets/live/files/data-\w+\.txt", page)
    assert (book / "site" / data).read_text() == "forty-two"
    assert not (book / "site/hidden").exists(), "what acts are made of is no part of the site"
    assert "plain/index.html" in json.loads((book / "site/offline.json").read_text())["files"]
    assert "Between." in (book / "site/rules/index.html").read_text(), "what stands between rules is no front matter"
    before = contents(book / "site")
    assert main(["finish", "site"]) == 0
    assert contents(book / "site") == before


@pytest.mark.full
def test_a_page_that_changed_or_is_new_stops_the_build_until_it_is_prepared(book: Path) -> None:
    built()
    (book / "docs/plain.md").write_text("# Plain\n\nText alone needs no preparing.\n")
    assert zensical().returncode == 0
    (book / "docs/index.md").write_text(PAGE + "\nMore.\n")
    assert "index.md: the page has changed since it was prepared; run `python -m" in zensical().stderr
    built()
    (book / "docs/new.md").write_text('```live name="one"\n1\n```\n')
    assert "new.md: the page was not prepared; run `python -m" in zensical().stderr
    built()


@pytest.mark.full
def test_a_page_that_zensical_kept_from_an_earlier_state_is_told(
    book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    built()
    (book / "docs/data.txt").write_text("forty-three")
    built()
    assert main(["finish", "site"]) == 1
    assert "docs/index.md: the site has another state of this page" in capsys.readouterr().err
    (book / "mkdocs.yml").write_text(CONFIG + "watch: [.cache/explorable/manifest.json]\n")
    built()
    assert main(["finish", "site"]) == 0
    (book / "docs/data.txt").write_text("forty-four")
    built()
    assert main(["finish", "site"]) == 0
    assert "forty-four" in (book / "site/index.html").read_text("utf-8")


def test_what_is_prepared_again_is_dated_in_a_later_second(book: Path) -> None:
    """Zensical compares seconds: on a quick machine it kept a page from before an edit."""
    dates = []
    for text in ("one", "two", "three"):
        (book / "docs/data.txt").write_text(text)
        assert main(["prepare"]) == 0
        dates.append(int((book / ".cache/explorable/manifest.json").stat().st_mtime))
    assert dates[0] < dates[1] < dates[2]


def test_a_fault_of_a_page_is_told_with_its_line(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (book / "docs/index.md").write_text(PAGE + '\n```live name="wrong"\n1 / 0\n```\n')
    assert main(["prepare"]) == 1
    assert "docs/index.md:15: snippet 'wrong' fails: ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (None, "here is no zensical.toml and no mkdocs.yml"),
        ("site_name: x\n", "'explorable' is not among the plugins"),
        ("plugins: [explorable]\n", "'explorable.prepared' is not among the markdown_extensions"),
        (
            "plugins: [{explorable: {idd: x}}]\nmarkdown_extensions: [explorable.prepared]\n",
            "idd is unknown; perhaps 'id' is meant",
        ),
        ("- a\n- b\n", "it must consist of names and values"),
        ("plugins: [\n", "mkdocs.yml: while parsing"),
        (
            CONFIG.replace("parts: [live, figures]", "notebooks: {folder: notebooks}"),
            "mkdocs.yml: notebooks: Zensical makes pages of Markdown alone; leave them out",
        ),
        (CONFIG.replace("admonition", "no_such"), "markdown_extensions: No module named 'no_such'"),
    ],
)
def test_what_cannot_be_prepared_is_one_line(
    config: str | None, said: str, book: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (book / "mkdocs.yml").unlink()
    if config:
        (book / "mkdocs.yml").write_text(config)
    assert main(["prepare"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
