"""`python -m ironlaw compare --vary precision=fp32,amp-bf16`: configurations side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from ironlaw.cli.configurations import answer
from ironlaw.cli.estimate import ALWAYS, SUMS, title
from ironlaw.cli.parser import show
from ironlaw.cli.tables import Row, gigabytes, heading, number, table, verdict
from ironlaw.cli.vary import Axis, Variant, variants, varied_parser

if TYPE_CHECKING:
    from ironlaw.answers.estimate import Estimate

MOST = 6
LINES: tuple[tuple[str, Callable[[Estimate], float | None]], ...] = (
    ("step, ms", lambda e: e.time.step_s * 1000),
    ("tokens/s", lambda e: e.time.tokens_per_s),
    ("expected step, ms", lambda e: e.calibrated.step_s.expected * 1000 if e.calibrated else None),
    ("90 % from, ms", lambda e: e.calibrated.step_s.low * 1000 if e.calibrated else None),
    ("to, ms", lambda e: e.calibrated.step_s.high * 1000 if e.calibrated else None),
    ("MFU, %", lambda e: e.time.mfu and e.time.mfu * 100),
    ("HFU, %", lambda e: e.time.hfu and e.time.hfu * 100),
    ("model TFLOP/step", lambda e: e.flops.model_per_step / 1e12),
    ("hardware TFLOP/step", lambda e: e.flops.hardware_per_step / 1e12),
    ("mJ/token", lambda e: e.energy_j_per_token * 1000),
    ("dollars/1e9 tokens", lambda e: e.usd_per_1e9_tokens),
)


def run(words: Sequence[str]) -> int:
    """Compare and print."""
    values = varied_parser("compare", __doc__ or "", MOST).parse(words)
    axes, compared = variants(values, MOST)
    found = [answer(one.setup) for one in compared]
    named = zip(compared, found, strict=True)
    show(values, lambda: {one.name: each.as_dict() for one, each in named}, render(axes, compared, found))
    return 0


def render(axes: Sequence[Axis], compared: Sequence[Variant], found: Sequence[Estimate]) -> Iterator[str]:
    """The estimates as columns, with the last relative to the first."""
    yield heading(title(compared[0].setup, [axis.flag for axis in axes]))
    header = ("", *(one.name for one in compared), "last/first" if len(found) > 1 else "")
    yield table([*_rows(found)], header, right=range(1, len(found) + 2))


def _rows(found: Sequence[Estimate]) -> Iterator[Row]:
    for name in (*SUMS, "workspace", "peak_balance", "allocated_peak", "device_total"):
        sizes = [getattr(one.memory_bytes, name) for one in found]
        if any(sizes) or name in ALWAYS:
            yield (f"{name.replace('_', ' ')}, GB", *map(gigabytes, sizes), _ratio(sizes))
    yield ("fits", *(verdict(one.fits) for one in found), "")
    for title_, value in LINES:
        values = [value(one) for one in found]
        yield (title_, *("-" if one is None else number(one) for one in values), _ratio(values))
    yield ("bound by", *(one.time.bound_by for one in found), "")


def _ratio(values: Sequence[float | None]) -> str:
    first, last = values[0], values[-1]
    if len(values) < 2 or not first or last is None or min(first, last) < 0:
        return ""
    return f"x {last / first:.2f}"
