"""Text for a terminal: tables aligned on the decimal point, colored for eyes; bad input said in one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ironlaw.core.errors import MISSING, Spelling, in_python
from ironlaw.core.errors import closest as closest

if TYPE_CHECKING:
    from ironlaw.cli.options import Option

UNNAMED = "this model"
"""The name of a model that is given by its shape, of which no option is the name."""

OTHER_WORDS = {
    "sequence": "--seq", "sequence-length": "--seq", "seq-len": "--seq",
    "batch-size": "--batch", "micro-batch": "--batch"
}  # fmt: skip
"""Options by the names that they have in other programs."""
LONGEST = 60
"""Characters of a typed text that a message repeats."""


class UsageError(Exception):
    """Bad input. The message is one line: the option, the value, what is allowed."""


def quoted(text: str) -> str:
    """What somebody typed, in quotes, and cut where it is long."""
    return repr(text if len(text) <= LONGEST else text[:LONGEST] + "...")


def closest_flag(word: str, known: Iterable[str]) -> str:
    """`", did you mean --x?"` for the option most similar to `word`, dashes ignored; or nothing."""
    bare = word.lstrip("-")
    flags = {flag.lstrip("-"): flag for flag in known}
    if (meant := OTHER_WORDS.get(bare)) in flags.values():
        return f", did you mean {meant}?"
    found = f", did you mean {bare}?" if bare in flags else closest(bare, flags)
    return found.replace("did you mean ", "did you mean --") if found else ""


def in_options(options: Iterable[Option]) -> Spelling:
    """How the command line writes arguments: the option instead, and a switch without a value."""
    flags = {(option.argument, option.constant if option.kind is None else MISSING): option.flag for option in options}

    def spell(what: str, value: object = MISSING, *, accepted: bool = False) -> str:
        if isinstance(value, bool) and (switch := flags.get((what, value))):
            return switch
        if what == "model" and value == UNNAMED:
            return UNNAMED
        return in_python(flags.get((what, MISSING), what), value, accepted=accepted)

    return spell


COLORS = {
    "memory": "34",
    "compute": "32",
    "over": "31;1",
    "optimizer": "35",
    "good": "32",
    "strong": "1",
    "faint": "2",
}
"""One meaning, one color, as on the site: memory blue, compute green, over the limit red, optimizer state violet."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Text with a meaning that may be colored."""

    text: str
    meaning: str = ""


Row = Sequence[str | Cell]


def colored() -> bool:
    """Whether to color: a terminal, and neither `NO_COLOR` nor a terminal that cannot."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, meaning: str) -> str:
    """The text in its meaning's color, if colors are wanted."""
    if not meaning or not colored():
        return text
    return f"\033[{COLORS[meaning]}m{text}\033[0m"


def visible(text: str) -> str:
    """A file's lines; what a terminal would obey, or not show, is written as Python writes it in a text."""
    return "\n".join(_visible(line, len(line.removesuffix("\r"))) for line in text.split("\n"))


def _visible(line: str, end: int) -> str:
    shown = (one if one.isprintable() or one == "\t" else repr(one)[1:-1] for one in line[:end])
    return "".join(shown) + line[end:]


def heading(text: str) -> str:
    """A heading."""
    return paint(text, "strong")


def section(title: str, *lines: str) -> str:
    """A heading behind an empty line, and what stands below it."""
    return "\n".join(("", heading(title), *lines))


def verdict(fits: bool) -> Cell:
    """Whether something fits, as a word."""
    return Cell("yes", "good") if fits else Cell("no", "over")


def table(rows: Sequence[Row], header: Sequence[str] = (), *, right: Sequence[int] = (), indent: int = 2) -> str:
    """Rows as aligned columns.

    Args:
        rows: Cells; every row has as many.
        header: Titles of the columns with their units; none when empty.
        right: Columns that hold numbers: aligned on the right.
        indent: Spaces before every line.
    """
    cells = [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]
    lines = [[Cell(title, "faint") for title in header], *cells] if header else cells
    widths = [max(len(cell.text) for cell in column) for column in zip(*lines, strict=True)]
    return "\n".join(_line(line, widths, right, indent) for line in lines)


def _line(cells: Sequence[Cell], widths: Sequence[int], right: Sequence[int], indent: int) -> str:
    parts = []
    for index, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        space = " " * (width - len(cell.text))
        text = paint(cell.text, cell.meaning)
        parts.append(space + text if index in right else text + space)
    return (" " * indent + "  ".join(parts)).rstrip()


def gigabytes(size: float) -> str:
    """Bytes as GB with two decimals."""
    return f"{size / 1e9:,.2f}"


def percent(share: float | None) -> str:
    """A share in percent with one decimal; a dash where there is none."""
    return "-" if share is None else f"{100 * share:.1f}"


def number(value: float) -> str:
    """A number with about four digits that matter, and separators where it is long."""
    size = abs(value)
    if value == 0:
        return "0"
    if size >= 1e15 or size < 1e-3:
        return f"{value:.3e}"
    digits = 4 if size < 1 else max(0, 4 - len(str(int(size))))
    return f"{value:,.{digits}f}"
