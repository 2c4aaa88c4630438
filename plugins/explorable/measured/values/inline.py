"""Inline numbers: reading `{engine} …` and `{record} …`, and writing the number with its origin.

The visible text comes first in the accessible name, the whole origin is the description (`title`). `bare` numbers have
no link: they stand inside another.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

from explorable.measured.errors import MeasuredError
from explorable.measured.links import Links
from explorable.measured.values.computed import Outcomes, outcome
from explorable.measured.values.quantities import Format, parse_format, show
from explorable.measured.values.recorded import Records, ended
from explorable.shared.markup import linked


def split_format(text: str) -> tuple[str, Format]:
    """Split `expression | GB .2f` at its last bar. Raises `MeasuredError` when there is no format."""
    expression, bar, form = text.rpartition("|")
    if not bar:
        raise MeasuredError(f"'{text.strip()}' has no unit", "end the number with a unit, e.g. '| GB .2f' or '| count'")
    return expression.strip(), parse_format(form)


def computed_number(text: str, outcomes: Outcomes, links: Links, *, bare: bool) -> Element:
    """The inline number of `expression | unit format`, whose outcome is known."""
    expression, form = split_format(text)
    found = outcome(expression, outcomes)
    shown, origin = show(found.quantity, form).glued, f"Computed by the engine: {expression} = {found.exact}"
    href = "" if bare else links.to_reference(found.origin)
    named = {"aria_label": f"{shown}, computed by the engine"} if href else {}
    return linked(shown, href, class_="il-number il-computed", title=origin, **named)


def measured_number(text: str, records: Records, links: Links, *, bare: bool) -> Element:
    """The inline number of `suite/case: path | unit format`, read from its record."""
    place, form = split_format(text)
    name, colon, path = (part.strip() for part in place.partition(":"))
    if not colon:
        raise MeasuredError(f"'{place}' names no value", "write suite/case: path.in.the.record | unit")
    record = records.one(name)
    leaf = record.number(path)
    try:
        shown = show(leaf.quantity(), form).glued
    except MeasuredError as error:
        raise MeasuredError(f"'{path}' of {name}: {error.what}", error.fix) from error
    how = ended(record.status)
    case = f"{record.case} ({how})" if how else record.case
    origin = f"Measured: {case}, {leaf.sampled(form) or path}, {record.source}"
    href = "" if bare else links.to_record(record.file.as_posix())
    named = {"aria_label": f"{shown}, measured"} if href else {}
    return linked(shown, href, class_="il-number il-measured", title=origin, **named)
