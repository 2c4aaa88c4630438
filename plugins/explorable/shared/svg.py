"""What matplotlib drew, made fit to stand in a page: the page's colors, own names for its parts, no style sheet.

Authors draw with the light value of a color of the site. The page shows the custom property of that color, so one
picture serves light, dark and paper.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element, fromstring

from markdown.util import AtomicString

from explorable.shared.errors import nearest

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class _Ink(dict[str, str]):
    """Colors by name. The error for an unknown name lists the known ones."""

    def __missing__(self, name: str) -> str:
        raise ValueError(f"there is no color {name!r}; {nearest(name, self)}")


_BASE = {
    "fg": "#1f2328",
    "muted": "#595f69",
    "border": "#d9d3c7",
    "control": "#837d70",
    "surface": "#f4f1ea",
    "bg": "#fdfcf9",
    "limit": "#c01c29",
}
"""The tokens that every book has."""
_INK = _Ink(_BASE)
INK: Mapping[str, str] = _INK
"""Name of a color token of the site -> its light value, which matplotlib draws with."""

LETTERS = 1.13
"""How much larger letters become in the page, whose typeface is narrower than the one that pictures are laid out in."""
_FAMILY = re.compile(r"font-family: [^;]*;?\s*")
_SIZE = re.compile(r"(?<=font-size: )[\d.]+")


def ink_of(colors: Mapping[str, str]) -> None:
    """Let `INK` have the colors of a book, beside the tokens that every book has."""
    _INK.clear()
    _INK.update({**_BASE, **colors})


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
        _set_in_page_type(node)
        if node.text and node.text.strip():
            node.text = AtomicString(node.text)
    # The rules that matplotlib's style sheet has for all elements.
    rules = "font-variant-numeric:lining-nums;overflow:visible;stroke-linejoin:round;stroke-linecap:butt"
    root.set("style", f"{rules};width:100%;height:auto;max-width:{width}")
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {"role": "img", "aria-label": title, "class": "il-plot"}
    return root


def _set_in_page_type(node: Element) -> None:
    """Take the typeface of the page, with letters as wide as those that the picture was laid out with."""
    if node.get("font-family") == "monospace":
        return
    node.attrib.pop("font-family", None)
    if size := node.get("font-size"):
        node.set("font-size", f"{float(size) * LETTERS:g}")
    if style := node.get("style"):
        larger = _SIZE.sub(lambda found: f"{float(found[0]) * LETTERS:g}", _FAMILY.sub("", style))
        node.set("style", larger)


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
