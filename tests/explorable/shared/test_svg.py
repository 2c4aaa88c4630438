"""Drawings of matplotlib, fit to stand in a page."""

from __future__ import annotations

import io
import re
from xml.etree.ElementTree import Element, tostring

import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure

from explorable.figures.sketch import Sketch, percent
from explorable.shared.svg import EXPONENT, INK, LETTERS, embedded, settings
from explorable.shared.svg import drawn as drawn_by


def drawn(title: str = "A plot") -> str:
    with rc_context(settings("test")):
        figure = Figure(figsize=(3, 2))
        axes = figure.add_subplot()
        axes.plot([1, 2, 3], [1, 2, 3], marker="o", color=INK["memory"])
        axes.bar([1], [2], facecolor=INK["surface"], edgecolor=INK["limit"], hatch="//")
        out = io.BytesIO()
        figure.savefig(out, format="svg", transparent=True)
    return tostring(embedded(out.getvalue().decode("utf-8"), title), encoding="unicode")


def test_nothing_in_a_drawing_has_an_address() -> None:
    """Instant navigation sets the `href` of whatever has one, and that of an SVG element cannot be set."""
    text = drawn()
    assert "href" not in text
    assert "<use" not in text


def test_marks_and_ticks_stand_where_they_did() -> None:
    groups = re.findall(r'<g [^>]*transform="translate\(([\d.]+) ([\d.]+)\)"', drawn())
    assert len(groups) >= 3 + 4
    assert len(set(groups)) == len(groups)


def test_every_color_is_a_token_of_the_site_with_its_light_value() -> None:
    text = drawn()
    assert f"var(--il-memory,{INK['memory']})" in text
    assert "#006395" not in re.sub(r"var\([^)]*\)", "", text)


def test_parts_are_named_after_the_drawing_and_every_reference_is_kept() -> None:
    first, second = drawn(), drawn("Another plot")
    ids = set(re.findall(r'\bid="([^"]+)"', first))
    assert ids
    assert not ids & set(re.findall(r'\bid="([^"]+)"', second))
    assert set(re.findall(r"url\(#([^)]+)\)", first)) <= ids


@pytest.mark.parametrize("title", ["A plot", "Bars & lines"])
def test_a_drawing_is_an_image_with_a_name(title: str) -> None:
    text = drawn(title)
    assert 'role="img"' in text
    assert f'aria-label="{title.replace("&", "&amp;")}"' in text
    assert "<style" not in text


def worded() -> Element:
    """A plot with words on its grid, words with a box of their own, and an axis with exponents."""
    with rc_context(settings("test", 10)):
        figure = Figure(figsize=(3, 2))
        axes = figure.add_subplot()
        axes.plot([1, 2, 3], [1, 1e3, 1e6])
        axes.set_yscale("log")
        axes.grid()
        axes.text(1.5, 1e3, "on the grid")
        axes.text(2, 10, "in a box", bbox={"facecolor": INK["bg"]})
        axes.text(2.5, 10, "on a bar", color=INK["bg"])
        return embedded(drawn_by(figure), "A plot")


def style_of(picture: Element, words: str) -> str:
    (node,) = (node for node in picture.iter("text") if node.text == words)
    return node.get("style", "")


def test_words_that_a_line_may_cross_have_a_rim_in_the_color_of_their_ground() -> None:
    picture = worded()
    rim = f"stroke:var(--il-ground,var(--il-bg,{INK['bg']}))"
    assert rim in style_of(picture, "on the grid")
    assert rim not in style_of(picture, "in a box")
    assert rim not in style_of(picture, "on a bar")
    sheet = Sketch(20)
    sheet.text(0, 10, "plain")
    sheet.text(0, 10, "on a line", over=True)
    assert rim not in style_of(embedded(sheet.svg(), "A sheet"), "plain")
    assert rim in style_of(embedded(sheet.svg(), "A sheet"), "on a line")


def test_letters_have_their_size_and_are_laid_out_wider() -> None:
    assert f"font-size: {10 * LETTERS:g}px" in style_of(worded(), "on the grid")
    assert settings("test", 10)["font.size"] > 10


def test_exponents_are_hardly_smaller_than_the_letters_that_they_stand_at() -> None:
    picture = worded()
    powers = [node for node in picture.iter("tspan") if "".join(node.itertext()).strip() in {"3", "6"}]
    assert powers
    for node in powers:
        (size,) = re.findall(r"font-size: ([\d.]+)", node.get("style", ""))
        assert float(size) == pytest.approx(EXPONENT * 10 * LETTERS, rel=1e-3)


def test_signs_that_are_exponents_become_digits_that_are_raised_and_lowered() -> None:
    sheet = Sketch(20)
    sheet.text(0, 10, "2⁻⁴ of CO₂ here")
    (node,) = embedded(sheet.svg(), "A sheet").iter("text")
    assert "".join(node.itertext()) == "2−4 of CO2 here"
    moved = [float((part.get("dy") or "").removesuffix("em")) for part in node]
    up, back, down, again = moved
    assert up < 0 < back
    assert again < 0 < down


def test_a_picture_writes_thousands_apostrophes_and_minus_signs_as_the_text_does() -> None:
    with rc_context(settings("test")):
        figure = Figure(figsize=(3, 2))
        axes = figure.add_subplot()
        axes.plot([0, 4000], [0, 0.5])
        axes.text(0, 0.2, "GPT-2's bias: -1.4")
        words = [node.text for node in embedded(drawn_by(figure), "A plot").iter("text")]
    assert "4,000" in words
    assert "0.4" in words
    assert "GPT-2’s bias: −1.4" in words


def test_a_share_is_written_with_a_space_that_does_not_break() -> None:
    assert percent(1 / 3) == "33\N{NO-BREAK SPACE}%"
    assert percent(0.0021, 1) == "0.2\N{NO-BREAK SPACE}%"


def test_parts_that_use_parts_are_not_written_out_without_end() -> None:
    """1.2 KB were 19 MB: each level used the one before eight times."""
    levels = "".join(f'<g id="l{n + 1}">{f"""<use href="#l{n}"/>""" * 8}</g>' for n in range(7))
    text = f'<svg xmlns="http://www.w3.org/2000/svg" width="9pt" height="9pt"><g id="l0"/>{levels}</svg>'
    with pytest.raises(ValueError, match=r"more than 100,000 elements"):
        embedded(text, "A bomb")
