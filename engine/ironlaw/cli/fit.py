"""`python -m ironlaw fit`: does it fit, and what is the cheapest change that makes it fit?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import prod
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from ironlaw.cli.configurations import read_setup
from ironlaw.cli.estimate import title
from ironlaw.cli.parser import configuration_parser, show
from ironlaw.cli.terminal import Cell, Row, gigabytes, heading, paint, section, table

if TYPE_CHECKING:
    from ironlaw.answers.fitting import Fit, Tried
    from ironlaw.config.resolved import Setup

EXIT_CODES = "Exit code: 0 when it fits or can be made to, 1 when no change tried makes it fit, 2 for bad input."
HEADER = ("change", "saves GB", "time per token", "then needs GB", "")


def run(words: Sequence[str]) -> int:
    """Search and print. The exit code is 1 when nothing makes it fit."""
    values = configuration_parser("fit", f"{__doc__} {EXIT_CODES}").parse(words)
    asked = read_setup(values)
    from ironlaw.answers.fitting import fit

    answer = fit(asked)
    show(values, lambda: as_dict(answer), render(asked, answer))
    return 0 if answer.possible else 1


def as_dict(answer: Fit) -> dict[str, Any]:
    """The answer as plain data."""
    plain = asdict(answer)
    del plain["setup"]
    return plain


def render(asked: Setup, answer: Fit) -> Iterator[str]:
    """The answer as text."""
    notes = _notes(answer)
    yield heading(title(asked))
    need, has = gigabytes(answer.device_total), gigabytes(answer.capacity)
    if answer.fits:
        yield paint(f"It fits: {need} of {has} GB.", "good")
        yield f"The largest micro-batch that fits is {answer.largest_batch:,}."
    else:
        yield paint(f"It does not fit: {need} of {has} GB.", "over")
        yield from _cheapest(answer, notes)
    if answer.single:
        yield section("Each change alone", _table(answer.single, notes))
    if notes:
        yield ""
        yield from (f"  {letter} {text}" for text, letter in notes.items())


def _notes(answer: Fit) -> dict[str, str]:
    """What changes give up, each with the letter that marks it in the tables."""
    tried = (*answer.cheapest, *answer.risky, *([answer.devices] if answer.devices else []), *answer.single)
    texts = dict.fromkeys(one.gives_up for one in tried if one.gives_up)
    return {text: f"[{letter}]" for text, letter in zip(texts, ascii_lowercase, strict=False)}


def _cheapest(answer: Fit, notes: dict[str, str]) -> Iterator[str]:
    from ironlaw.answers.cheapest import SPARE

    if answer.cheapest:
        name = "Cheapest changes, together" if len(answer.cheapest) > 1 else "Cheapest change"
        yield section(name, _table(answer.cheapest, notes, together=True))
    else:
        yield ""
        yield paint(
            "None of the changes tried that keep weights in full precision makes it fit on as many devices.", "over"
        )
    if answer.risky:
        name = "Cheaper, but it may harm training" if answer.cheapest else "What makes it fit, but may harm training"
        yield section(name, _table(answer.risky, notes, together=True))
    if answer.devices:
        yield section("On more devices", _table((answer.devices,), notes))
    yield ""
    yield f"A suggestion leaves {SPARE:.0%} of the memory free where it can, because gaps between tensors take some."
    if answer.largest_batch:
        yield f"Or train on fewer sequences: the largest micro-batch that fits is {answer.largest_batch:,}."


def _table(tried: Sequence[Tried], notes: dict[str, str], *, together: bool = False) -> str:
    rows: list[Row] = [
        (
            f"{one.option} {notes.get(one.gives_up, '')}".strip(),
            gigabytes(one.saves),
            f"x {one.slowdown:.2f}",
            Cell(gigabytes(one.device_total), "good" if one.fits else ""),
            "fits" if one.fits else "",
        )
        for one in tried
    ]
    if together and len(tried) > 1:
        slowdown = prod(one.slowdown for one in tried)
        saved = sum(one.saves for one in tried)
        total = gigabytes(tried[-1].device_total)
        rows.append(("together", gigabytes(saved), f"x {slowdown:.2f}", Cell(total, "good"), "fits"))
    return table(rows, HEADER, right=(1, 2, 3))
