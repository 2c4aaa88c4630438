"""The chapter as a whole: every figure is shown, every picture's text is its own, and every work is cited."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from plugins.book.bibliography import load
from plugins.book.child import respond
from plugins.book.glossary import definitions
from plugins.book.labels import Labels
from plugins.shared.fences import without_fences
from plugins.shared.svg import INK

ROOT = Path(__file__).parents[2]
CHAPTER = ROOT / "docs/chapter"
PAGES = {path.name: path.read_text("utf-8") for path in sorted(CHAPTER.glob("*.md"))}
FIGURES = sorted((CHAPTER / "figures").glob("*.py"))
TEXT = "\n".join(without_fences(text) for text in PAGES.values())
UNREFERENCED = {"eq-per-token", "tab-layer-products"}
"""Numbered things that no text refers to, because each stands directly under the sentence that announces it."""


def drawn(path: Path) -> dict[str, str]:
    answer = respond({"figure": str(path), "engine": str(ROOT / "engine")})
    assert "error" not in answer, answer
    return answer


def test_every_figure_is_shown_once() -> None:
    docs = CHAPTER.parent
    pages = [docs / "index.md", *docs.glob("missions/*.md"), *docs.glob("acts/**/*.md")]
    others = "".join(page.read_text("utf-8") for page in pages)
    shown = re.findall(r"^/// (?:figure|instrument) \| ([\w-]+)$", TEXT + others, re.MULTILINE)
    assert sorted(name.replace("-", "_") for name in shown) == [path.stem for path in FIGURES]


def test_the_text_refers_to_every_numbered_thing() -> None:
    named = set(re.findall(r"`\{ref\} ([\w-]+)`", TEXT))
    assert set(Labels.of(PAGES.items()).targets) - named <= UNREFERENCED


def test_every_work_of_the_bibliography_is_cited() -> None:
    cited = {key.strip() for keys in re.findall(r"`\{cite\} ([^`]+)`", TEXT) for key in keys.split(",")}
    assert cited == set(load(CHAPTER / "references.bib"))


def test_every_term_of_the_glossary_is_defined_in_a_sentence() -> None:
    terms = definitions(PAGES["glossary.md"])
    assert len(terms) == PAGES["glossary.md"].count("\n:   ")
    assert all(text.endswith(".") for text in terms.values())


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
@pytest.mark.sampled(4)
def test_a_figure_says_in_words_what_it_shows_in_the_colors_of_the_site_and_is_drawn_the_same_twice(path: Path) -> None:
    first = drawn(path)
    assert len(first["alternative"].split()) >= 15
    assert first["alternative"].endswith(".")
    assert drawn(path) == first
    colors = {color.lower() for color in re.findall(r"(?:fill|stroke)(?:: |=\")(#[0-9a-fA-F]{6})", first["svg"])}
    assert colors <= set(INK.values()), colors - set(INK.values())
