"""Inline numbers: reading `{engine} …` and `{record} …`, and writing the number with its origin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from xml.etree.ElementTree import Element

from plugins.measured.errors import MeasuredError
from plugins.measured.markup import Links, element
from plugins.measured.values.evidence import STATUS, source_line
from plugins.measured.values.expressions import Outcome
from plugins.measured.values.quantities import Format, parse_format, quantity, show
from plugins.measured.values.recorded import Records

Kind = Literal["computed", "measured"]
_SPOKEN = {"computed": "computed by the engine", "measured": "measured"}


@dataclass(frozen=True)
class Number:
    """An inline number ready to print: text with unit, where it comes from, and the link that proves it."""

    kind: Kind
    text: str
    origin: str
    href: str

    def element(self, *, inside_link: bool = False) -> Element:
        """The number as a link to its origin, or as plain text with a tooltip where a link is not possible.

        The visible text comes first in the accessible name, the whole origin is the description (`title`).
        """
        classes = f"il-number il-{self.kind}"
        if inside_link or not self.href:
            return element("span", self.text, class_=classes, title=self.origin)
        name = f"{self.text}, {_SPOKEN[self.kind]}"
        return element("a", self.text, class_=classes, href=self.href, title=self.origin, aria_label=name)


def split_format(text: str) -> tuple[str, Format]:
    """Split `expression | GB .2f` at its last bar. Raises `MeasuredError` when there is no format."""
    expression, bar, form = text.rpartition("|")
    if not bar:
        raise MeasuredError(f"'{text.strip()}' has no unit", "end the number with a unit, e.g. '| GB .2f' or '| count'")
    return expression.strip(), parse_format(form)


def computed_number(text: str, outcome: Outcome, links: Links) -> Number:
    """The inline number of an engine expression whose outcome is known."""
    expression, form = split_format(text)
    value = quantity(outcome.value, outcome.unit)
    exact = f"{outcome.value:,}" if isinstance(outcome.value, int) else f"{outcome.value:,.10g}"
    unit = "" if outcome.unit == "1" else f" {outcome.unit}"
    origin = f"Computed by the engine: {expression} = {exact}{unit}"
    return Number("computed", show(value, form).glued, origin, links.to_reference(outcome.origin))


def measured_number(text: str, records: Records, links: Links) -> Number:
    """The inline number of `suite/case: path | unit format`, read from its record."""
    place, form = split_format(text)
    name, colon, path = place.partition(":")
    if not colon:
        raise MeasuredError(f"'{place}' names no value", "write suite/case: path.in.the.record | unit")
    record = records.one(name)
    path = path.strip()
    leaf = record.number(path)
    try:
        shown = show(leaf.quantity(), form)
    except MeasuredError as error:
        raise MeasuredError(f"'{path}' of {name.strip()}: {error.what}", error.fix) from error
    how = leaf.sampled(form) or path
    status = "" if record.status == "ok" else f" ({STATUS.get(record.status, record.status)})"
    origin = f"Measured: {record.case}{status}, {how}, {source_line(record)}"
    return Number("measured", shown.glued, origin, links.to_record(record.file.as_posix()))
