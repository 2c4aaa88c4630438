"""What matplotlib drew, made fit to stand in a page: the page's colors, own names for its parts, no style sheet.

Authors draw with the light value of a color of the site. The page shows the custom property of that color, so one
picture serves light, dark and paper.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, fromstring

from markdown.util import AtomicString

from plugins.shared.errors import nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Ink(dict[str, str]):
    """Colors by name. The error for an unknown name lists the known ones."""

    def __missing__(self, name: str) -> str:
        raise ValueError(f"there is no color {name!r}; {nearest(name, self)}")


INK: Mapping[str, str] = _Ink(
    {
        "compute": "#00763a",
        "memory": "#006395",
        "optimizer": "#6a3fa5",
        "data": "#b84c00",
        "activation": "#5d7482",
        "limit": "#c01c29",
        "fg": "#1f2328",
        "muted": "#595f69",
        "border": "#d9d3c7",
        "control": "#837d70",
        "surface": "#f4f1ea",
        "bg": "#fdfcf9",
    }
)
"""Name of a color token of the site -> its light value, which matplotlib draws with."""

_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"


def settings(salt: str) -> dict[Any, Any]:
    """Settings for matplotlib: text stays text, the axes take the site's colors, and a second run draws the same bytes.

    Args:
        salt: What the names of the drawing's parts are derived from.
    """
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "font.family": "sans-serif",
        "font.size": 10,
        "text.color": INK["fg"],
        "axes.edgecolor": INK["border"],
        "axes.labelcolor": INK["fg"],
        "xtick.color": INK["fg"],
        "ytick.color": INK["fg"],
    }


def drawn(figure: Figure) -> str:
    """The SVG file of a figure, with nothing in it that another day would change."""
    out = io.BytesIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return out.getvalue().decode("utf-8")


def embedded(text: str, title: str, *, width: str = "40rem") -> Element:
    """The `svg` element of a drawing.

    Args:
        text: The SVG file as matplotlib wrote it.
        title: What assistive technology says instead of the picture; its parts are named after it.
        width: The most it takes, as a CSS length.
    """
    own = "p" + hashlib.sha256(title.encode()).hexdigest()[:8] + "-"
    root = fromstring(text[text.index("<svg") :])
    _write_out_uses(root)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}metadata", f"{_SVG}style") or not isinstance(child.tag, str):
                parent.remove(child)
    for node in root.iter():
        node.tag = node.tag.removeprefix(_SVG)
        attributes = dict(node.attrib)
        node.attrib.clear()
        for name, value in attributes.items():
            if name == "id":
                value = own + value
            value = value.replace("url(#", f"url(#{own}")
            for token, color in INK.items():
                value = value.replace(color, f"var(--il-{token},{color})")
            node.set(name, value)
        if node.text and node.text.strip():
            node.text = AtomicString(node.text)
    # The rules that matplotlib's style sheet has for all elements.
    root.set("style", f"stroke-linejoin:round;stroke-linecap:butt;width:100%;height:auto;max-width:{width}")
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {"role": "img", "aria-label": title, "class": "il-plot"}
    return root


def _write_out_uses(root: Element) -> None:
    """Replace each `use` by a copy of what it uses: the theme's instant navigation fails at its address."""
    parts = {f"#{node.get('id')}": node for node in root.iter() if node.get("id")}
    for use in list(root.iter(f"{_SVG}use")):
        copied = deepcopy(parts[use.attrib.pop(_LINK)])
        copied.attrib.pop("id")
        use.tag = f"{_SVG}g"
        use.set("transform", f"translate({use.attrib.pop('x', '0')} {use.attrib.pop('y', '0')})")
        use.append(copied)
    for parent in list(root.iter(f"{_SVG}defs")):
        for child in list(parent):
            if child.tag == f"{_SVG}path":
                parent.remove(child)
