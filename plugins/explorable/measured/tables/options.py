"""The YAML under `/// measured | suite`: what a table shows, read strictly so that a typing error is a defect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import yaml
from markdown.util import STX

from explorable.measured.errors import MeasuredError
from explorable.measured.values.quantities import Format, parse_format
from explorable.shared import typed, yaml_text
from explorable.shared.errors import nearest

MOST_COLUMNS = 7
"""More do not fit on a phone; the case's own column counts."""


class OptionError(MeasuredError):
    """A mistake in the YAML of a block."""


@dataclass(frozen=True)
class Captioned:
    """What every table has: a caption in plain text."""

    caption: str

    def __post_init__(self) -> None:
        """Raise `OptionError` for an empty one."""
        require_words(self, "caption")


@dataclass(frozen=True)
class Column:
    """A column of a measured table.

    label: the header, without the unit.
    path: where the value stands in the record.
    unit, format: of the number; empty for text.
    spread: whether a sampled value shows half its interquartile range.
    per: path of a value that the number is divided by.
    ratio: path of a value that the number is shown relative to, or `first` for the number in the first row.
    error: path of a value that the number should equal; shown is by which share it is off.
    """

    label: str
    path: str
    unit: str = ""
    format: str = ""
    spread: bool = True
    per: str = ""
    ratio: str = ""
    error: str = ""

    def __post_init__(self) -> None:
        """Raise `MeasuredError` for what no column can show."""
        require_words(self, "label", "path")
        where = f"column '{self.label}'"
        if self.ratio and self.error:
            raise OptionError(f"{where} has ratio and error", "keep one of them")
        if self.format and not self.unit:
            raise OptionError(f"{where} has a 'format' without a 'unit'", "add the unit, '1' for a pure number")
        if not self.form and self.derived:
            raise OptionError(f"{where} is computed and has no 'unit'", "add it, '%' or '1' for a share")

    @cached_property
    def form(self) -> Format | None:
        """How its number is shown; None for text. Raises `MeasuredError` for a unit that there is not."""
        return parse_format(f"{self.unit} {self.format}") if self.unit else None

    @property
    def derived(self) -> bool:
        """Whether the number is computed from several values of the record."""
        return bool(self.per or self.ratio or self.error)


@dataclass(frozen=True)
class Plot:
    """A plot of a table.

    y: label of the column that is drawn.
    x: path of the number that gives the horizontal position; empty for a bar per row.
    x_label: what it is called.
    log: whether the horizontal axis is logarithmic.
    """

    y: str
    x: str = ""
    x_label: str = ""
    log: bool = False


@dataclass(frozen=True)
class TableOptions(Captioned):
    """A measured table as its author asked for it.

    columns: in order, the column of the cases left out.
    cases: case name -> label in the first column, or names alone; empty for all cases of the suite.
    device: only this device's records; None for any.
    rows: `cases` for a row per case; `points`, `policies` or `runs` for the parts of one case.
    plot: the column to draw below the table; None for no plot.
    """

    columns: tuple[Column, ...]
    cases: Mapping[str, str] | tuple[str, ...] = ()
    device: str | None = None
    rows: Literal["cases", "points", "policies", "runs"] = "cases"
    plot: Plot | None = None

    def __post_init__(self) -> None:
        """Raise `OptionError` for a table that no page can show."""
        super().__post_init__()
        if not 1 <= len(self.columns) < MOST_COLUMNS:
            wrong = "too many for a phone" if self.columns else "too few"
            raise OptionError(
                f"{len(self.columns)} columns and the one of the cases are {wrong}",
                f"allowed: 1 to {MOST_COLUMNS - 1}, or make two tables",
            )
        if self.rows != "cases" and len(self.cases) != 1:
            raise OptionError(f"a table of {self.rows} needs one case", "name it: 'cases: [name]'")
        if plot := self.plot:
            drawn = next((column for column in self.columns if column.label == plot.y), None)
            if drawn is None:
                raise OptionError(
                    f"the plot has no column '{plot.y}'", nearest(plot.y, [c.label for c in self.columns])
                )
            if drawn.form is None:
                raise OptionError(f"column '{plot.y}' is text", "plot one that has a 'unit'")
            if plot.x and not plot.x_label:
                raise OptionError("'x_label' of the plot is missing", "say in words what stands on the horizontal axis")

    @property
    def labels(self) -> Mapping[str, str]:
        """Case name -> label in the first column."""
        return self.cases if isinstance(self.cases, Mapping) else {name: name for name in self.cases}


def require_words(made: object, *names: str) -> None:
    """Raise `OptionError` for a text of these that is empty."""
    for name in names:
        if not getattr(made, name).strip():
            raise OptionError(f"'{name}' is empty", f"write '{name}: …'")


def read_yaml(text: str) -> Any:
    """The YAML below the first line of a block. Raises `OptionError`."""
    if STX in text:
        raise OptionError("HTML is not allowed in the options of a table", "write plain text")
    try:
        return yaml_text.load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise OptionError(f"not valid YAML: {error.problem}", "", 1 + mark.line if mark else 0) from error


def read_options(kind: type[Any], text: str) -> Any:
    """The options below the first line of a block, as a dataclass. Raises `MeasuredError`."""
    try:
        return typed.made(kind, read_yaml(text) or {})
    except MeasuredError:
        raise
    except ValueError as error:
        what, _, fix = str(error).partition("; ")
        raise OptionError(f"the block's options: {what}", fix) from None


@lru_cache(maxsize=256)
def parse_options(text: str) -> TableOptions:
    """Read the options of a table. Raises `MeasuredError`."""
    made: TableOptions = read_options(TableOptions, text)
    return made
