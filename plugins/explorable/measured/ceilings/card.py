"""What a page knows of cards: their figures, from the book or from the block itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, get_args

from explorable.measured.tables.options import OptionError

Format = Literal["fp32", "fp16", "bf16"]
FORMATS: tuple[Format, ...] = get_args(Format)
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
    formats: tuple[Format, ...]
    flops_per_s: float
    tensor_cores: bool = False

    def __post_init__(self) -> None:
        """Raise `OptionError` for a rate that no card has."""
        _require_rate(self.flops_per_s, "flops_per_s", f"roof '{self.label}'")


@dataclass(frozen=True)
class Card:
    """A card by its name in files, its title, the peak rate of its memory in bytes per second, and its peaks."""

    name: str
    title: str
    bandwidth: float
    roofs: tuple[Roof, ...]

    def __post_init__(self) -> None:
        """Raise `OptionError` for another kind of name, and a rate that no card has."""
        if not _NAME.fullmatch(self.name):
            raise OptionError(f"{self.name!r} is no name of a card", "allowed: small letters and digits, with hyphens")
        _require_rate(self.bandwidth, "bandwidth", f"card '{self.name}'")


def _require_rate(value: float, key: str, where: str) -> None:
    if not 0 < value < float("inf"):
        raise OptionError(f"'{key}' of {where} is {value!r}", "allowed: a number that is more than 0")
