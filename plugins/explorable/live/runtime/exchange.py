"""What passes between a page and an act, as plain data: a state comes in, a view, a verdict or a feedback goes out.

Each is held against the act's definition and the contract. Errors are one line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeGuard, cast

from explorable.live.runtime.contract import (
    Act,
    ChoiceQuestion,
    Control,
    Note,
    NumberQuestion,
    Option,
    Playback,
    Reflection,
    Slider,
    State,
    Table,
    Toggle,
    Value,
    Verdict,
    View,
)

Plain = str | int | float | bool | None | list["Plain"] | dict[str, "Plain"]

_UNCHANGED = frozenset({str, bool, int, type(None)})


class UnknownControlError(KeyError):
    """A function of an act asks for a control that the act does not have."""

    __str__ = Exception.__str__


class _Controls(dict[str, Value]):
    """Where the controls stand, by name."""

    def __missing__(self, name: str) -> Value:
        raise UnknownControlError(f"there is no control {name!r}; allowed: {listed(self)}")


def state_of(act: Act, given: Mapping[str, Any]) -> State:
    """The state in plain data, with every value as the definition writes it (e.g. `1.0` where JavaScript sent `1`).

    Raises:
        ValueError: an unknown context, an unknown or missing control, or a value that is not among the options.
    """
    if not isinstance(given, Mapping) or not isinstance(given.get("controls"), Mapping):
        raise ValueError("a state needs a context and controls")
    context, set_to = given.get("context", ""), given["controls"]
    contexts = [one.name for one in act.contexts]
    if context not in contexts:
        raise ValueError(f"unknown context {context!r}; allowed: {listed(contexts)}")
    controls = {control.name: control for control in act.controls}
    for name in set_to:
        if name not in controls:
            raise ValueError(f"unknown control {name!r}; allowed: {listed(controls)}")
    values = _Controls()
    for name, control in controls.items():
        if name not in set_to:
            raise ValueError(f"control {name!r} has no value")
        values[name] = control_value(control, set_to[name])
    prediction, held = given.get("prediction"), given.get("held")
    prediction = None if prediction is None else check_prediction(act.question, prediction)
    revealed, moves = given.get("revealed", False), given.get("moves", 0)
    if not isinstance(revealed, bool):
        raise ValueError(f"revealed cannot be {revealed!r}; allowed: true, false")
    hint = given.get("hint", False)
    if not isinstance(hint, bool):
        raise ValueError(f"hint cannot be {hint!r}; allowed: true, false")
    held = None if held is None or act.question is None else check_prediction(act.question, held)
    if isinstance(moves, bool) or not isinstance(moves, int) or moves < 0:
        raise ValueError(f"moves cannot be {moves!r}; allowed: a whole number of at least 0")
    told = revealed and prediction is not None
    stood = given.get("stood") or {}
    if not isinstance(stood, Mapping) or not stood.keys() <= controls.keys():
        raise ValueError("where the controls stood is no list of controls")
    stood = {name: control_value(controls[name], value) for name, value in stood.items()}
    return State(context, values, prediction, told, held, moves if act.moves else 0, hint and act.hints, stood=stood)


def check_prediction(question: ChoiceQuestion | NumberQuestion | None, prediction: Value) -> Value:
    """Return the prediction if it answers the question. Raises `ValueError` otherwise."""
    if question is None:
        raise ValueError(f"prediction {prediction!r} answers nothing: this instrument asks no question")
    if isinstance(question, ChoiceQuestion):
        return chosen("prediction", question.options, prediction).value
    if not is_number(prediction):
        raise ValueError(f"prediction {prediction!r} is not a number")
    if not question.minimum <= prediction <= question.maximum:
        allowed = f"{question.minimum} to {question.maximum} {question.unit}".rstrip()
        raise ValueError(f"prediction {prediction} is out of range; allowed: {allowed}")
    return prediction


def control_value(control: Control, value: Value) -> Value:
    """Return the value as the control has it. Raises `ValueError` if it cannot have it."""
    if isinstance(control, Toggle):
        if not isinstance(value, bool):
            raise ValueError(f"control {control.name!r} cannot be {value!r}; allowed: True, False")
        return value
    if isinstance(control, Slider):
        return slider_value(control, value)
    if isinstance(control, Note):
        return note_value(control, value)
    for option in control.options:
        if same(option.value, value):
            return option.value
    allowed = listed(option.value for option in control.options)
    raise ValueError(f"control {control.name!r} cannot be {value!r}; allowed: {allowed}")


def slider_value(slider: Slider, value: Value) -> Value:
    """Return the value if the slider can take it. Raises `ValueError` otherwise."""
    if not is_number(value) or not slider.minimum <= value <= slider.maximum:
        raise ValueError(
            f"control {slider.name!r} cannot be {value!r}; allowed: {slider.minimum:g} to {slider.maximum:g}"
        )
    if not slider.integer:
        return value
    if float(value) != int(value):
        raise ValueError(f"control {slider.name!r} cannot be {value!r}; allowed: whole numbers")
    return int(value)


def note_value(note: Note, value: Value) -> Value:
    """Return the text if the note can be it. Raises `ValueError` otherwise."""
    if not isinstance(value, str) or len(value) > note.longest:
        raise ValueError(f"control {note.name!r} cannot be that; allowed: a text of at most {note.longest} characters")
    if value:
        note.check(value)
    return value


def chosen(what: str, options: Sequence[Option], value: Value) -> Option:
    """Return the option with this value. Raises `ValueError` if there is none."""
    for option in options:
        if same(option.value, value):
            return option
    raise ValueError(f"{what} {value!r} is not an option; allowed: {listed(option.value for option in options)}")


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a finite number. Python counts True and False among the numbers; a reader does not."""
    # Whole numbers are always finite, and `isfinite` fails for those that no float can hold.
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole or (isinstance(value, float) and math.isfinite(value))


def same(left: Value, right: Value) -> bool:
    """Whether two values are the same for a reader. Python's `1 == True` is not, its `1 == 1.0` is."""
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def check_view(act: Act, view: object) -> View:
    """Return `view` if it is one, with well-formed tables. Raises `ValueError` otherwise."""
    if not isinstance(view, View):
        raise ValueError(f"compute returned a {type(view).__name__}, not a View")
    for name, table in view.tables.items():
        check_table(name, table)
    for chart in act.charts:
        if chart not in view.tables:
            raise ValueError(f"chart {chart!r} has no data table; View.tables needs one under that name")
    for hand in act.hands:
        if isinstance(hand, Playback) and hand.data not in view.data:
            known = ", ".join(view.data) or "none"
            raise ValueError(
                f"Playback of chart {hand.chart!r}: compute returns no data set {hand.data!r}; it returns: {known}"
            )
    if view.failure is not None and view.success is not None:
        raise ValueError("the view has a failure and a success; a state is one or the other")
    if view.failure is not None and not act.can_fail:
        raise ValueError(
            "the view has a failure, but the act does not say can_fail=True: the page keeps no place for it"
        )
    return view


def ledger_fields(act: Act, state: State) -> Mapping[str, Value]:
    """What the act writes into the ledger in this state; nothing while a question is open.

    Raises:
        ValueError: a field that ledgers do not have, or a value of another kind than the field's.
    """
    if act.ledger is None or (act.question is not None and state.prediction is None):
        return {}
    fields = act.ledger(state)
    for name, value in fields.items():
        if name not in _decisions():
            raise ValueError(f"ledger has no field {name!r}; allowed: {listed(_decisions())}")
        rule = _decisions()[name]
        if "enum" in rule:
            texts = [one for one in rule["enum"] if one is not None]
            if value not in texts:
                raise ValueError(f"ledger field {name!r} cannot be {value!r}; allowed: {listed(texts)}")
        elif "boolean" in rule["type"] and not isinstance(value, bool):
            raise ValueError(f"ledger field {name!r} cannot be {value!r}; allowed: True, False")
        elif "number" in rule["type"] and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"ledger field {name!r} cannot be {value!r}; allowed: a number")
    return fields


_ledger: list[Path | None] = [Path(__file__).with_name("ledger.json")]
"""Where the ledger's own fields stand: in the page beside this module, in a build wherever the book says."""


def fields_from(file: Path | None) -> None:
    """Take the ledger's own fields from this file; from none, there are none."""
    _ledger[0] = file
    _decisions.cache_clear()


@cache
def _decisions() -> dict[str, dict[str, Any]]:
    """What acts may write into the reader's design ledger: name -> rule."""
    file = _ledger[0]
    if file is None or not file.is_file():
        return {}
    rules: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["properties"]
    return rules


_PAGE = re.compile(r"[a-z0-9_-]+(?:/[a-z0-9_-]+)*/(?:#[a-z0-9_-]+)?")
"""A page relative to the site's root, and a place on it."""


def check_table(name: str, table: Table) -> None:
    """Raise `ValueError` unless every row of the table has a text for every column and nothing else."""
    keys = [column.key for column in table.columns]
    check_unique(f"table {name!r}: column", keys)
    for index, row in enumerate(table.rows):
        if set(row) != set(keys):
            raise ValueError(f"table {name!r}, row {index}: its cells are {listed(row)}; its columns {listed(keys)}")
        for key, cell in row.items():
            if not isinstance(cell, str):
                raise ValueError(f"table {name!r}, row {index}: {key!r} is {cell!r}; a cell is formatted text")
    cells = {row[column.key] for row in table.rows for column in table.columns if not column.numeric}
    for text, page in table.links.items():
        if text not in cells:
            raise ValueError(f"table {name!r} links {text!r}, which is no cell of its columns of words")
        if not _PAGE.fullmatch(page):
            raise ValueError(f"table {name!r} links to {page!r}; a page of the site is written like chapter/run/#bills")


def correct_blanks(reflection: Reflection, state: State) -> Mapping[str, tuple[Value, ...]]:
    """The right values of every blank in this state. Raises `ValueError` if the reader could not choose one of them."""
    correct = reflection.correct(state)
    names = [blank.name for blank in reflection.blanks]
    if set(correct) != set(names):
        raise ValueError(f"reflection {reflection.name!r} answers {listed(correct)}; its blanks are {listed(names)}")
    right = {name: value if isinstance(value, tuple) else (value,) for name, value in correct.items()}
    for blank in reflection.blanks:
        where = f"reflection {reflection.name!r}: the right answer for {blank.name!r}"
        if not right[blank.name]:
            raise ValueError(f"{where} is missing")
        for value in right[blank.name]:
            chosen(f"{where},", blank.options, value)
    return right


def told_blanks(reflection: Reflection, state: State) -> Mapping[str, str]:
    """The sentences that name what blanks are judged by in this state. Raises `ValueError` for one of no blank."""
    told = reflection.told(state) if reflection.told else {}
    names = [blank.name for blank in reflection.blanks]
    if not set(told) <= set(names):
        raise ValueError(f"reflection {reflection.name!r} tells of {listed(told)}; its blanks are {listed(names)}")
    return told


def check_verdict(verdict: object) -> Verdict:
    """Return `verdict` if it is one, with well-formed tables. Raises `ValueError` otherwise."""
    if not isinstance(verdict, Verdict):
        raise ValueError(f"it returned a {type(verdict).__name__}, not a Verdict")
    for name, table in verdict.tables.items():
        check_table(name, table)
    return verdict


def check_unique(what: str, values: Iterable[Value]) -> None:
    """Raise `ValueError` if a value appears twice; `what` says of what."""
    seen: list[Value] = []
    for value in values:
        if any(same(value, other) for other in seen):
            raise ValueError(f"{what} {value!r} appears twice")
        seen.append(value)


def listed(values: Iterable[object]) -> str:
    """The values as an error lists them."""
    return ", ".join(str(value) for value in values) or "none"


def plain(value: object, where: str) -> Plain:
    """Convert dataclasses, mappings and sequences into dicts and lists.

    Args:
        value: what to convert.
        where: how to name the value in an error, e.g. `compute(…)`.

    Raises:
        ValueError: a number is not finite. JSON has no NaN, and a chart or a reader could do nothing with one.
        TypeError: a value is of a kind that JSON cannot carry.
    """
    try:
        return _fast(value)
    except _UnusualError:
        return _careful(value, where)


def text(value: object, where: str) -> str:
    """What `plain` makes of a value, as JSON, in half the time: for a drag's frames. Raises as `plain`; keys pass."""
    try:
        return json.dumps(value, allow_nan=False, default=_as_json)
    except (TypeError, ValueError):
        return json.dumps(_careful(value, where))


def _as_json(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return {name: getattr(value, name) for name in _names(cast(Hashable, type(value)))}
    return dict(value) if isinstance(value, Mapping) else _careful(value, "")


def mapping(value: Plain) -> dict[str, Plain]:
    """The plain form of a dataclass, which is always a mapping."""
    assert isinstance(value, dict)
    return value


class _UnusualError(Exception):
    """Something that needs another look, and perhaps an error that names its place."""


def _fast(value: Any) -> Plain:
    """The everyday kinds. It runs for every frame of a drag, so it notes no places."""
    kind = type(value)
    if kind in _UNCHANGED:
        return cast(Plain, value)
    if kind is float:
        if math.isfinite(value):
            return cast(float, value)
        raise _UnusualError
    if kind is dict:
        if all(type(key) is str for key in value):
            return {key: _fast(item) for key, item in value.items()}
        raise _UnusualError
    if kind is tuple or kind is list:
        return [_fast(item) for item in value]
    if is_dataclass(value) and kind is not type:
        return {name: _fast(getattr(value, name)) for name in _names(cast(Hashable, kind))}
    raise _UnusualError


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _careful(value: object, where: str) -> Plain:
    """The same for every kind, with the place of what cannot be carried."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"{where} is {value}, which is not a finite number")
        return value
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _careful(getattr(value, field.name), f"{where}.{field.name}") for field in fields(value)}
    if isinstance(value, Mapping):
        return {_key(key, where): _careful(item, f"{where}[{key!r}]") for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_careful(item, f"{where}[{index}]") for index, item in enumerate(value)]
    raise TypeError(
        f"{where} is a {type(value).__name__}; allowed are text, numbers, booleans, None, lists and mappings"
    )


def _key(key: object, where: str) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{where} has the key {key!r}, which is not text")
    return key
