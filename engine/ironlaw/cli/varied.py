"""Configurations that differ in some options, as columns (`compare`) or as rows (`sweep`): `--vary batch=1,2,4`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from ironlaw.cli.configurations import answer, read_any
from ironlaw.cli.estimate import ALWAYS, SUMS, title
from ironlaw.cli.options import GROUPS, OPTIONS
from ironlaw.cli.parser import Parser, show
from ironlaw.cli.terminal import Row, UsageError, closest, gigabytes, heading, number, percent, quoted, table, verdict

if TYPE_CHECKING:
    from ironlaw.answers.estimate import Estimate
    from ironlaw.answers.estimate_images import ImageSetup
    from ironlaw.config.resolved import Setup

MOST_COLUMNS = 6
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
MOST_ROWS = 10_000
HEADER = ("peak GB", "device GB", "fits", "step ms", "tokens/s", "MFU %", "bound by")
MOST_IN_A_RANGE = 10_000
ON_OFF = {"on": True, "off": False}


@dataclass(frozen=True, slots=True)
class Axis:
    """An option and the values it takes, as written."""

    flag: str
    values: tuple[str, ...]

    @property
    def name(self) -> str:
        """As written."""
        return self.flag.removeprefix("--")


@dataclass(frozen=True, slots=True)
class Variant:
    """One combination of values, as written, its configuration, and the options' names."""

    values: tuple[str, ...]
    setup: Setup | ImageSetup
    options: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The values that set it apart, with their options' names where there are several."""
        if len(self.values) == 1:
            return self.values[0]
        return " ".join(f"{option}={value}" for option, value in zip(self.options, self.values, strict=True))


def compare(words: Sequence[str]) -> int:
    """`python -m ironlaw compare --vary precision=fp32,amp-bf16`: configurations side by side."""
    values = varied_parser("compare", compare.__doc__ or "", MOST_COLUMNS).parse(words)
    axes, compared = variants(values, MOST_COLUMNS)
    found = [answer(one.setup) for one in compared]
    named = zip(compared, found, strict=True)
    show(values, lambda: {one.name: each.as_dict() for one, each in named}, columns(axes, compared, found))
    return 0


def columns(axes: Sequence[Axis], compared: Sequence[Variant], found: Sequence[Estimate]) -> Iterator[str]:
    """The estimates as columns, with the last relative to the first."""
    yield heading(title(compared[0].setup, [axis.flag for axis in axes]))
    header = ("", *(one.name for one in compared), "last/first" if len(found) > 1 else "")
    yield table([*_lines(found)], header, right=range(1, len(found) + 2))


def _lines(found: Sequence[Estimate]) -> Iterator[Row]:
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


def sweep(words: Sequence[str]) -> int:
    """`python -m ironlaw sweep --vary batch=1,2,4,8`: a row for every combination of values."""
    parser = varied_parser("sweep", sweep.__doc__ or "", MOST_ROWS)
    parser.add_switch("--csv", "print comma-separated values")
    values = parser.parse(words)
    if values["csv"] and values["json"]:
        raise UsageError("--csv is not allowed with --json; allowed: one of them")
    axes, swept = variants(values, MOST_ROWS)
    found = [answer(one.setup) for one in swept]
    records = (_record(axes, one, estimate) for one, estimate in zip(swept, found, strict=True))
    if values["csv"]:
        _print_csv([_flat(record) for record in records])
    else:
        show(values, lambda: [*records], as_rows(axes, swept, found))
    return 0


def as_rows(axes: Sequence[Axis], swept: Sequence[Variant], found: Sequence[Estimate]) -> Iterator[str]:
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


def read_axis(text: str) -> Axis:
    """An axis from `name=value,value`. Raises `UsageError` when the option is unknown or a value is missing."""
    name, equals, rest = text.partition("=")
    flag = "--" + name.removeprefix("--")
    if flag not in OPTIONS:
        known = [known.removeprefix("--") for known in OPTIONS]
        raise UsageError(
            f"--vary {quoted(text)} is not allowed: no option {quoted(name)}{closest(name, known)}; allowed: NAME=A,B"
        )
    values = tuple(rest.split(",")) if equals else ()
    if not values or "" in values:
        raise UsageError(f"--vary {quoted(text)} is not allowed: a value is missing; allowed: {name}=A,B")
    values = tuple(one for value in values for one in _range(text, value))
    if len(set(values)) < len(values):
        twice = next(value for value in values if values.count(value) > 1)
        raise UsageError(f"--vary {quoted(text)} is not allowed: {quoted(twice)} is given twice; give it once")
    return Axis(flag, values)


def _range(text: str, value: str) -> Iterable[str]:
    """The whole numbers of `A..B`, or a value by itself."""
    first, dots, last = value.partition("..")
    if not (dots and all(end.isascii() and end.isdigit() and len(end) < 10 for end in (first, last))):
        return (value,)
    count = int(last) - int(first) + 1
    if not 1 <= count <= MOST_IN_A_RANGE:
        raise UsageError(
            f"--vary {quoted(text)} is not allowed: {first}..{last} has {max(count, 0):,} values; "
            f"allowed: 1 to {MOST_IN_A_RANGE:,}"
        )
    return map(str, range(int(first), int(last) + 1))


def varied_parser(command: str, text: str, most: int) -> Parser:
    """A parser with all options of a configuration, `--vary` and `--json`."""
    parser = Parser(command, text)
    parser.add_options(GROUPS)
    parser.add_repeated(
        "--vary",
        read_axis,
        f"an option and its values, NAME=A,B or NAME=A..B; may be repeated; at most {most:,} combinations",
    )
    parser.add_switch("--json", "print JSON")
    return parser


def variants(values: dict[str, Any], most: int) -> tuple[tuple[Axis, ...], tuple[Variant, ...]]:
    """Every combination of the varied options' values, the last option changing fastest.

    Raises:
        UsageError: Nothing varies, an option varies twice, there are more than `most` combinations, or one of them
            is not possible.
    """
    axes: tuple[Axis, ...] = tuple(values.pop("vary"))
    if not axes:
        raise UsageError("--vary is missing; allowed: --vary NAME=A,B")
    flags = [axis.flag for axis in axes]
    if len(set(flags)) < len(flags):
        twice = next(flag for flag in flags if flags.count(flag) > 1)
        raise UsageError(f"--vary {twice.removeprefix('--')} is given twice; give all its values at once")
    for axis in axes:
        if OPTIONS[axis.flag].argument in values:
            raise UsageError(f"{axis.flag} is not allowed with --vary {axis.name}; give all its values there")
    count = prod(len(axis.values) for axis in axes)
    if count > most:
        raise UsageError(f"--vary makes {count:,} configurations; allowed: at most {most:,}")
    return axes, tuple(_variant(values, axes, chosen) for chosen in product(*(axis.values for axis in axes)))


def _variant(values: dict[str, Any], axes: Sequence[Axis], chosen: tuple[str, ...]) -> Variant:
    changed = dict(values)
    for axis, text in zip(axes, chosen, strict=True):
        option = OPTIONS[axis.flag]
        if option.kind is not None:
            changed[option.argument] = option.read(text)
        elif text not in ON_OFF:
            raise UsageError(f"{axis.flag} {text!r} is not allowed with --vary; allowed: on, off")
        else:
            changed[option.argument] = option.constant if ON_OFF[text] else not option.constant
    return Variant(chosen, read_any(changed), tuple(axis.name for axis in axes))
