"""`python -m ironlaw sweep --vary batch=1,2,4,8`: a row for every combination of values."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ironlaw.cli.configurations import answer
from ironlaw.cli.errors import UsageError
from ironlaw.cli.estimate import title
from ironlaw.cli.parser import show
from ironlaw.cli.tables import Row, gigabytes, heading, number, percent, table, verdict
from ironlaw.cli.vary import Axis, Variant, variants, varied_parser

if TYPE_CHECKING:
    from ironlaw.answers.estimate import Estimate

MOST = 10_000
HEADER = ("peak GB", "device GB", "fits", "step ms", "tokens/s", "MFU %", "bound by")


def run(words: Sequence[str]) -> int:
    """Sweep and print."""
    parser = varied_parser("sweep", __doc__ or "", MOST)
    parser.add_switch("--csv", "print comma-separated values")
    values = parser.parse(words)
    if values["csv"] and values["json"]:
        raise UsageError("--csv is not allowed with --json; allowed: one of them")
    axes, swept = variants(values, MOST)
    found = [answer(one.setup) for one in swept]
    records = (_record(axes, one, estimate) for one, estimate in zip(swept, found, strict=True))
    if values["csv"]:
        _print_csv([_flat(record) for record in records])
    else:
        show(values, lambda: [*records], render(axes, swept, found))
    return 0


def render(axes: Sequence[Axis], swept: Sequence[Variant], found: Sequence[Estimate]) -> Iterator[str]:
    """A table with the varied options first."""
    yield heading(title(swept[0].setup, [axis.flag for axis in axes]))
    rows = [_row(one, estimate) for one, estimate in zip(swept, found, strict=True)]
    count = len(axes)
    right = (*range(count, count + 2), *range(count + 3, count + 6))
    yield table(rows, (*(axis.name for axis in axes), *HEADER), right=right)


def _row(one: Variant, found: Estimate) -> Row:
    return (
        *one.values,
        gigabytes(found.memory_bytes.allocated_peak),
        gigabytes(found.memory_bytes.device_total),
        verdict(found.fits),
        number(found.time.step_s * 1000),
        number(found.time.tokens_per_s),
        percent(found.time.mfu),
        found.time.bound_by,
    )


def _record(axes: Sequence[Axis], one: Variant, found: Estimate) -> dict[str, Any]:
    """The varied options, as written, and the estimate without its sentences."""
    options = {axis.name: value for axis, value in zip(axes, one.values, strict=True)}
    estimate = found.as_dict()
    del estimate["assumptions"]
    return {"options": options, **estimate}


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """Nested names joined by dots."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            prefix = "" if name == "options" else f"{name}."
            flat |= {f"{prefix}{inner}": entry for inner, entry in _flat(value).items()}
        else:
            flat[name] = value
    return flat


def _print_csv(rows: Sequence[dict[str, Any]]) -> None:
    import csv

    writer = csv.DictWriter(sys.stdout, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
