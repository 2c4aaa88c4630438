"""The figure: predicted against published on logarithmic axes, as an SVG that follows the page's colors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement

from explorable.shared.markup import element
from tools.accuracy.predict import Comparison

SIZE, LEFT, TOP, RIGHT, BOTTOM = 384, 64, 16, 16, 52
BAND = 1.25
"""The shaded band: predictions within 25 % either way."""

TEXT = "fill:var(--il-fg,#1f2328);font-size:13px;font-family:inherit"
GRID = "fill:none;stroke:var(--il-border,#d9d3c7)"
DIAGONAL = "fill:none;stroke:var(--il-control,#837d70)"
SHADE = "fill:color-mix(in srgb,var(--il-control,#837d70) 22%,transparent)"
COLORS = ("var(--il-compute,#00763a)", "var(--il-memory,#006395)", "var(--il-optimizer,#6a3fa5)")
"""Colors are the site's; the values behind the commas serve where its style sheet is absent.

They stand on the elements, not in a style element, whose text Markdown would set with typographic quotes.
"""


def figure(series: Sequence[tuple[str, Sequence[Comparison]]], unit: str, title: str, description: str) -> Element:
    """A scatter plot. Each series has its own mark: circle, square, diamond.

    Args:
        series: Name and comparisons, at most three.
        unit: Unit of both axes.
        title: Name of the figure, for assistive technology.
        description: What it shows, in a sentence.
    """
    values = [v for _, points in series for c in points for v in (c.published, c.predicted)]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    width = height = SIZE

    def x(value: float) -> float:
        return LEFT + (math.log10(value) - low) / (high - low) * (width - LEFT - RIGHT)

    def y(value: float) -> float:
        return height - BOTTOM - (math.log10(value) - low) / (high - low) * (height - TOP - BOTTOM)

    svg = Element("svg", {"viewBox": f"0 0 {width} {height}", "role": "img", "class": "acc-figure"})
    svg.set("aria-label", f"{title}. {description}")
    svg.set("style", "max-width:30rem;width:100%;height:auto")
    bottom, top = 10.0**low, 10.0**high
    corners = [(bottom, bottom), (bottom, bottom * BAND), (top / BAND, top), (top, top), (top, top / BAND)]
    corners += [(bottom * BAND, bottom)]
    SubElement(svg, "polygon", {"points": _points((x(a), y(b)) for a, b in corners), "style": SHADE})
    for decade in range(low, high + 1):
        value = 10.0**decade
        for ends in (((x(value), y(bottom)), (x(value), y(top))), ((x(bottom), y(value)), (x(top), y(value)))):
            SubElement(svg, "polyline", {"points": _points(ends), "style": GRID})
        _text(svg, f"{value:,g}", x(value), height - BOTTOM + 18, "middle")
        _text(svg, f"{value:,g}", LEFT - 8, y(value) + 4, "end")
    SubElement(svg, "polyline", {"points": _points([(x(bottom), y(bottom)), (x(top), y(top))]), "style": DIAGONAL})
    _text(svg, f"published ({unit})", (LEFT + width - RIGHT) / 2, height - 10, "middle")
    label = _text(svg, f"predicted ({unit})", 0, 0, "middle")
    label.set("transform", f"translate(14 {(TOP + height - BOTTOM) / 2}) rotate(-90)")
    for index, (name, points) in enumerate(series):
        for c in points:
            mark = _mark(svg, index, x(c.published), y(c.predicted))
            mark.append(element("title", f"{c.row.source.title}: {c.row.name}, {c.error:+.0%}"))
        _mark(svg, index, LEFT + 16, TOP + 14 + 20 * index)
        _text(svg, name, LEFT + 28, TOP + 18 + 20 * index, "start")
    return svg


def _mark(svg: Element, index: int, x: float, y: float) -> Element:
    style = {"style": f"fill:{COLORS[index]};fill-opacity:.25;stroke:{COLORS[index]};stroke-width:1.2"}
    if index == 0:
        return SubElement(svg, "circle", {**style, "cx": f"{x:.1f}", "cy": f"{y:.1f}", "r": "3.5"})
    arm = 4.5 if index == 2 else 3.5
    square = [(x - arm, y - arm), (x + arm, y - arm), (x + arm, y + arm), (x - arm, y + arm)]
    diamond = [(x, y - arm), (x + arm, y), (x, y + arm), (x - arm, y)]
    return SubElement(svg, "polygon", {**style, "points": _points(square if index == 1 else diamond)})


def _text(svg: Element, text: str, x: float, y: float, anchor: str) -> Element:
    svg.append(made := element("text", text, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, style=TEXT))
    return made


def _points(points: Iterable[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
