"""The picture that stands beside a link to a page elsewhere, and the words that go with it.

The pictures are drawn here, in the site's own colors, and lie in the site like everything else.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from explorable.finish import put
from explorable.manifest import Manifest
from explorable.shared.cache import cached_file, digest

SIZE = (1200, 630)
"""Pixels: what the places that show such pictures ask for."""
_INK, PAPER, _MUTED = "#1f2328", "#fdfcf9", "#595f69"
MARK_WIDTH = 28
"""Units; it is nearly as high."""
_LEVERS = ("#006395", "#00763a", "#b84c00")
_ROWS = 3
_COLUMNS = 26


def write(site: Path, manifest: Manifest) -> None:
    """Write a picture for each page into a built site; the template names it by the page's source."""
    program = Path(__file__).read_text(encoding="utf-8")
    for facts in manifest.pages.values() if manifest.address else ():
        title = facts.title or manifest.name
        key = digest(program, manifest.name, title, facts.section)
        path = Path(manifest.root, ".cache/social", f"{key}.png")
        picture = cached_file(path, lambda title=title, part=facts.section: draw(title, part, manifest.name))  # type: ignore[misc]
        name = facts.source.removeprefix(f"{manifest.docs}/").replace("/", "-")
        put(site / f"assets/social/{name}.png", picture)


def draw(title: str, part: str, site: str) -> bytes:
    """A picture of a page, as PNG: the site's mark, the page's title, the part it belongs to and the site's name."""
    import matplotlib as mpl

    with mpl.rc_context({"font.family": "STIXGeneral", "text.parse_math": False}), picture(*SIZE) as (axes, buffer):
        mark(axes, 80, 80, 3.6)
        lines = textwrap.wrap(title, _COLUMNS, max_lines=_ROWS, placeholder=" …")
        axes.text(80, 250, "\n".join(lines), size=56, color=_INK, va="top", linespacing=1.12)
        axes.text(215, 133, part, size=30, color=_MUTED, va="center")
        axes.text(80, 560, site, size=30, color=_INK, va="center")
    return buffer.getvalue()


@contextmanager
def picture(width: int, height: int) -> Iterator[tuple[Any, io.BytesIO]]:
    """Axes over a sheet of the site's paper, counted in pixels from above left, and where it is put then as PNG."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure, buffer = Figure(figsize=(width / 100, height / 100), dpi=100, facecolor=PAPER), io.BytesIO()
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    yield axes, buffer
    figure.savefig(buffer, format="png", metadata={"Software": None})


def mark(axes: Any, x: float, y: float, unit: float) -> None:
    """The site's mark, as in `assets/favicon.svg`: a fraction with three levers below the line."""
    from matplotlib.patches import Rectangle

    def bar(left: float, top: float, width: float, height: float, color: str) -> None:
        axes.add_patch(Rectangle((x + left * unit, y + top * unit), width * unit, height * unit, color=color, lw=0))

    bar(6, 1, 16, 9, _INK)
    bar(0, 12.5, 28, 3, _INK)
    for place, color in enumerate(_LEVERS):
        bar(10 * place, 18, 8, 9, color)
