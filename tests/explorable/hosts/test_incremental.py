"""`mkdocs serve --dirty`: an edit rebuilds the pages that it can change, and no others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """site_name: Test
theme: {name: null, custom_dir: theme}
plugins: [{explorable: {book: tests.explorable.this_book, parts: [live, figures]}}]
markdown_extensions: [abbr, attr_list, def_list, md_in_html, tables, pymdownx.superfences, pymdownx.blocks.caption]
watch: [theme, watched]
"""
ACT = """
from explorable.live import *

ACT = Act(
    "tiny-act", "The tiny act", 3, "Words.", (Context("node", "Node", "80 GB"),), None,
    (Choice("copies", "Copies", (ControlOption(1, "1"), ControlOption(2, "2")), 1),),
    lambda state: View({}, Figure("Sum", "6", "GB"), "6 GB.", {}), None, {},
)
"""
FIGURE = """
from explorable.figures.drawing import Drawing, canvas

def draw():
    figure, axes = canvas(2)
    axes.bar(["a"], [1])
    return Drawing(figure, "One bar.")
"""
MOVING = (
    FIGURE.replace("draw():", "draw(high):")
    + """
from explorable.figures.moving import Control

CONTROLS = (Control("high", "Height", (1, 2), ("one", "two"), 1),)
"""
)
PAGES = {
    "index.md": "# Home\n\nWords.\n",
    "lab/act.md": "# Act\n\n/// act | tiny-act\n///\n",
    "lab/class.md": '# Class\n\n<live-class data-acts=""></live-class>\n',
    "chapter/one.md": "# One\n\nSee `{ref} tab-sizes` and the MFU.\n\n/// figure | bar\nA bar.\n///\n",
    "chapter/two.md": "# Two\n\n/// table | sizes\nSizes.\n\n| a | b |\n|---|---|\n| c | d |\n///\n",
    "chapter/three.md": "# Three\n\n> /// instrument | dot\n> ///\n",
    "chapter/four.md": "# Four\n\n/// figure | line\nA line.\n///\n",
    "chapter/glossary.md": "# Glossary\n\nMFU\n:   A share.\n",
    "reference/rules.md": "# Rules\n\n::: watched.rules\n",
    "reference/room.md": "# Room\n\n::: watched.room.words\n",
    "reference/other.md": "# Other\n\n::: elsewhere.words\n",
}
WATCHED = {"../watched/rules.py": "", "../watched/room/words.py": "", "../watched/room/more.py": ""}
COMPUTED = {"lab/act", "lab/class", "chapter/one", "chapter/two", "chapter/three", "chapter/four", "reference/other"}
"""Pages that show what is computed, or that may do so."""
SEEN = "<!-- there before the edit -->"


class Server:
    """The builds of one `mkdocs serve --dirty`, without its network."""

    def __init__(self, folder: Path, sources: dict[str, str]) -> None:
        self.folder = folder
        for name, text in sources.items():
            self.write(name, text)
        config = load_config(str(folder / "mkdocs.yml"))
        config.plugins.on_startup(command="serve", dirty=True)
        build(config, dirty=True)

    def write(self, name: str, text: str) -> None:
        """Write a file of the docs folder."""
        file = self.folder / "docs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def append(self, name: str, text: str) -> None:
        """Add to a file of the docs folder."""
        self.write(name, (self.folder / "docs" / name).read_text("utf-8") + text)

    def rebuilt(self) -> set[str]:
        """Build once more; the pages that were written."""
        html = list((self.folder / "site").rglob("*.html"))
        for page in html:
            page.write_text(page.read_text("utf-8") + SEEN, "utf-8")
        build(load_config(str(self.folder / "mkdocs.yml")), dirty=True)
        fresh = [page for page in (self.folder / "site").rglob("*.html") if SEEN not in page.read_text("utf-8")]
        return {page.relative_to(self.folder / "site").parent.as_posix() for page in fresh}

    def pages(self) -> set[str]:
        """Every page of the site."""
        site = self.folder / "site"
        return {page.relative_to(site).parent.as_posix() for page in site.rglob("*.html")}


ALL = None
"""Stands for the set of all pages of the site."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for all tests. Each test begins with a complete site and edits a file that no other test edits."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "mkdocs.yml").write_text(CONFIG)
    (folder / "theme").mkdir()
    (folder / "theme/main.html").write_text("{{ page.title }} {{ page.content }} {{ config.extra_javascript }}")
    drawn = {"bar": FIGURE, "line": FIGURE, "dot": MOVING}
    figures = {f"chapter/figures/{name}.py": text for name, text in drawn.items()}
    yield Server(folder, {**PAGES, **figures, **WATCHED, "acts/tiny_act/act.py": ACT})
    # The hooks keep their state in this process; this makes the next build a complete one again.
    load_config(str(folder / "mkdocs.yml")).plugins.on_startup(command="build", dirty=False)


def test_without_an_edit_nothing_is_built(server: Server) -> None:
    assert server.rebuilt() == set()


def test_prose_rebuilds_its_page(server: Server) -> None:
    server.append("chapter/one.md", "\nMore words.\n")
    assert server.rebuilt() == {"chapter/one"}
    assert "More words." in (server.folder / "site/chapter/one/index.html").read_text()


@pytest.mark.parametrize(
    ("edit", "pages"),
    [
        pytest.param(
            lambda site: site.append("acts/tiny_act/act.py", "# Edited.\n"), {"lab/act", "lab/class"}, id="act"
        ),
        pytest.param(lambda site: site.append("chapter/figures/bar.py", "# Edited.\n"), {"chapter/one"}, id="figure"),
        pytest.param(
            lambda site: site.append("chapter/figures/dot.py", "# Edited.\n"), {"chapter/three"}, id="instrument"
        ),
        pytest.param(
            lambda site: site.append("../watched/rules.py", "# Edited.\n"),
            COMPUTED | {"reference/rules"},
            id="module at the top",
        ),
        pytest.param(
            lambda site: site.append("../watched/room/more.py", "# Edited.\n"),
            COMPUTED | {"reference/rules", "reference/room"},
            id="module beside the one that a page describes",
        ),
        pytest.param(
            lambda site: site.append("chapter/two.md", "\n/// table | more\nMore.\n\n| a |\n|---|\n| b |\n///\n"),
            ALL,
            id="table",
        ),
        pytest.param(lambda site: site.append("chapter/glossary.md", "\nHFU\n:   Another.\n"), ALL, id="term"),
        pytest.param(lambda site: site.write("claims/some.toml", 'some = "data"\n'), ALL, id="data"),
        pytest.param(lambda site: site.write("../theme/css/site.css", "a {}\n"), set(), id="style in a watched folder"),
        pytest.param(lambda site: site.append("../theme/main.html", " "), ALL, id="template"),
        pytest.param(lambda site: site.write("new.md", "# New\n"), {"new"}, id="new page"),
    ],
)
def test_an_edit_rebuilds_what_shows_it(server: Server, edit: Callable[[Server], None], pages: set[str] | None) -> None:
    edit(server)
    assert server.rebuilt() == (server.pages() if pages is ALL else pages)


def test_an_act_keeps_its_home_when_only_one_of_its_pages_is_rebuilt(server: Server) -> None:
    server.append("index.md", "\n/// act | tiny-act\n///\n")
    server.rebuilt()
    server.append("index.md", "\nMore words.\n")
    assert server.rebuilt() == {"."}
    assert "lab/act/" in (server.folder / "site/index.html").read_text()


def test_what_a_failed_build_did_not_write_is_written_by_the_next(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.append("index.md", "\nMore words.\n")
    with monkeypatch.context() as broken:
        broken.setattr("mkdocs.structure.pages.Page.render", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            server.rebuilt()
    assert server.rebuilt() == {"."}


def test_a_page_that_is_not_rebuilt_names_the_release_that_is_served_now(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.rebuilt()
    before = {page: (server.folder / "site" / page / "index.html").read_text() for page in server.pages()}
    monkeypatch.setattr("explorable.live.build.assets.PATIENCE_S", 21)
    assert server.rebuilt() == set()
    entry = re.compile(r"live-[0-9a-f]{12}\.js")
    (old,) = {name for text in before.values() for name in entry.findall(text)}
    for page in before:
        now = set(entry.findall((server.folder / "site" / page / "index.html").read_text()))
        assert len(now) == 1
        assert now != {old}
        assert (server.folder / "site/assets/live" / now.pop()).is_file()
