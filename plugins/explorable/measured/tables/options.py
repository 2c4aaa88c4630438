"""The YAML under `/// measured | suite`: what a table shows, read strictly so that a typing error is a defect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml
from markdown.util import STX

from explorable.measured.errors import MeasuredError
from explorable.measured.values.quantities import Format, parse_format
from explorable.shared import yaml_text
from explorable.shared.errors import nearest

ROWS = ("cases", "points", "policies", "runs")
_DERIVED = ("per", "ratio", "error")
MOST_COLUMNS = 7
"""More do not fit on a phone; the case's own column counts."""


@dataclass(frozen=True)
class Column:
    """A column of a measured table.

    label: the header, without the unit.
    path: where the value stands in the record.
    format: unit and number format; None for text.
    spread: whether a sampled value shows half its interquartile range.
    per: path of a value that the number is divided by.
    ratio: path of a value that the number is shown relative to, or `first` for the number in the first row.
    error: path of a value that the number should equal; shown is by which share it is off.
    """

    label: str
    path: str
    format: Format | None
    spread: bool
    per: str = ""
    ratio: str = ""
    error: str = ""

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
class TableOptions:
    """A measured table as its author asked for it.

    caption: plain text.
    columns: in order, the column of the cases left out.
    cases: case name -> label in the first column; empty for all cases of the suite.
    device: only this device's records; None for any.
    rows: `cases` for a row per case; `points`, `policies` or `runs` for the parts of one case.
    plot: the column to draw below the table; None for no plot.
    """

    caption: str
    columns: tuple[Column, ...]
    cases: Mapping[str, str]
    device: str | None
    rows: str = "cases"
    plot: Plot | None = None


class OptionError(MeasuredError):
    """A mistake in the YAML, with the number of lines between it and the block's own line, if known."""

    def __init__(self, what: str, fix: str = "", offset: int = 0) -> None:
        super().__init__(what, fix)
        self.offset = offset


def read_yaml(text: str) -> Any:
    """The YAML below the first line of a block. Raises `OptionError`."""
    if STX in text:
        raise OptionError("HTML is not allowed in the options of a table", "write plain text")
    try:
        return yaml_text.load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise OptionError(f"not valid YAML: {error.problem}", "", 1 + mark.line if mark else 0) from error


@lru_cache(maxsize=256)
def parse_options(text: str) -> TableOptions:
    """Read the options of a table. Raises `OptionError`."""
    data = read_yaml(text)
    if not isinstance(data, dict):
        raise OptionError("the block has no options", "write 'caption:' and 'columns:' as YAML below its first line")
    _check_keys(data, {"caption", "columns", "cases", "device", "rows", "plot"}, "the block")
    columns = data.get("columns")
    if not isinstance(columns, list) or not columns:
        raise OptionError("'columns' is missing", "list at least one column with 'label' and 'path'")
    if len(columns) > MOST_COLUMNS - 1:
        raise OptionError(
            f"{len(columns)} columns and the one of the cases are too many for a phone",
            f"keep at most {MOST_COLUMNS - 1}, or make two tables",
        )
    device, rows = data.get("device"), data.get("rows", "cases")
    cases = _cases(data.get("cases"))
    if rows not in ROWS:
        raise OptionError(f"'rows' is {rows!r}", f"allowed: {', '.join(ROWS)}")
    if rows != "cases" and len(cases) != 1:
        raise OptionError(f"a table of {rows} needs one case", "name it: 'cases: [name]'")
    made = tuple(_column(column, number) for number, column in enumerate(columns, 1))
    return TableOptions(
        caption=_text(data, "caption", "the block"),
        columns=made,
        cases=cases,
        device=None if device is None else str(device),
        rows=rows,
        plot=_plot(data["plot"], made) if "plot" in data else None,
    )


def _column(data: Any, number: int) -> Column:
    where = f"column {number}"
    if not isinstance(data, dict):
        raise OptionError(f"{where} is not a mapping", "write 'label:' and 'path:', and 'unit:' for a number")
    _check_keys(data, {"label", "path", "unit", "format", "spread", *_DERIVED}, where)
    if len(derived := [key for key in _DERIVED if key in data and key != "per"]) > 1:
        raise OptionError(f"{where} has {' and '.join(derived)}", "keep one of them")
    unit, spec, spread = data.get("unit"), data.get("format"), data.get("spread", True)
    if unit is None and spec is not None:
        raise OptionError(f"{where} has a 'format' without a 'unit'", "add the unit, '1' for a pure number")
    if not isinstance(spread, bool):
        raise OptionError(f"'spread' of {where} is {spread!r}", "allowed: true, false")
    form = None if unit is None else parse_format(f"{unit} {spec or ''}")
    others = {key: _text(data, key, where) for key in _DERIVED if key in data}
    if others and form is None:
        raise OptionError(f"{where} is computed and has no 'unit'", "add it, '%' or '1' for a share")
    return Column(_text(data, "label", where), _text(data, "path", where), form, spread, **others)


def _plot(data: Any, columns: Sequence[Column]) -> Plot:
    if not isinstance(data, dict):
        raise OptionError("'plot' is not a mapping", "write 'plot: {y: column}', and 'x' and 'x_label' for lines")
    _check_keys(data, {"y", "x", "x_label", "log"}, "the plot")
    made = Plot(
        _text(data, "y", "the plot"), str(data.get("x", "")), str(data.get("x_label", "")), data.get("log") is True
    )
    drawn = next((column for column in columns if column.label == made.y), None)
    if drawn is None:
        raise OptionError(f"the plot has no column '{made.y}'", nearest(made.y, [one.label for one in columns]))
    if drawn.format is None:
        raise OptionError(f"column '{made.y}' is text", "plot one that has a 'unit'")
    if made.x and not made.x_label:
        raise OptionError("'x_label' of the plot is missing", "say in words what stands on the horizontal axis")
    return made


def _cases(data: Any) -> Mapping[str, str]:
    if data is None:
        return {}
    if isinstance(data, list):
        return {str(name): str(name) for name in data}
    if isinstance(data, dict):
        return {str(name): str(label) for name, label in data.items()}
    raise OptionError("'cases' is neither a list nor a mapping", "write '- name' or 'name: label' per case")


def _text(data: Mapping[str, Any], key: str, where: str) -> str:
    value = data.get(key)
    if not isinstance(value, str) or not value.strip():
        raise OptionError(f"'{key}' of {where} is missing or not text", f"write '{key}: …'")
    return value.strip()


def _check_keys(data: Mapping[Any, Any], allowed: set[str], where: str) -> None:
    for key in data:
        if key not in allowed:
            raise OptionError(f"{where} has no option '{key}'", nearest(str(key), allowed))
