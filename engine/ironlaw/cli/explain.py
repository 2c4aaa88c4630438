"""`python -m ironlaw explain`: the sums behind an estimate, line by line, with the sources they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from ironlaw.cli.configurations import read_setup
from ironlaw.cli.estimate import title
from ironlaw.cli.parser import configuration_parser, show
from ironlaw.cli.tables import Cell, Row, gigabytes, heading, number, section, table

if TYPE_CHECKING:
    from ironlaw.answers.explanation import Explanation, Line
    from ironlaw.config.resolved import Setup


def run(words: Sequence[str]) -> int:
    """Explain and print."""
    values = configuration_parser("explain", __doc__ or "").parse(words)
    asked = read_setup(values)
    from ironlaw.answers.explanation import explain

    explanation = explain(asked)
    show(values, lambda: asdict(explanation), render(asked, explanation))
    return 0


def render(asked: Setup, found: Explanation) -> Iterator[str]:
    """The explanation as text."""
    yield heading(title(asked))
    yield f"B = {asked.batch:,} (sequences in a micro-batch), T = {asked.sequence:,} (tokens in a sequence)"
    if asked.layout.context > 1:
        yield f"What is kept counts the {asked.own_sequence:,} tokens of a sequence that one device has as T."
    yield _sum("Parameters", found.parameters, "elements")
    yield _sum("Memory whatever the batch, on the busiest GPU", found.static, "GB")
    yield _sum("Memory kept from forward to backward", found.saved, "GB")
    most = max(line.value for line in found.moments)
    rows: list[Row] = [
        (line.name, Cell(gigabytes(line.value), "strong" if line.value == most else ""), "peak" * (line.value == most))
        for line in found.moments
    ]
    peaks = table(rows, ("moment", "GB", ""), right=(1,))
    yield section("Allocated at the moments at which memory can peak", peaks)
    products = [(line.name, line.formula, number(line.value / 1e12)) for line in found.flops]
    header = ("operation", "forward FLOPs", "TFLOP")
    yield section("Matrix products of one micro-batch of one replica", table(products, header, right=(2,)))
    seconds = [(line.name, number(line.value * 1000), line.formula) for line in found.time]
    yield section("Time of one optimizer step", table(seconds, ("", "ms", ""), right=(1,)))
    yield section("Sources", *(f"  {source}" for source in found.sources))


def _sum(name: str, lines: Sequence[Line], unit: str) -> str:
    value = _whole if unit == "elements" else gigabytes
    rows: list[Row] = [(line.name, line.formula, value(line.value)) for line in lines]
    total = Cell(value(sum(line.value for line in lines)), "strong")
    return section(name, table([*rows, (Cell("sum", "strong"), "", total)], ("tensor", "", unit), right=(2,)))


def _whole(value: float) -> str:
    return f"{value:,.0f}"
