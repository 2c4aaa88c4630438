"""What a drawing may hold: SVG's own elements, and no address of another host that a browser would ask for by itself.

A drawing's file is shown as a page of its own, which has no policy. So what it may hold is listed, and all else
refused. So it is with the map of a site, which is XML as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

SVG = "http://www.w3.org/2000/svg"
_XHTML = "http://www.w3.org/1999/xhtml"
_XML = "http://www.w3.org/XML/1998/namespace"
_ELEMENTS = frozenset({
    "a", "animate", "animateMotion", "animateTransform", "circle", "clipPath", "defs", "desc", "ellipse", "feBlend",
    "feColorMatrix", "feComponentTransfer", "feComposite", "feConvolveMatrix", "feDiffuseLighting",
    "feDisplacementMap", "feDistantLight", "feDropShadow", "feFlood", "feFuncA", "feFuncB", "feFuncG", "feFuncR",
    "feGaussianBlur", "feImage", "feMerge", "feMergeNode", "feMorphology", "feOffset", "fePointLight",
    "feSpecularLighting", "feSpotLight", "feTile", "feTurbulence", "filter", "g", "image", "line", "linearGradient",
    "marker", "mask", "metadata", "mpath", "path", "pattern", "polygon", "polyline", "radialGradient", "rect", "set",
    "solidcolor", "stop", "style", "svg", "switch", "symbol", "text", "textPath", "title", "tspan", "use", "view",
})  # fmt: skip
"""Those that draw, or say what is drawn. `foreignObject` and `script` are not among them."""
_REMARKS = (
    "http://creativecommons.org/ns#",
    "http://web.resource.org/cc/",
    "http://purl.org/dc/",
    "http://sodipodi.sourceforge.net/",
    "http://www.inkscape.org/",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
)
"""How the namespaces begin in which drawing programs say who drew it, and how they show it. No browser reads them."""
_MAP = ("http://www.sitemaps.org/", "http://www.google.com/schemas/")
"""How the namespaces begin that the map of a site has."""
_PICTURES = frozenset({"image", "feImage"})
_LINKS = frozenset({"a", "link"})
"""What leads elsewhere when it is clicked, or says where something lies."""
UNSEEN = re.compile(r"[\x00-\x20]+")
# A scheme, or two slashes; browsers read both kinds of them.
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|[/\\]{2}")
# Without an escape, these are all ways of a style to name a file. A picture or a font that an address holds in itself
# asks nobody; another drawing in one may.
_NAMES_FILE = re.compile(
    r"@import|(?:image-set|image|src)\(|url\([\"']?(?!data:image/(?!svg)|data:font/)(?:[a-z][a-z0-9+.-]*:|[/\\]{2})"
)
_MOST_LETTERS = 60
"""Letters of what a message quotes."""


def no_element(namespace: str, kind: str) -> str:
    """Why an element may not stand in a drawing; "" for one that may."""
    if namespace in ("", SVG):
        return "" if kind in _ELEMENTS else f"{kind[:_MOST_LETTERS]!r} is no element that a drawing may have"
    return "" if namespace.startswith(_REMARKS) else f"{namespace[:_MOST_LETTERS]!r} is not the namespace of SVG"


def no_entry(namespace: str, kind: str) -> str:
    """Why an element may not stand in the map of a site; "" for one that may."""
    # Where another language of a page lies is said by a link, of which others look where it leads.
    if not namespace or namespace.startswith(_MAP) or (namespace, kind) == (_XHTML, "link"):
        return ""
    return f"{namespace[:_MOST_LETTERS]!r} is not the namespace of a site's map"


def asks(kind: str, attributes: Mapping[str, str]) -> str:
    """Why an element's attributes, named as XML's parser does, ask another host without a click; "" where none do."""
    return next(_asking(kind, attributes), "")


def _asking(kind: str, attributes: Mapping[str, str]) -> Iterator[str]:
    for name, value in attributes.items():
        namespace, _, local = name.rpartition(" ")
        short = f"{local}={value[:_MOST_LETTERS]!r}"
        if local == "base" and namespace == _XML:
            yield f"{short} moves what all addresses begin with"
        elif local == "attributeName" and value.strip().rpartition(":")[2].lower() == "href":
            yield f"{short} changes an address"
        elif local in ("href", "src") and _is_elsewhere(kind, value):
            yield f"{short} is none of this site's"
        elif "(" in value and (what := styled(value)):
            yield f"{local}: {what}"


def _is_elsewhere(kind: str, value: str) -> bool:
    address = UNSEEN.sub("", value).lower()
    if kind in _LINKS:
        return address.startswith("data:")
    # A drawing within a picture runs nothing and asks nobody.
    return bool(ELSEWHERE.match(address)) and not (kind in _PICTURES and address.startswith("data:image/"))


def styled(text: str) -> str:
    """Why a style asks another host; "" for one that does not, and whose names are written as they are."""
    if "\\" in text:
        return "a style with '\\' is not read; write the character itself"
    found = _NAMES_FILE.search(UNSEEN.sub("", text).lower())
    return f"the style's {found[0]!r} may ask another host" if found else ""
