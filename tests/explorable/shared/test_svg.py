"""Drawings of matplotlib, fit to stand in a page."""

from __future__ import annotations

import io
import re
from xml.etree.ElementTree import tostring

import pytest
from matplotlib import rc_context
from matplotlib.figure import Figure

from explorable.shared.svg import INK, embedded, settings


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
