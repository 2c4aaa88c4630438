"""The block `/// contributed`: what readers measured on their own cards and gave away, in a table of its own."""

from __future__ import annotations

import posixpath
from xml.etree.ElementTree import Element

from explorable.measured.ceilings.card import FORMATS
from explorable.measured.ceilings.contributed import Contribution, Contributions
from explorable.measured.links import Links
from explorable.measured.tables.options import Captioned, read_options
from explorable.shared.markup import element, tabled

NONE = "none yet."
_NUMBER = "il-measured-table__number"


def build(text: str, given: Contributions, links: Links) -> Element:
    """The table, or one quiet line. Raises `MeasuredError`."""
    caption = read_options(Captioned, text).caption
    if not given.rows:
        return element("p", f"{caption}: ", element("em", NONE), class_="il-measured-table__note")
    heads = [*(element("th", one.upper(), _unit("TFLOP/s"), scope="col", class_=_NUMBER) for one in FORMATS)]
    heads.append(element("th", "Copying", _unit("GB/s"), scope="col", class_=_NUMBER))
    first, last = element("th", "Card", scope="col"), element("th", "Given by", scope="col")
    table = tabled(caption, [first, *heads, last], (_row(row, given.address, links) for row in given.rows))
    note = element("p", element("span", class_="il-reported", aria_hidden="true"), class_="il-measured-table__note")
    note[-1].tail = " Reported by readers, not measured by us. A date leads to the file."
    return element("div", table, note, class_="il-measured-table il-reported-table")


def _row(row: Contribution, folder: str, links: Links) -> Element:
    document = row.document
    how = "in a browser" if document["place"] == "browser" else document["program"]
    cores = "with" if document["tensor_cores"] else "without"
    remark = element("span", f"{how}, {cores} tensor cores", class_="il-measured-table__remark")
    products = [
        max((one["flops_per_s"] for one in document["products"] if one["format"] == name), default=None)
        for name in FORMATS
    ]
    copied = max((one["bytes_per_s"] for one in document["copies"]), default=None)
    cells = [*(_number(rate, 1e12, ".2f") for rate in products), _number(copied, 1e9, ",.0f")]
    who = document["contributor"]
    date = element("a", document["measured"][:10], href=links.to_page(posixpath.join(folder, row.file)))
    given = element("td", element("a", who["name"], href=who["link"], rel="nofollow"), " ", date)
    return element("tr", element("th", row.card.title, remark, scope="row"), *cells, given)


def _number(value: float | None, size: float, form: str) -> Element:
    if value is None:
        return element("td", "–", class_=_NUMBER)
    return element("td", element("span", format(value / size, form), class_="il-number il-reported"), class_=_NUMBER)


def _unit(text: str) -> Element:
    return element("span", f" ({text})", class_="il-measured-table__unit")
