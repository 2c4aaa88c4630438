"""Configurations that differ in some options: `--vary batch=1,2,4` makes three of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from ironlaw.cli.configurations import read_any
from ironlaw.cli.errors import UsageError, closest, quoted
from ironlaw.cli.options import GROUPS, OPTIONS
from ironlaw.cli.parser import Parser

if TYPE_CHECKING:
    from ironlaw.answers.estimate_images import ImageSetup
    from ironlaw.config.resolved import Setup

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
