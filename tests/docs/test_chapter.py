"""The chapter as a whole: every figure is shown, every picture's text is its own, and every work is cited."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, fromstring

import pytest

from explorable.figures.bibliography import load
from explorable.figures.child import respond
from explorable.figures.contents import minutes, words
from explorable.figures.glossary import definitions
from explorable.figures.labels import Labels
from explorable.shared.scan import scan
from explorable.shared.svg import INK, embedded

ROOT = Path(__file__).parents[2]
CHAPTER = ROOT / "docs/chapter"
PAGES = {path.name: path.read_text("utf-8") for path in sorted(CHAPTER.glob("*.md"))}
BOOK = (ROOT / "mkdocs.yml").read_text("utf-8").partition("chapter/index.md")[2]
FIGURES = sorted((CHAPTER / "figures").glob("*.py"))
TEXT = "\n".join(scan(text).text for text in PAGES.values())
MOST_WORDS = 2200
"""Eleven minutes of reading."""
MOST_WORDS_OF_ALL = 30_000
"""Two and a half hours."""
UNREFERENCED = {"eq-per-token", "tab-layer-products"}
"""Numbered things that no text refers to, because each stands directly under the sentence that announces it."""


def stem(path: Path) -> str:
    return path.stem


def drawn(path: Path) -> dict[str, Any]:
    answer = respond({"figure": str(path), "engine": str(ROOT / "engine/ironlaw")})
    assert "error" not in answer, answer
    return answer


def test_every_figure_is_shown_once() -> None:
    docs = CHAPTER.parent
    pages = [
        docs / "index.md",
        docs / "reference/prediction.md",
        *docs.glob("missions/*.md"),
        *docs.glob("acts/**/*.md"),
    ]
    others = "".join(page.read_text("utf-8") for page in pages)
    shown = re.findall(r"^/// (?:figure|instrument) \| ([\w-]+)$", TEXT + others, re.MULTILINE)
    assert sorted(name.replace("-", "_") for name in shown) == [path.stem for path in FIGURES]


def test_the_chapter_is_no_longer_than_an_afternoon() -> None:
    assert sum(map(words, PAGES.values())) <= MOST_WORDS_OF_ALL


def test_only_words_that_a_reader_sees_are_counted() -> None:
    text = "See [two words](a/page.md#an-anchor){ #old-anchor } and <span id='x'>one</span>.\n{ .lead }\n"
    assert words(text) == 5


def test_the_home_page_says_how_long_the_chapters_take_to_read() -> None:
    numbered = (text for name, text in PAGES.items() if f"chapter/{name}\n" in BOOK.partition("Cheat sheet")[0])
    halves = round(sum(map(minutes, numbered)) / 30)
    said = f"{halves // 2}{'½' if halves % 2 else ''} hours to read"
    assert f"<small>{said}, without its programs</small>" in (CHAPTER.parent / "index.md").read_text("utf-8")


def test_no_page_is_longer_than_a_short_sitting() -> None:
    long = {name: count for name, text in PAGES.items() if (count := words(text)) > MOST_WORDS}
    assert not long


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


@pytest.mark.parametrize("path", FIGURES, ids=stem)
@pytest.mark.sampled(8)
def test_a_figure_says_in_words_what_it_shows_in_the_colors_of_the_site_and_is_drawn_the_same_twice(path: Path) -> None:
    first = drawn(path)
    assert len(first["alternative"].split()) >= 15
    assert first["alternative"].endswith(".")
    assert drawn(path) == first
    colors = {color.lower() for color in re.findall(r"(?:fill|stroke)(?:: |=\")(#[0-9a-fA-F]{6})", first["svg"])}
    assert colors <= set(INK.values()), colors - set(INK.values())


PHONE = 338
"""Pixels of a picture's width on a phone of 360."""
LETTERS_PX = 11
SUPERSCRIPT = 0.75
"""Exponents are smaller than the letters that they stand at."""


@pytest.mark.parametrize("path", FIGURES, ids=stem)
@pytest.mark.sampled(8)
def test_a_phone_shows_the_letters_of_a_figure_large_enough_in_every_state(path: Path) -> None:
    small = {(size, text) for picture in pictures(drawn(path)) for size, text in letters(picture) if size < LETTERS_PX}
    assert not small


def pictures(shown: dict[str, Any]) -> Iterator[Element]:
    """The picture of a figure; of one that moves that of every state, as its file has them."""
    first = embedded(shown["svg"], "A picture.")
    if not shown["moving"]:
        yield first
        return
    for inside, _, _ in json.loads(shown["moving"]["states"]):
        yield fromstring(f'<svg viewBox="{first.get("viewBox")}">{inside}</svg>')


def letters(picture: Element) -> Iterator[tuple[float, str]]:
    """Each text of a picture with the size of its letters on a phone, in pixels. Exponents are left out."""
    width = float(picture.get("viewBox", "").split()[2])
    sized = [
        (float(size), "".join(node.itertext()))
        for node in picture.iter("text")
        for size in re.findall(r"font-size: ([\d.]+)", node.get("style", "") + f";font-size: {node.get('font-size')}")
    ]
    largest = max((size for size, _ in sized), default=0)
    for size, text in sized:
        if size > SUPERSCRIPT * largest or size == largest:
            yield round(size * PHONE / width, 2), text
