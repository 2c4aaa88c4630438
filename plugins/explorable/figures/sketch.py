"""A sheet to draw shapes on, as SVG: for diagrams, and for figures that move, of which hundreds are drawn at once.

A sheet is `WIDTH` units wide, about a pixel each on a phone. y grows downwards. Colors are names of the site's tokens
(`INK`), or "none".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypedDict, Unpack
from xml.sax.saxutils import escape, quoteattr

from explorable.shared.errors import nearest
from explorable.shared.svg import INK, OVER

WIDTH = 440
"""Units, as wide as the column of text."""
SIZE = 13
"""Size of letters by default."""

Point = tuple[float, float]


class Look(TypedDict, total=False):
    """How a box looks: colors of its inside and its line, whose width is `thick`; `hatched` lays such lines over it."""

    fill: str
    line: str
    thick: float
    corner: float
    hatched: bool
    faint: float
    dashed: bool


class Letters(TypedDict, total=False):
    """How words look. `anchor` is start, middle or end; a line that they stand `over` ends at their rim."""

    ink: str
    size: float
    anchor: str
    bold: bool
    mono: bool
    over: bool


class Sketch:
    """Shapes on a sheet of `WIDTH` by `height` units. What is drawn later lies above."""

    def __init__(self, height: float) -> None:
        self.height = height
        self._made: list[str] = []

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        **look: Unpack[Look],
    ) -> None:
        """A box with its upper left corner at (x, y)."""
        _known("box", look, Look)
        fill, line, corner = look.get("fill", "surface"), look.get("line", "none"), look.get("corner", 0)
        thick, faint, dashed = look.get("thick", 1.2), look.get("faint", 1), look.get("dashed", False)
        box = f'x="{_n(x)}" y="{_n(y)}" width="{_n(max(width, 0))}" height="{_n(max(height, 0))}"'
        box += f' rx="{_n(corner)}"' if corner else ""
        self._made.append(f"<rect {box} {_paint(fill, line, thick, faint, dashed)}/>")
        if look.get("hatched"):
            gap = 5.0
            for step in range(1, int((width + height) / gap) + 1):
                away = gap * step
                begin = (x + min(away, width), y + max(0, away - width))
                end = (x + max(0, away - height), y + min(away, height))
                self.line([begin, end], line, 0.8)

    def line(
        self, points: Iterable[Point], line: str = "fg", thick: float = 1.2, *, dashed: bool = False, faint: float = 1
    ) -> None:
        """A line through points."""
        path = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self._made.append(f'<polyline points="{path}" {_paint("none", line, thick, faint, dashed)}/>')

    def area(self, points: Iterable[Point], fill: str, *, faint: float = 1) -> None:
        """A filled shape."""
        path = " ".join(f"{_n(x)},{_n(y)}" for x, y in points)
        self._made.append(f'<polygon points="{path}" {_paint(fill, "none", 0, faint, False)}/>')

    def arrow(self, begin: Point, end: Point, line: str = "muted", thick: float = 1.4, head: float = 6) -> None:
        """An arrow from one point to another."""
        (x, y), (u, v) = begin, end
        length = ((u - x) ** 2 + (v - y) ** 2) ** 0.5
        dx, dy = (u - x) / length * head, (v - y) / length * head
        self.line([begin, (u - dx * 0.8, v - dy * 0.8)], line, thick)
        self.area([end, (u - dx - dy * 0.5, v - dy + dx * 0.5), (u - dx + dy * 0.5, v - dy - dx * 0.5)], line)

    def dot(
        self, x: float, y: float, radius: float, *, fill: str = "fg", line: str = "none", thick: float = 1.2
    ) -> None:
        """A disk."""
        where = f'cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}"'
        self._made.append(f"<circle {where} {_paint(fill, line, thick, 1, False)}/>")

    def text(self, x: float, y: float, words: str, **look: Unpack[Letters]) -> None:
        """Words whose middle is at the height y."""
        _known("text", look, Letters)
        size, anchor = look.get("size", SIZE), look.get("anchor", "start")
        made = f'font-size="{_n(size)}" fill="{INK[look.get("ink", "fg")]}"'
        made += f' text-anchor="{anchor}"' if anchor != "start" else ""
        made += ' font-weight="600"' if look.get("bold") else ""
        made += ' font-family="monospace"' if look.get("mono") else ""
        made += f' id="{OVER}"' if look.get("over") else ""
        self._made.append(f'<text x="{_n(x)}" y="{_n(y + 0.35 * size)}" {made}>{escape(words)}</text>')

    def svg(self) -> str:
        """The sheet as an SVG file."""
        view = quoteattr(f"0 0 {WIDTH} {_n(self.height)}")
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox={view} font-family="sans-serif">'
        return head + "".join(self._made) + "</svg>"


def percent(share: float, digits: int = 0) -> str:
    """A share as the text writes it: `33 %`, with a space that does not break."""
    return f"{100 * share:.{digits}f}\N{NO-BREAK SPACE}%"


def _known(what: str, look: Iterable[str], known: type) -> None:
    """Raise `TypeError` for a word that says nothing of how a shape looks."""
    for word in look:
        if word not in known.__annotations__:
            raise TypeError(f"a {what} has no {word!r}; {nearest(word, known.__annotations__)}")


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _paint(fill: str, line: str, thick: float, faint: float, dashed: bool) -> str:
    made = f'fill="{fill if fill == "none" else INK[fill]}"'
    if line != "none":
        made += f' stroke="{INK[line]}" stroke-width="{_n(thick)}"'
        made += ' stroke-dasharray="4 3"' if dashed else ""
    return made + (f' opacity="{faint:.2f}"' if faint != 1 else "")
