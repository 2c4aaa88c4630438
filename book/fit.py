"""The block of a card: what the engine predicts to fit it, as tables and curves, with the measured points upon them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from xml.etree.ElementTree import Element

import ironlaw
from book.commands import command
from book.fit_curves import Line, Panel, draw
from explorable.measured.tables.options import OptionError, read_yaml
from explorable.shared.errors import nearest
from explorable.shared.markup import element, tabled
from gpu_bench.cases.card import POLICIES
from gpu_bench.predict.outlook import Curve, curve, fit_cases, measured_memory, measured_speed
from gpu_bench.record.load import read, record_files
from gpu_bench.record.store import RESULTS

SHOWS = ("batches", "speeds", "memory", "tokens")
SETTINGS = {"plain": "amp", "conservative": "checkpointing", "aggressive": "16-bit-weights"}
"""The three that are drawn: everything usual; all that changes no result; all that saves memory."""
_GIB = 2**30


@dataclass(frozen=True)
class Options:
    """What the author asked for.

    card: gigabytes of the emulated card.
    show: `batches` and `speeds` are tables of all settings; `memory` and `tokens` are curves of three.
    caption: plain text.
    """

    card: int
    show: str
    caption: str


def parse(argument: str, text: str) -> Options:
    """Read the block. Raises `OptionError`."""
    data = read_yaml(text)
    if not argument.isdigit():
        raise OptionError("the block names no card", "write '/// fit | 16', with the card's gigabytes")
    if not isinstance(data, dict) or set(data) != {"show", "caption"}:
        raise OptionError("the block needs 'show' and 'caption', and nothing else")
    if data["show"] not in SHOWS:
        raise OptionError(f"'show' is {data['show']!r}", nearest(str(data["show"]), SHOWS))
    return Options(int(argument), data["show"], str(data["caption"]))


def block(argument: str, text: str) -> Element:
    """The HTML of the block, with what was measured. Raises `OptionError` for what it cannot show."""
    return build(parse(argument, text), _records())


@cache
def _records() -> Sequence[Mapping[str, Any]]:
    """All valid records. What is wrong with others, the build says where it reads them for the pages."""
    read_all = (read(file)[0] for file in record_files([RESULTS]))
    return [record for record in read_all if record is not None]


def build(options: Options, records: Iterable[Mapping[str, Any]]) -> Element:
    """The HTML for options that were read. Raises `OptionError` for a card that is not emulated."""
    try:
        cases = fit_cases(options.card)
    except ValueError as error:
        raise OptionError(str(error)) from error
    shown = tuple(POLICIES) if options.show in ("batches", "speeds") else tuple(SETTINGS.values())
    curves = {(case.model, policy): curve(case, policy) for case in cases for policy in shown}
    if options.show in ("batches", "speeds"):
        return _table(options, [[curves[case.model, policy] for case in cases] for policy in shown])
    known = list(records)
    in_memory = options.show == "memory"
    panels, dots = [], 0
    for case in cases:
        lines = []
        for name, policy in SETTINGS.items():
            found = measured_memory(case, policy, known) if in_memory else measured_speed(case, policy, known)
            dots += len(found)
            scale = _GIB if in_memory else 1e3
            lines.append(Line(name, _values(curves[case.model, policy], in_memory), [(b, v / scale) for b, v in found]))
        panels.append(Panel(_size(curves[case.model, "amp"]), lines))
    told = " ".join(_told([curves[case.model, policy] for policy in SETTINGS.values()], in_memory) for case in cases)
    limit = cases[0].memory_limit / _GIB
    svg = draw(
        panels,
        "memory (GiB)" if in_memory else "thousand tokens/s",
        limit=limit if in_memory else None,
        limit_text=f"{limit:.1f} GiB",
        alternative=f"{options.caption} {told}",
    )
    caption = element("figcaption", element("p", f"{options.caption} ", *_note(dots, in_memory)))
    return element("figure", svg, caption, class_="il-measured-plot")


def _size(one: Curve) -> str:
    """The size as the text writes it: `124M`."""
    return one.size.upper()


def _values(one: Curve, in_memory: bool) -> list[tuple[int, float]]:
    """Memory of every batch in GiB; or thousand tokens/s of those that fit."""
    if in_memory:
        return [(point.batch, point.memory / _GIB) for point in one.points]
    return [(point.batch, point.tokens_per_s / 1e3) for point in one.fitting]


def _told(curves: Sequence[Curve], in_memory: bool) -> str:
    """A plot in words: how far each setting comes."""
    parts = []
    for name, one in zip(SETTINGS, curves, strict=True):
        first, largest = one.points[0], one.largest
        if largest is None:
            parts.append(f"{name} does not fit, it needs {first.memory / _GIB:.1f} GiB for a single sequence")
        elif in_memory:
            parts.append(f"{name} fits up to batch {largest.batch}, with {largest.memory / _GIB:.1f} GiB")
        else:
            begin = f"{first.tokens_per_s:,.0f} tokens/s at batch 1"
            parts.append(f"{name} from {begin} to {largest.tokens_per_s:,.0f} at batch {largest.batch}")
    return f"{_size(curves[0])}: {'; '.join(parts)}."


def _note(dots: int, in_memory: bool) -> list[Element | str]:
    """What is predicted and what is measured of the curves."""
    lines = f"Lines are predictions of the engine, version {ironlaw.__version__}."
    if dots:
        return [f"{lines} Marks are measured: {dots}."]
    if in_memory:
        return [f"{lines} No point is measured yet; ", element("code", command("fit")), " measures them."]
    return [f"{lines} No point is measured yet, for no such card has run them."]


def _table(options: Options, rows: Sequence[Sequence[Curve]]) -> Element:
    """All settings by size: the largest batch, or the speed there."""
    sizes = [element("th", _size(one), scope="col", class_="il-measured-table__number") for one in rows[0]]
    body = [
        element("tr", element("th", row[0].policy, scope="row"), *(_cell(options, one) for one in row)) for row in rows
    ]
    table = tabled(options.caption, [element("th", "Setting", scope="col"), *sizes], body)
    note = f"Predicted by the engine, version {ironlaw.__version__}; not measured. “none”: not even one sequence fits."
    return element("div", table, element("p", note, class_="il-measured-table__note"), class_="il-measured-table")


def _cell(options: Options, one: Curve) -> Element:
    largest = one.largest
    text = "none" if largest is None else f"{largest.batch if options.show == 'batches' else largest.tokens_per_s:,.0f}"
    return element("td", text, class_="il-measured-table__number")
