"""Finds the mistakes in an act's definition, and in a state, before they can reach a reader. Errors are one line."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any, get_args

from plugins.live.runtime.contract import (
    Act,
    ChoiceQuestion,
    Context,
    Control,
    ControlOption,
    NumberQuestion,
    Option,
    Playback,
    Reflection,
    Slider,
    State,
    Table,
    Toggle,
    Value,
    View,
)
from plugins.live.runtime.hands import check_hands, check_slider, slider_value

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


_MEMBERS = {"contexts": (Context,), "controls": get_args(Control), "reflections": (Reflection,)}
"""Field of an act -> what its members are."""
MOST_WORDS = 60
"""Before the next thing to do: who reads longer stops playing."""
_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")


def check_definition(act: object, name: str) -> Act:
    """Return `act` if it is a sound definition of the act called `name`.

    Raises:
        ValueError: one line that says what is wrong and what is allowed.
    """
    if not isinstance(act, Act):
        raise ValueError(f"ACT is a {type(act).__name__}, not an Act")
    if act.name != name:
        raise ValueError(f"the act is called {act.name!r}, but its folder says {name!r}")
    if not _NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name for an act: use lower-case words joined by '-'")
    for field, kinds in _MEMBERS.items():
        _check_members(field, getattr(act, field), kinds)
    if not act.contexts:
        raise ValueError("an act needs at least one context")
    _unique("context", (context.name for context in act.contexts))
    _unique("control", (control.name for control in act.controls))
    _unique("reflection", (reflection.name for reflection in act.reflections))
    for chart in act.charts:
        if not chart.isidentifier():
            raise ValueError(f"chart {chart!r} cannot be the name of a function in charts.py")
    for control in act.controls:
        _check_control(control)
    _check_groups(act.controls)
    _check_words(act)
    for name in act.beside:
        if name in act.charts:
            raise ValueError(f"table {name!r} cannot stand beside the instruments: it is the data of a chart")
    if (act.question is None) != (act.reveal is None):
        raise ValueError("an act has both a question and reveal, or, as an instrument, neither")
    if act.question is not None:
        _check_question(act.question)
    elif act.reflections:
        raise ValueError("an instrument, which asks no question, has no reflections")
    elif any(control.after_reveal for control in act.controls):
        raise ValueError("an instrument reveals nothing, so no control can wait for it")
    _check_adding(act)
    if act.moves and len(act.contexts) > 1:
        raise ValueError("an act that records moves has one context: a move is a change of a control")
    if act.best is not None and (act.score is None or not act.best > 0):
        raise ValueError(f"best cannot be {act.best!r}: it is the best score, above 0, of an act that keeps a score")
    check_hands(act)
    for reflection in act.reflections:
        _check_reflection(reflection, act.default_state())
    if act.staging is not None:
        for name, value in act.staging.setting.items():
            _control_value(next(control for control in act.controls if control.name == name), value)
    return act


def check_state(act: Act, state: State) -> State:
    """Return `state` with every value as the definition writes it (e.g. `1.0` where JavaScript sent `1`).

    Raises:
        ValueError: an unknown context, an unknown or missing control, or a value that is not among the options.
    """
    contexts = [context.name for context in act.contexts]
    if state.context not in contexts:
        raise ValueError(f"unknown context {state.context!r}; allowed: {_listed(contexts)}")
    controls = {control.name: control for control in act.controls}
    for name in state.controls:
        if name not in controls:
            raise ValueError(f"unknown control {name!r}; allowed: {_listed(controls)}")
    values: dict[str, Value] = {}
    for name, control in controls.items():
        if name not in state.controls:
            raise ValueError(f"control {name!r} has no value")
        values[name] = _control_value(control, state.controls[name])
    prediction = None if state.prediction is None else check_prediction(act.question, state.prediction)
    if not isinstance(state.revealed, bool):
        raise ValueError(f"revealed cannot be {state.revealed!r}; allowed: true, false")
    held = None if state.held is None or act.question is None else check_prediction(act.question, state.held)
    if isinstance(state.moves, bool) or not isinstance(state.moves, int) or state.moves < 0:
        raise ValueError(f"moves cannot be {state.moves!r}; allowed: a whole number of at least 0")
    told = state.revealed and prediction is not None
    return State(state.context, values, prediction, told, held, state.moves if act.moves else 0)


def check_prediction(question: ChoiceQuestion | NumberQuestion | None, prediction: Value) -> Value:
    """Return the prediction if it answers the question. Raises `ValueError` otherwise."""
    if question is None:
        raise ValueError(f"prediction {prediction!r} answers nothing: this instrument asks no question")
    if isinstance(question, ChoiceQuestion):
        return chosen("prediction", question.options, prediction).value
    if isinstance(prediction, bool) or not isinstance(prediction, int | float) or not math.isfinite(prediction):
        raise ValueError(f"prediction {prediction!r} is not a number")
    if not question.minimum <= prediction <= question.maximum:
        allowed = f"{question.minimum} to {question.maximum} {question.unit}".rstrip()
        raise ValueError(f"prediction {prediction} is out of range; allowed: {allowed}")
    return prediction


def chosen(what: str, options: Sequence[Option], value: Value) -> Option:
    """Return the option with this value. Raises `ValueError` if there is none."""
    for option in options:
        if same(option.value, value):
            return option
    raise ValueError(f"{what} {value!r} is not an option; allowed: {_listed(option.value for option in options)}")


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
            raise ValueError(f"ledger has no field {name!r}; allowed: {_listed(_decisions())}")
        rule = _decisions()[name]
        if "enum" in rule:
            texts = [one for one in rule["enum"] if one is not None]
            if value not in texts:
                raise ValueError(f"ledger field {name!r} cannot be {value!r}; allowed: {_listed(texts)}")
        elif "boolean" in rule["type"] and not isinstance(value, bool):
            raise ValueError(f"ledger field {name!r} cannot be {value!r}; allowed: True, False")
        elif "number" in rule["type"] and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"ledger field {name!r} cannot be {value!r}; allowed: a number")
    return fields


@cache
def _decisions() -> dict[str, dict[str, Any]]:
    """What acts may write into the reader's design ledger: name -> rule, from the schema of the ledger's file.

    The schema stands where it is published, in the checkout as in the wheel of the page.
    """
    schema = Path(__file__).parents[3] / "docs/lab/ledger.schema.json"
    definitions: dict[str, Any] = json.loads(schema.read_text(encoding="utf-8"))["$defs"]
    rules: dict[str, dict[str, Any]] = definitions["decisions"]["properties"]
    return rules


def check_table(name: str, table: Table) -> None:
    """Raise `ValueError` unless every row of the table has a text for every column and nothing else."""
    keys = [column.key for column in table.columns]
    _unique(f"table {name!r}: column", keys)
    for index, row in enumerate(table.rows):
        if set(row) != set(keys):
            raise ValueError(f"table {name!r}, row {index}: its cells are {_listed(row)}; its columns {_listed(keys)}")
        for key, cell in row.items():
            if not isinstance(cell, str):
                raise ValueError(f"table {name!r}, row {index}: {key!r} is {cell!r}; a cell is formatted text")


def correct_blanks(reflection: Reflection, state: State) -> Mapping[str, Value]:
    """The right value of every blank in this state. Raises `ValueError` if the reader could not choose it."""
    correct = reflection.correct(state)
    names = [blank.name for blank in reflection.blanks]
    if set(correct) != set(names):
        raise ValueError(f"reflection {reflection.name!r} answers {_listed(correct)}; its blanks are {_listed(names)}")
    for blank in reflection.blanks:
        chosen(
            f"reflection {reflection.name!r}: the right answer for {blank.name!r},", blank.options, correct[blank.name]
        )
    return correct


def _check_control(control: Control) -> None:
    if isinstance(control, Toggle):
        if not isinstance(control.default, bool):
            raise ValueError(f"toggle {control.name!r}: the default {control.default!r} is not True or False")
        return
    if isinstance(control, Slider):
        check_slider(control)
        return
    if len(control.options) < 2:
        raise ValueError(f"control {control.name!r} needs at least two options")
    _distinct(f"control {control.name!r}", control.options)
    _control_value(control, control.default)


def _check_members(field: str, members: object, kinds: tuple[type, ...]) -> None:
    """Check the types of a field's members: Python does not complain of one comma too many, which makes a tuple."""
    wanted = f"write ({kinds[0].__name__}(…), {kinds[0].__name__}(…)), or ({kinds[0].__name__}(…),) for a single one"
    if not isinstance(members, Sequence):
        raise ValueError(f"{field} is a {type(members).__name__}, not a tuple: {wanted}")
    for member in members:
        if not isinstance(member, kinds):
            raise ValueError(f"{field} holds a {type(member).__name__}: {wanted}")


def _check_groups(controls: Sequence[Control]) -> None:
    """A group of toggles is one set of boxes, which appears as a whole, and opens as a whole."""
    shared: dict[str, tuple[bool, bool]] = {}
    for toggle in (control for control in controls if isinstance(control, Toggle) and control.group):
        mine = (toggle.after_reveal, toggle.adds is not None)
        first = shared.setdefault(toggle.group, mine)
        if first != mine:
            what = "after_reveal" if first[0] != mine[0] else "whether they add to the prediction"
            raise ValueError(f"the toggles of group {toggle.group!r} do not agree on {what}")


def _check_words(act: Act) -> None:
    asked = "" if act.question is None else act.question.prompt
    steps = {"situation and question": f"{act.situation} {asked}"}
    steps |= {f"reflection {reflection.name!r}": reflection.text for reflection in act.reflections}
    for step, text in steps.items():
        if (words := len(_WORD.findall(text))) > MOST_WORDS:
            raise ValueError(f"{step}: {words} words, and at most {MOST_WORDS} stand before the next thing to do")


def _check_adding(act: Act) -> None:
    """Toggles that add to the prediction need a number that is predicted, and room for all of them in its range."""
    adding = [one for one in act.controls if isinstance(one, Toggle) and one.adds is not None]
    for toggle in adding:
        where = f"toggle {toggle.name!r} adds to the prediction"
        if not isinstance(act.question, NumberQuestion):
            raise ValueError(f"{where}, and the question does not ask for a number")
        if not toggle.group or toggle.after_reveal or toggle.display_only or toggle.default:
            raise ValueError(f"{where}: it needs a group, is off at first, and neither after_reveal nor display_only")
    amounts = [float(toggle.adds or 0) for toggle in adding]
    question = act.question
    if not adding or not isinstance(question, NumberQuestion):
        return
    lowest, highest = (question.base + sum(pick(one, 0.0) for one in amounts) for pick in (min, max))
    if not question.minimum <= lowest <= highest <= question.maximum:
        raise ValueError(
            f"the toggles add up to {lowest:g} to {highest:g} {question.unit}; the question allows "
            f"{question.minimum:g} to {question.maximum:g}"
        )


def _control_value(control: Control, value: Value) -> Value:
    if isinstance(control, Toggle):
        if not isinstance(value, bool):
            raise ValueError(f"control {control.name!r} cannot be {value!r}; allowed: True, False")
        return value
    if isinstance(control, Slider):
        return slider_value(control, value)
    for option in control.options:
        if same(option.value, value):
            return option.value
    allowed = _listed(option.value for option in control.options)
    raise ValueError(f"control {control.name!r} cannot be {value!r}; allowed: {allowed}")


def _check_question(question: ChoiceQuestion | NumberQuestion) -> None:
    if not callable(question.answer):
        raise ValueError(f"question: answer is {question.answer!r}, not a function: write answer=lambda: …")
    answer = question.answer()
    if isinstance(answer, bool) or not isinstance(answer, int | float) or not math.isfinite(answer):
        raise ValueError(f"question: the answer is {answer!r}, not a finite number")
    if isinstance(question, NumberQuestion):
        if not question.minimum <= answer <= question.maximum:
            raise ValueError(f"question: the answer {answer} is outside {question.minimum} to {question.maximum}")
        if not math.isfinite(question.step) or question.step < 0:
            raise ValueError(f"question: the step {question.step!r} is not a number of at least 0")
        return
    if len(question.options) < 2:
        raise ValueError("question: it needs at least two options")
    _distinct("question", question.options)
    for option in question.options:
        if isinstance(option.value, bool) or not isinstance(option.value, int | float):
            raise ValueError(f"question: option {option.value!r} is not a number")
    try:
        _ = question.correct
    except ValueError as error:
        raise ValueError(f"question: {error}") from None


def _check_reflection(reflection: Reflection, state: State) -> None:
    where = f"reflection {reflection.name!r}"
    names = [blank.name for blank in reflection.blanks]
    _unique(f"{where}: blank", names)
    gaps = [gap for _, gap, _, _ in Formatter().parse(reflection.text) if gap is not None]
    if sorted(gaps) != sorted(names):
        raise ValueError(f"{where}: its text has the gaps {_listed(gaps)}; its blanks are {_listed(names)}")
    for blank in reflection.blanks:
        _distinct(f"{where}, blank {blank.name!r}", blank.options)
    correct_blanks(reflection, state)


def _distinct(where: str, options: Sequence[Option] | Sequence[ControlOption]) -> None:
    for option in options:
        if isinstance(option.value, float) and not math.isfinite(option.value):
            raise ValueError(f"{where}: option {option.value} is not a finite number")
    _unique(f"{where}: option", (option.value for option in options))
    _unique(f"{where}: label", (option.label for option in options))


def _unique(what: str, values: Iterable[Value]) -> None:
    seen: list[Value] = []
    for value in values:
        if any(same(value, other) for other in seen):
            raise ValueError(f"{what} {value!r} appears twice")
        seen.append(value)


def _listed(values: Iterable[object]) -> str:
    return ", ".join(str(value) for value in values) or "none"
