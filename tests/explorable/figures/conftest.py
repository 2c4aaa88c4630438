"""A tiny site with a chapter: two pages, a bibliography, a glossary, a figure."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from mkdocs.exceptions import Abort

from tests.explorable.strict_build import build_strictly

ROOT = Path(__file__).resolve().parents[3]

FIGURE = """
from ironlaw import model
from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK

def draw():
    figure, axes = canvas(2)
    count = model("gpt2").parameters
    axes.bar(["MFU of GPT-2"], [count], color=INK["compute"])
    return Drawing(figure, f"One bar of {count:,} parameters.")
"""
WORKS = """
@article{kaplan2020scaling, author = {Kaplan, Jared and McCandlish, Sam and Henighan, Tom},
  title = {Scaling Laws for {N}eural Language Models}, year = {2020}, eprint = {2001.08361}}
@book{moore, author = {Moore, Gordon}, title = {Cramming}, year = {1965}, journal = {Electronics}, doi = {10.1/x}}
"""
GLOSSARY = (
    "# Glossary\n\nMFU\n:   Model FLOPs over *peak*, in a `second`.\n\nHFU\n:   The same of\n    hardware FLOPs.\n"
)
CONFIG = """site_name: Test
theme: {name: null, custom_dir: theme}
markdown_extensions: [abbr, attr_list, def_list, md_in_html, tables, smarty, pymdownx.superfences,
  {pymdownx.arithmatex: {generic: true}}]
validation: {links: {anchors: warn}}
nav: [chapter/one.md, chapter/two.md, chapter/glossary.md, index.md]
plugins: [{explorable: {book: tests.explorable.this_book, parts: [figures], figures: {engine: engine/ironlaw}}}]
"""


@dataclass
class Site:
    """The project in a temporary folder. What the build warns of is kept in `warnings`."""

    folder: Path
    warnings: list[str] = field(default_factory=list)

    def write(self, name: str, text: str) -> None:
        """Write a file of the docs folder."""
        file = self.folder / "docs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def build(self, page: str = "chapter/one") -> str:
        """Build strictly and return a page. Raises `Abort` when there are warnings."""
        build_strictly(self.folder, self.warnings)
        return (self.folder / "site" / page / "index.html").read_text("utf-8")

    def defects(self, text: str) -> list[str]:
        """The warnings of a build in which page one has this text."""
        self.write("chapter/one.md", text)
        with pytest.raises(Abort):
            self.build()
        return self.warnings


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A site whose pages are still almost empty."""
    (tmp_path / "mkdocs.yml").write_text(CONFIG, "utf-8")
    (tmp_path / "theme").mkdir()
    (tmp_path / "theme/main.html").write_text("{{ page.toc }}{{ page.content }}", "utf-8")
    shutil.copytree(ROOT / "engine", tmp_path / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    made = Site(tmp_path)
    made.write("index.md", "# Home\n")
    made.write("chapter/one.md", "# One\n")
    made.write("chapter/two.md", "# Two\n")
    made.write("chapter/glossary.md", GLOSSARY)
    made.write("chapter/references.bib", WORKS)
    made.write("chapter/figures/bar.py", FIGURE)
    return made
