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
from xml.etree.ElementTree import Element, ParseError, SubElement, fromstring

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
ROOM = 1.08
"""How much larger than that letters are laid out, so that words without a digit, too, stay in what is left for them."""
EXPONENT = 0.9
"""The least size of an exponent or index against the letters beside it. A phone would hide one as small as in print."""
MOST_WRITTEN_OUT = 100_000
"""Elements in all copies of parts that a drawing uses."""
OVER = "over"
"""The mark of words that a line of the picture may cross: an id, which the picture loses when they get their rim."""
_GROUND = f"paint-order:stroke;stroke:var(--il-ground,var(--il-bg,{_BASE['bg']}));stroke-width:3;stroke-linejoin:round"
"""Words keep a rim in the color of the ground they stand on, which a page may name, so that lines end before them."""
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+−")
_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_FAMILY = re.compile(r"font-family: [^;]*;?\s*")
_SIZE = re.compile(r"(?<=font-size: )[\d.]+")
_MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")
_EXPONENTS = re.compile("([⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+|[₀₁₂₃₄₅₆₇₈₉]+)")


def ink_of(colors: Mapping[str, str]) -> None:
    """Let `INK` have the colors of a book, beside the tokens that every book has."""
    _INK.clear()
    _INK.update({**_BASE, **colors})


_SVG = "{http://www.w3.org/2000/svg}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_ACTIVE = {f"{_SVG}{name}" for name in ("script", "foreignObject", "iframe", "a", "animate", "set", "handler")}
_ELSEWHERE = re.compile(r"url\(\s*['\"]?(?!['\"]?\s*#)|\\", re.IGNORECASE)


def settings(salt: str, size: float = 10) -> dict[Any, Any]:
    """Settings for matplotlib: text stays text, the axes take the site's colors, and a second run draws the same bytes.

    Args:
        salt: What the names of the drawing's parts are derived from.
        size: Of letters, in points.
    """
    return {
        "svg.fonttype": "none",
        "svg.hashsalt": salt,
        "font.family": "sans-serif",
        "font.size": size * ROOM,
        "text.color": INK["fg"],
        "axes.edgecolor": INK["border"],
        "axes.labelcolor": INK["fg"],
        "xtick.color": INK["fg"],
        "ytick.color": INK["fg"],
    }


def drawn(figure: Figure) -> str:
    """The SVG file of a figure, with nothing in it that another day would change."""
    from explorable.shared.ticks import group_thousands  # matplotlib, which only those need who draw

    group_thousands(figure)
    for axes in figure.axes:
        if axes.axison:
            for words in axes.texts:
                if words.get_bbox_patch() is None and words.get_color() != INK["bg"]:
                    words.set_gid(OVER)
    out = io.BytesIO()
    figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return out.getvalue().decode("utf-8")


def embedded(text: str, title: str, *, width: str = "40rem") -> Element:
    """The `svg` element of a drawing.

    Args:
        text: The SVG file as matplotlib wrote it.
        title: What assistive technology says instead of the picture; its parts are named after it.
        width: The most it takes, as a CSS length.

    Raises:
        ValueError: no page can hold it: it is not well-formed, has a program, or shows something of elsewhere.
    """
    own = "p" + hashlib.sha256(title.encode()).hexdigest()[:8] + "-"
    try:
        root = fromstring(text[max(0, text.find("<svg")) :])
    except ParseError as error:
        raise ValueError(f"its SVG is not well-formed: {error}") from None
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{_SVG}metadata", f"{_SVG}style") or not isinstance(child.tag, str):
                parent.remove(child)
    _refuse_active(root)
    _write_out_uses(root)
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
            node.text = AtomicString(_typeset(node.text))
    for node in list(root.iter("text")):
        _enlarge_exponents(node)
    _rim_words(root, own + OVER)
    # The rules that matplotlib's style sheet has for all elements.
    rules = "font-variant-numeric:lining-nums;overflow:visible;stroke-linejoin:round;stroke-linecap:butt"
    root.set("style", f"{rules};width:100%;height:auto;max-width:{width}")
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.attrib |= {"role": "img", "aria-label": title, "class": "il-plot"}
    return root


def _typeset(words: str) -> str:
    """Words with the signs of the text around a picture: a curly apostrophe, and a minus before a number."""
    return _MINUS.sub("\N{MINUS SIGN}", words).replace("'", "\N{RIGHT SINGLE QUOTATION MARK}")


def _set_in_page_type(node: Element) -> None:
    """Take the typeface of the page, with letters as wide as those that the picture was laid out with."""
    if node.get("font-family") == "monospace":
        return
    node.attrib.pop("font-family", None)
    if size := node.get("font-size"):
        node.set("font-size", f"{float(size) * LETTERS:g}")
    if style := node.get("style"):
        larger = _SIZE.sub(lambda found: f"{float(found[0]) * LETTERS / ROOM:g}", _FAMILY.sub("", style))
        node.set("style", larger)


def _rim_words(root: Element, marked: str) -> None:
    """Give words a rim in the color of their ground, where an id is `marked`."""
    for node in root.iter():
        if node.get("id") == marked:
            del node.attrib["id"]
            for words in node.iter("text"):
                words.set("style", "; ".join(filter(None, (words.get("style"), _GROUND))))


def _enlarge_exponents(node: Element) -> None:
    """Let no exponent of a text be too small to read, in a formula or as a sign of its own."""
    styles = [(part, style, _SIZE.search(style)) for part in node.iter() if (style := part.get("style"))]
    sized = [(part, style, float(found[0])) for part, style, found in styles if found]
    largest = max((size for _, _, size in sized), default=0)
    for part, style, size in sized:
        part.set("style", _SIZE.sub(f"{max(size, EXPONENT * largest):g}", style))
    pieces = _EXPONENTS.split(node.text or "")
    if len(pieces) == 1:
        return
    node.text, shift = AtomicString(pieces[0]), 0.0
    for place, piece in enumerate(pieces[1:]):
        if not piece:
            continue
        part = SubElement(node, "tspan")
        up = 0.0 if place % 2 else 0.33 if _RAISED.get(ord(piece[0])) else -0.2
        # Measured in letters of the text; an exponent's own are smaller.
        unit = 1.0 if place % 2 else EXPONENT
        part.set("dy", f"{(shift - up) / unit:.2f}em")
        if not place % 2:
            part.set("font-size", f"{EXPONENT:g}em")
        part.text, shift = AtomicString(piece.translate(_RAISED).translate(_LOWERED)), up


def _refuse_active(root: Element) -> None:
    """Raise `ValueError` for what is more than a drawing of its own: programs, pages, what lies elsewhere."""
    for node in root.iter():
        if not node.tag.startswith(_SVG) or node.tag in _ACTIVE:
            raise ValueError(f"its SVG has the element {node.tag.removeprefix(_SVG)!r}, which is no part of a drawing")
        for name, value in node.attrib.items():
            address = name.rpartition("}")[2].lower() == "href" and not value.startswith(("#", "data:image/"))
            if address or name.lower().startswith("on") or _ELSEWHERE.search(value):
                raise ValueError(f"its SVG has {name.rpartition('}')[2]}={value[:60]!r}; a drawing holds all it shows")


def _write_out_uses(root: Element) -> None:
    """Replace each `use` by a copy of what it uses: the theme's instant navigation fails at its address."""
    parts = {f"#{node.get('id')}": node for node in root.iter() if node.get("id")}
    written = 0
    for use in list(root.iter(f"{_SVG}use")):
        used = use.attrib.pop(_LINK, None) or use.attrib.pop("href", "")
        if used not in parts:
            raise ValueError(f"its SVG uses {used!r}, which it does not have")
        # Parts that use others, which use others, are written out a power of times.
        written += sum(1 for _ in parts[used].iter())
        if written > MOST_WRITTEN_OUT:
            raise ValueError(f"its SVG uses parts that have more than {MOST_WRITTEN_OUT:,} elements together")
        copied = deepcopy(parts[used])
        copied.attrib.pop("id")
        use.tag = f"{_SVG}g"
        use.set("transform", f"translate({use.attrib.pop('x', '0')} {use.attrib.pop('y', '0')})")
        use.append(copied)
    for parent in list(root.iter(f"{_SVG}defs")):
        for child in list(parent):
            if child.tag == f"{_SVG}path":
                parent.remove(child)
