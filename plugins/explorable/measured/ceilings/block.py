"""The block `/// ceilings`: measures the reader's card in the browser, beside the figures that the book has of it.

The page's program is `live/web/src/ceilings/`; here the cards are written into the page. Nothing that a reader measures
becomes a figure of the book.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any
from xml.etree.ElementTree import Element

from explorable.book import current
from explorable.measured.ceilings.card import Card
from explorable.measured.tables.options import OptionError, read_options
from explorable.shared.markup import element

MOST_SECONDS = 120


@dataclass(frozen=True)
class Options:
    """What an author asks for.

    seconds: how long a measurement takes, about.
    shell: the command that measures the same outside of a browser; empty for none.
    cards: figures of cards; empty for those of the book.
    """

    seconds: int = 20
    shell: str = ""
    cards: tuple[Card, ...] = ()

    def __post_init__(self) -> None:
        """Raise `OptionError` for a time that no reader waits."""
        if not 1 <= self.seconds <= MOST_SECONDS:
            raise OptionError(f"'seconds' is {self.seconds}", f"allowed: 1 to {MOST_SECONDS}")


def block(argument: str, text: str, records: Sequence[Mapping[str, Any]]) -> Element:
    """The HTML of the block, with the book's cards if it names none. Raises `OptionError`."""
    return build(text, current().cards())


def build(text: str, cards: Sequence[Card]) -> Element:
    """The element with the figures of its own cards, or of these. Raises `OptionError`."""
    options: Options = read_options(Options, text)
    known = json.dumps([asdict(card) for card in options.cards or cards], ensure_ascii=False, separators=(",", ":"))
    given = {"data_cards": known, "data_seconds": str(options.seconds), "data_shell": options.shell}
    words: list[Element | str] = ["Measuring needs JavaScript."]
    if options.shell:
        words += [" ", element("code", options.shell), " measures the same in a shell."]
    return element("live-ceilings", element("p", *words, class_="il-help"), **given)
