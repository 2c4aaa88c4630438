"""Files of ceilings that readers contributed: read strictly, and never taken for measurements of the book."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import jsonschema
import yaml

from explorable.measured.ceilings.card import Card
from explorable.shared.errors import Defect, nearest

SCHEMA = Path(__file__).with_name("schema.json")
MOST_BYTES = 64 * 1024
MOST_TOLD = 20
"""Faults of a file that are told."""
LONGEST_TOLD = 300
"""Characters of one."""
CLOCK = 1.2
"""How far a card may pass a figure of its data sheet, whose clock is not the highest."""
YEARS = range(2020, 2100)
"""In which a file can have been made."""
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)+")
# Joiners, fillers, selectors of variants and the empty pattern of Braille: Python counts them as printable.
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


@dataclass(frozen=True)
class Contribution:
    """A file that somebody contributed, with the card that it is of."""

    file: str
    card: Card
    document: Mapping[str, Any]


@dataclass(frozen=True)
class Contributions:
    """All contributed files that hold, by card and date, and what is wrong with the others.

    address: where the site publishes them, relative to its root.
    """

    rows: tuple[Contribution, ...] = ()
    defects: tuple[Defect, ...] = ()
    address: str = ""


def load(docs: Path, address: str, root: Path, cards: Iterable[Card]) -> Contributions:
    """Read `*.json` of the folder `address` of the docs; what does not hold is left out and becomes defects."""
    folder = docs / address
    known = {card.name: card for card in cards}
    checker = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text("utf-8")))
    rows, defects = [], []
    for path in sorted(one for one in folder.glob("*.json") if one.is_file()):
        name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
        found = [Defect(name, line, what, fix) for line, what, fix in _faults(path, checker, known)]
        defects += found
        if not found:
            document = json.loads(path.read_text("utf-8"))
            rows.append(Contribution(path.name, known[document["card"]], document))
    rows.sort(key=lambda row: (row.card.title, row.document["measured"]))
    return Contributions(tuple(rows), tuple(defects), address)


Fault = tuple[int | None, str, str]
"""The line, what is wrong, and what is allowed."""
_Placed = tuple[Sequence[str | int], str, str]
"""The same, with the way through the document in place of the line."""


def _faults(path: Path, checker: jsonschema.Draft202012Validator, known: Mapping[str, Card]) -> list[Fault]:
    if path.stat().st_size > MOST_BYTES:
        return [(None, f"the file has {path.stat().st_size:,} bytes", f"allowed: {MOST_BYTES:,}")]
    try:
        text = path.read_text("utf-8")
        document = json.loads(text, parse_constant=_no_number, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        return [(error.lineno, f"not valid JSON: {error.msg}", "")]
    # A number of thousands of digits is a ValueError.
    except (ValueError, RecursionError) as error:
        return [(None, f"not JSON in UTF-8: {error}", "")]
    fix = "the site publishes the schema beside the files"
    try:
        faults = sorted(checker.iter_errors(document), key=lambda fault: list(map(str, fault.absolute_path)))
        wrong: list[_Placed] = [(list(fault.absolute_path), fault.message, fix) for fault in faults]
        wrong = wrong or list(_beyond_the_schema(document, known))
    except RecursionError:
        return [(None, "it is nested too deeply", fix)]
    tree = _tree(text)
    said = [(_line(tree, place), _shortened(what), fix) for place, what, fix in wrong[:MOST_TOLD]]
    if len(wrong) > MOST_TOLD:
        said.append((None, f"there are {len(wrong) - MOST_TOLD:,} more faults in it", ""))
    return said


def _beyond_the_schema(document: Mapping[str, Any], known: Mapping[str, Card]) -> Iterator[_Placed]:
    """What no schema can say: who gives it, of which card, and whether the card can have reached it."""
    if "contributor" not in document:
        yield [], "it names no contributor", "write 'contributor' with 'name' and 'link'"
    yield from _ill_worded(document)
    if document["emulated"]:
        yield ["emulated"], "it is of an emulation, which says nothing of a card", ""
    if not document["products"] and not document["copies"]:
        yield [], "it holds no measurement", ""
    card = known.get(document["card"])
    if card is None:
        yield ["card"], f"there is no card '{document['card']}'", nearest(document["card"], known)
        return
    for at, product in enumerate(document["products"]):
        rates = [
            roof.flops_per_s
            for roof in card.roofs
            if product["format"] in roof.formats and (document["tensor_cores"] or not roof.tensor_cores)
        ]
        # Of a format without a figure of its own, the card's highest is still out of reach.
        most = CLOCK * max(rates or [roof.flops_per_s for roof in card.roofs])
        if product["flops_per_s"] > most:
            yield from _too_fast(["products", at, "flops_per_s"], product["flops_per_s"], most, card)
    for at, copy in enumerate(document["copies"]):
        if copy["bytes_per_s"] > CLOCK * card.bandwidth:
            yield from _too_fast(["copies", at, "bytes_per_s"], copy["bytes_per_s"], CLOCK * card.bandwidth, card)


def _no_number(text: str) -> float:
    raise ValueError(f"{text} is no number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key stands twice")
    return found


def _texts(value: Any, place: Sequence[str | int] = ()) -> Iterator[tuple[Sequence[str | int], str]]:
    """Every text of a document, with the way to it."""
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _texts(one, [*place, key])
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from _texts(one, [*place, at])


def _is_page(link: str) -> bool:
    """Whether a link leads to a host by name, and says nothing in front of it that looks like another."""
    try:
        parts = urlsplit(link)
        _ = parts.port  # raises where it is no number
        return bool(_HOST.fullmatch(parts.hostname or "")) and "@" not in parts.netloc
    except ValueError:
        return False


def _ill_worded(document: Mapping[str, Any]) -> Iterator[_Placed]:
    """Texts that nobody can see or follow, and a day that never was."""
    for place, text in _texts(document):
        if not text.isprintable() or _UNSEEN.search(text):
            yield place, "it holds characters that nobody sees", "write it in characters that are seen"
    link = document.get("contributor", {}).get("link", "")
    if link and not _is_page(link):
        yield ["contributor", "link"], f"{link!r} is the address of no page", "write https://, a host and a path"
    try:
        day = datetime.strptime(document["measured"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        if day.year not in YEARS:
            yield ["measured"], f"no file is of the year {day.year}", f"{YEARS[0]} to {YEARS[-1]}"
    except ValueError:
        yield ["measured"], f"there is no {document['measured']}", ""


def _too_fast(
    place: list[str | int], rate: float, most: float, card: Card
) -> Iterator[tuple[list[str | int], str, str]]:
    yield place, f"{rate:.3g} is more than a {card.title} can reach", f"at most {most:.3g}: its figure and a fifth more"


def _shortened(text: str) -> str:
    """A message of the schema's checker may repeat all that it is about."""
    return text if len(text) <= LONGEST_TOLD else f"{text[:LONGEST_TOLD]}…"


def _tree(text: str) -> yaml.Node | None:
    """A JSON text with the places of its values. JSON is YAML, whose reader knows them."""
    try:
        tree: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return None
    return tree


def _line(node: yaml.Node | None, place: Sequence[str | int]) -> int | None:
    """The line on which a value begins."""
    for key in place:
        if isinstance(node, yaml.SequenceNode) and isinstance(key, int):
            node = node.value[key]
        elif isinstance(node, yaml.MappingNode):
            node = next((value for name, value in node.value if name.value == key), node)
    return 1 + node.start_mark.line if node is not None else None
