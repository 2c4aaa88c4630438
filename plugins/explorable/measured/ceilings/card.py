"""What a page knows of cards: their figures, from the book or from the block itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from explorable.measured.tables.options import OptionError
from explorable.shared.errors import nearest

FORMATS = ("fp32", "fp16", "bf16")
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Roof:
    """A peak of a card.

    Attributes:
        label: What a picture calls it.
        formats: Of the operands, some of `FORMATS`.
        flops_per_s: FLOP per second.
        tensor_cores: Whether only tensor cores reach it.
    """

    label: str
    formats: tuple[str, ...]
    flops_per_s: float
    tensor_cores: bool = False


@dataclass(frozen=True)
class Card:
    """A card by its name in files, its title, the peak rate of its memory in bytes per second, and its peaks."""

    name: str
    title: str
    bandwidth: float
    roofs: tuple[Roof, ...]


def parse_cards(given: Any) -> tuple[Card, ...]:
    """The option `cards` of a block. Raises `OptionError`."""
    if not isinstance(given, list) or not given:
        raise OptionError("'cards' is no list", "write '- {name: …, title: …, bandwidth: …, roofs: […]}' per card")
    return tuple(_card(entry) for entry in given)


def _card(entry: Any) -> Card:
    _keys(entry, ("name", "title", "bandwidth", "roofs"), "a card")
    name, roofs = entry["name"], entry["roofs"]
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise OptionError(f"{name!r} is no name of a card", "allowed: small letters and digits, with hyphens")
    if not isinstance(roofs, list):
        raise OptionError(f"'roofs' of card '{name}' is no list", "write 'roofs: [{label: FP32, …}]'")
    return Card(name, str(entry["title"]), _rate(entry, "bandwidth", f"card '{name}'"), tuple(map(_roof, roofs)))


def _roof(entry: Any) -> Roof:
    _keys(entry, ("label", "formats", "flops_per_s"), "a roof", ("tensor_cores",))
    formats = entry["formats"]
    for one in formats if isinstance(formats, list) else [formats]:
        if one not in FORMATS:
            raise OptionError(f"there is no format {one!r}", nearest(str(one), FORMATS))
    label = str(entry["label"])
    tensor_cores = entry.get("tensor_cores", False) is True
    return Roof(label, tuple(formats), _rate(entry, "flops_per_s", f"roof '{label}'"), tensor_cores)


def _rate(entry: Mapping[str, Any], key: str, where: str) -> float:
    try:
        # YAML takes 1e12 for a text.
        value = float(entry[key])
    except (TypeError, ValueError):
        value = 0.0
    if not 0 < value < float("inf"):
        raise OptionError(f"'{key}' of {where} is {entry[key]!r}", "allowed: a number that is more than 0")
    return value


def _keys(entry: Any, needed: Sequence[str], what: str, allowed: Sequence[str] = ()) -> None:
    if not isinstance(entry, dict):
        raise OptionError(f"{entry!r} is not {what}", f"write {{{', '.join(f'{key}: …' for key in needed)}}}")
    for key in entry:
        if key not in (*needed, *allowed):
            raise OptionError(f"{what} has no '{key}'", nearest(str(key), (*needed, *allowed)))
    for key in needed:
        if key not in entry:
            raise OptionError(f"{what} lacks '{key}'", f"write '{key}: …'")
