"""Finds the mistakes in an act's definition before they can reach a reader. Errors are one line.

Whether the marks of its charts exist is checked where they are drawn (`explorable.live.build.bake`): the browser has no
charts.py.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from string import Formatter
from typing import get_args

from explorable.live.runtime.contract import (
    Act,
    Choice,
    ChoiceQuestion,
    Context,
    Control,
    ControlOption,
    Handle,
    Note,
    NumberQuestion,
    Option,
    Reflection,
    Slider,
    State,
    Toggle,
)
from explorable.live.runtime.exchange import (
    check_unique,
    control_value,
    correct_blanks,
    is_number,
    listed,
    slider_value,
    told_blanks,
)

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


_MEMBERS = {"contexts": (Context,), "controls": get_args(Control), "reflections": (Reflection,)}
"""Field of an act -> what its members are."""
MOST_WORDS = 60
"""Before the next thing to do: who reads longer stops playing."""
_TAG = re.compile(r"</?[a-z][^<>]*>", re.IGNORECASE)
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
    if isinstance(act.minutes, bool) or not isinstance(act.minutes, int) or act.minutes < 1:
        raise ValueError(f"minutes is {act.minutes!r}: write a whole number of at least 1")
    _check_texts(act, "")
    if not act.contexts:
        raise ValueError("an act needs at least one context")
    check_unique("context", (context.name for context in act.contexts))
    check_unique("control", (control.name for control in act.controls))
    check_unique("reflection", (reflection.name for reflection in act.reflections))
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
    if act.linked and (act.question is not None or act.ledger is not None):
        raise ValueError("an act whose state stands in the address has neither a question nor fields of the ledger")
    if not act.linked and any(isinstance(control, Note) for control in act.controls):
        raise ValueError("a Note needs linked=True: the ledger keeps no such texts")
    if act.moves and len(act.contexts) > 1:
        raise ValueError("an act that records moves has one context: a move is a change of a control")
    if act.best is not None and (act.score is None or not act.best > 0):
        raise ValueError(f"best cannot be {act.best!r}: it is the best score, above 0, of an act that keeps a score")
    _check_hands(act)
    for reflection in act.reflections:
        _check_reflection(reflection, act.default_state())
    if act.staging is not None:
        for name, value in act.staging.setting.items():
            control_value(next(control for control in act.controls if control.name == name), value)
    return act


def _check_control(control: Control) -> None:
    if isinstance(control, Toggle):
        if not isinstance(control.default, bool):
            raise ValueError(f"toggle {control.name!r}: the default {control.default!r} is not True or False")
        return
    if isinstance(control, Slider):
        _check_slider(control)
        return
    if isinstance(control, Note):
        return
    if len(control.options) < 2:
        raise ValueError(f"control {control.name!r} needs at least two options")
    _distinct(f"control {control.name!r}", control.options)
    control_value(control, control.default)


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


def _check_texts(value: object, where: str) -> None:
    """A page shows texts as they are, so a tag in one would be read as its letters."""
    if isinstance(value, str) and (tag := _TAG.search(value)):
        raise ValueError(f"{where} holds {tag[0]!r}, which the page shows as these letters: write text without HTML")
    if is_dataclass(value):
        for field in fields(value):
            _check_texts(getattr(value, field.name), f"{where}.{field.name}".removeprefix("."))
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for number, member in enumerate(value):
            _check_texts(member, f"{where}[{number}]")


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


def _check_question(question: ChoiceQuestion | NumberQuestion) -> None:
    if not callable(question.answer):
        raise ValueError(f"question: answer is {question.answer!r}, not a function: write answer=lambda: …")
    answer = question.answer()
    if not is_number(answer):
        raise ValueError(f"question: the answer is {answer!r}, not a finite number")
    if isinstance(question, NumberQuestion):
        if not question.minimum <= answer <= question.maximum:
            raise ValueError(f"question: the answer {answer} is outside {question.minimum} to {question.maximum}")
        if not math.isfinite(question.step) or question.step < 0:
            raise ValueError(f"question: the step {question.step!r} is not a number of at least 0")
        for belief in question.beliefs():
            if not is_number(belief) or not question.minimum <= belief <= question.maximum:
                allowed = f"{question.minimum} to {question.maximum}"
                raise ValueError(f"question: the belief {belief!r} is not a number that can be predicted: {allowed}")
        return
    if len(question.options) < 2:
        raise ValueError("question: it needs at least two options")
    _distinct("question", question.options)
    for option in question.options:
        if not is_number(option.value):
            raise ValueError(f"question: option {option.value!r} is not a number")
    values = [float(option.value) for option in question.options]
    low, high = min(values), max(values)
    if not 2 * low - high <= answer <= 2 * high - low:
        unit = f"its unit is {question.unit}" if question.unit else "it has no unit"
        raise ValueError(f"question: the answer {answer:g} is far from all options, {low:g} to {high:g}; {unit}")
    try:
        _ = question.correct
    except ValueError as error:
        raise ValueError(f"question: {error}") from None


def _check_reflection(reflection: Reflection, state: State) -> None:
    where = f"reflection {reflection.name!r}"
    names = [blank.name for blank in reflection.blanks]
    check_unique(f"{where}: blank", names)
    gaps = [gap for _, gap, _, _ in Formatter().parse(reflection.text) if gap is not None]
    if sorted(gaps) != sorted(names):
        raise ValueError(f"{where}: its text has the gaps {listed(gaps)}; its blanks are {listed(names)}")
    for blank in reflection.blanks:
        _distinct(f"{where}, blank {blank.name!r}", blank.options)
    correct_blanks(reflection, state)
    told_blanks(reflection, state)


def _distinct(where: str, options: Sequence[Option] | Sequence[ControlOption]) -> None:
    for option in options:
        if isinstance(option.value, float) and not math.isfinite(option.value):
            raise ValueError(f"{where}: option {option.value} is not a finite number")
    check_unique(f"{where}: option", (option.value for option in options))
    check_unique(f"{where}: label", (option.label for option in options))


def _check_slider(slider: Slider) -> None:
    """Raise `ValueError` unless the ends, the step and the default of a slider agree."""
    where = f"slider {slider.name!r}"
    numbers = (slider.minimum, slider.maximum, slider.default, slider.step)
    if not all(map(is_number, numbers)):
        raise ValueError(f"{where}: its ends, its default and its step are finite numbers; they are {numbers}")
    if not slider.minimum < slider.maximum:
        raise ValueError(f"{where}: the minimum {slider.minimum:g} is not below the maximum {slider.maximum:g}")
    if slider.scale not in ("linear", "log"):
        raise ValueError(f"{where}: scale {slider.scale!r} is unknown; allowed: linear, log")
    if slider.scale == "log" and slider.minimum <= 0:
        raise ValueError(f"{where}: a logarithmic scale needs a positive minimum, not {slider.minimum:g}")
    if slider.step > slider.maximum - slider.minimum:
        raise ValueError(f"{where}: the step {slider.step:g} is wider than {slider.minimum:g} to {slider.maximum:g}")
    if slider.step < 0 or (slider.step and slider.scale == "log"):
        raise ValueError(f"{where}: a step is positive, and on a logarithmic scale there is none")
    slider_value(slider, slider.default)


def _check_hands(act: Act) -> None:
    """Raise `ValueError` for a handle, a tap, segments or a staging that names what the act does not have."""
    controls = {control.name: control for control in act.controls}
    for hand in act.hands:
        where = f"{type(hand).__name__} of chart {hand.chart!r}"
        if hand.chart not in act.charts:
            raise ValueError(f"{where}: the act has no such chart; charts: {', '.join(act.charts) or 'none'}")
        if isinstance(hand, Handle):
            _check_handle(act, hand, where)
    sets = [hand.sets for hand in act.hands if isinstance(hand, Handle)]
    if len(set(sets)) < len(sets):
        raise ValueError(f"two handles set {next(one for one in sets if sets.count(one) > 1)!r}")
    if act.reveal_first and act.question is None:
        raise ValueError("an instrument reveals nothing, so nothing is revealed first")
    staging = act.staging
    if staging is None:
        return
    if act.question is None:
        raise ValueError("an instrument reveals nothing, so it has nothing to stage")
    if staging.chart not in act.charts:
        raise ValueError(f"staging: the act has no chart {staging.chart!r}; charts: {', '.join(act.charts) or 'none'}")
    if not staging.beats or not all(beat.marks for beat in staging.beats):
        raise ValueError("staging: it needs at least one beat, and every beat a mark")
    for name in staging.setting:
        if name not in controls:
            raise ValueError(f"staging: it sets {name!r}, which is no control; controls: {', '.join(controls)}")


def _check_handle(act: Act, handle: Handle, where: str) -> None:
    if bool(handle.along) != bool(handle.value) or not (handle.along or handle.field):
        raise ValueError(f"{where}: it needs the field it moves, or the layer it goes along and the value of its rows")
    if not handle.factor or not math.isfinite(handle.factor):
        raise ValueError(f"{where}: the factor {handle.factor!r} is not a number other than zero")
    if handle.axis not in ("x", "y"):
        raise ValueError(f"{where}: axis {handle.axis!r} is unknown; allowed: x, y")
    control = next((one for one in act.controls if one.name == handle.sets), None)
    if control is None:
        names = ", ".join(one.name for one in act.controls) or "none"
        raise ValueError(f"{where}: it sets {handle.sets!r}, which is no control; controls: {names}")
    if isinstance(control, Toggle):
        raise ValueError(f"{where}: it sets the toggle {handle.sets!r}; a handle sets numbers, Tap is for toggles")
    if isinstance(control, Choice) and not all(is_number(option.value) for option in control.options):
        raise ValueError(f"{where}: it sets {handle.sets!r}, whose options are not all numbers")
