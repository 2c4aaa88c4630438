"""`python -m engine explain`: the sums behind an estimate, line by line, with the sources they rest on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from engine.cli.configurations import read_setup
from engine.cli.estimate import title
from engine.cli.parser import configuration_parser, output_is_json, print_json
from engine.cli.tables import Cell, Row, gigabytes, heading, number, table

if TYPE_CHECKING:
    from engine.answers.explanation import Explanation, Line
    from engine.config.setup import Setup


def run(words: Sequence[str]) -> int:
    """Explain and print."""
    values = configuration_parser("explain", __doc__ or "").parse(words)
    asked = read_setup(values)
    from engine.answers.explanation import explain

    explanation = explain(asked)
    if output_is_json(values):
        print_json(as_dict(explanation))
    else:
        print("\n".join(render(asked, explanation)))
    return 0


def as_dict(explanation: Explanation) -> dict[str, Any]:
    """The explanation as plain data."""
    from dataclasses import asdict

    return asdict(explanation)


def render(asked: Setup, found: Explanation) -> Iterator[str]:
    """The explanation as text."""
    yield heading(title(asked))
    yield f"B = {asked.batch:,} (sequences in a micro-batch), T = {asked.sequence:,} (tokens in a sequence)"
    yield from _sum("Parameters", found.parameters, "elements", f"{found.parameter_total:,}")
    static = gigabytes(sum(line.value for line in found.static))
    yield from _sum("Memory whatever the batch, on the busiest GPU", found.static, "GB", static)
    saved = gigabytes(sum(line.value for line in found.saved))
    yield from _sum("Memory kept from forward to backward", found.saved, "GB", saved)
    yield ""
    yield heading("Allocated at the moments at which memory can peak")
    most = max(line.value for line in found.moments)
    rows: list[Row] = [
        (line.name, Cell(gigabytes(line.value), "strong" if line.value == most else ""), "peak" * (line.value == most))
        for line in found.moments
    ]
    yield table(rows, ("moment", "GB", ""), right=(1,))
    yield ""
    yield heading("Matrix products of one micro-batch of one replica")
    yield table(
        [(line.name, line.formula, number(line.value / 1e12)) for line in found.flops],
        ("operation", "forward FLOPs", "TFLOP"),
        right=(2,),
    )
    yield ""
    yield heading("Time of one optimizer step")
    yield table(
        [(line.name, number(line.value * 1000), line.formula) for line in found.time], ("", "ms", ""), right=(1,)
    )
    yield ""
    yield heading("Sources")
    yield from (f"  {source}" for source in found.sources)


def _sum(name: str, lines: Sequence[Line], unit: str, total: str) -> Iterator[str]:
    yield ""
    yield heading(name)
    value = _whole if unit == "elements" else gigabytes
    rows: list[Row] = [(line.name, line.formula, value(line.value)) for line in lines]
    yield table([*rows, (Cell("sum", "strong"), "", Cell(total, "strong"))], ("tensor", "", unit), right=(2,))


def _whole(value: float) -> str:
    return f"{value:,.0f}"
