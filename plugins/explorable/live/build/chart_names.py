"""Finds wrong names in a chart: a field that no row has, a color that the site does not define.

Vega-Lite draws such a chart all the same, with one mark called "undefined" or in black.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from explorable.book import current
from explorable.shared.errors import nearest
from explorable.shared.svg import INK

_STYLES = Path(__file__).parents[1] / "web/styles"
_USED = re.compile(r"var\(\s*(--il-[\w-]+)")
_DEFINED = re.compile(r"(--il-[\w-]+)\s*:")
_PAINTED = ("color", "fill", "stroke", "background")
_WITHIN_PAINT = ("value", "range", "scale", "condition")
_OF_THE_SITE = re.compile(r"var\(\s*--il-[\w-]+.*\)|url\(#il-[\w-]+\)|transparent|none")


def wrong_names(lite: Mapping[str, Any], fields: Mapping[str, Collection[str]]) -> Iterator[str]:
    """A line for each field and color that does not exist, with the names near it.

    Args:
        lite: the chart in Vega-Lite.
        fields: of the rows, by name of the data set. Where one that the chart draws has none, its rows are not known,
            and no field is looked at.
    """
    colors = sorted(set(_USED.findall(json.dumps(lite))) - _variables())
    yield from (f"there is no color {name!r}; {nearest(name, sorted(_variables()))}" for name in colors)
    for name in sorted(set(_plain_colors(lite))):
        yield f"the color {name!r} is the same in light and dark; write a color of the site, as in var(--il-limit)"
    if all(fields[name] for name in _drawn(lite) if name in fields):
        known = {key for keys in fields.values() for key in keys} | set(_made(lite))
        for name in sorted(set(_fields(lite)) - known):
            yield f"no row has the field {name!r}; {nearest(name, sorted(known))}"


@cache
def _variables() -> frozenset[str]:
    """The variables that the site's styles define."""
    book = current()
    files = (file for folder in (_STYLES, *book.styles) for file in sorted(folder.glob("*.css")))
    named = frozenset(name for file in files for name in _DEFINED.findall(file.read_text(encoding="utf-8")))
    return named | {f"--il-{name}" for name in INK}


def _plain_colors(part: Any, painted: bool = False) -> Iterator[str]:
    """Every color that is none of the site's."""
    if isinstance(part, str):
        if painted and not _OF_THE_SITE.fullmatch(part):
            yield part
    elif isinstance(part, Mapping):
        for name, inner in part.items():
            yield from _plain_colors(inner, name in _PAINTED or (painted and name in _WITHIN_PAINT))
    elif isinstance(part, list):
        for inner in part:
            yield from _plain_colors(inner, painted)


def _drawn(part: Any) -> Iterator[str]:
    """Every data set that the chart, or a part of it, names."""
    if isinstance(part, Mapping):
        data = part.get("data")
        if isinstance(data, Mapping) and isinstance(data.get("name"), str):
            yield data["name"]
        part = part.values()
    elif not isinstance(part, list):
        return
    for inner in part:
        yield from _drawn(inner)


def _fields(part: Any) -> Iterator[str]:
    """Every field that an encoding or a sort names; not those inside of others (`a.b`), nor calculated text."""
    if isinstance(part, Mapping):
        field = part.get("field")
        if isinstance(field, str) and re.fullmatch(r"\w+", field):
            yield field
        part = part.values()
    elif not isinstance(part, list):
        return
    for inner in part:
        yield from _fields(inner)


def _made(part: Any) -> Iterator[str]:
    """Every field that the chart makes itself: by a transform, or in rows of its own."""
    if isinstance(part, Mapping):
        made = part.get("as", [])
        yield from [made] if isinstance(made, str) else made
        # Rows of the chart's own: beside it, or gathered by Altair under a name.
        named = part.get("datasets", {})
        for rows in (part.get("values"), *(named.values() if isinstance(named, Mapping) else ())):
            for row in rows if isinstance(rows, list) else ():
                yield from row if isinstance(row, Mapping) else ()
        part = part.values()
    elif not isinstance(part, list):
        return
    for inner in part:
        yield from _made(inner)
