"""Finds the mistakes in what an act lets a reader take in hand, and in how it stages its reveal. Errors are one line.

Whether the marks exist is checked where the charts are drawn (`plugins.live.build.bake`): the browser has no charts.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from plugins.live.runtime.contract import (
    PREDICTION,
    Act,
    Choice,
    Handle,
    NumberQuestion,
    Playback,
    Segments,
    Slider,
    Toggle,
    Value,
)


def check_hands(act: Act) -> None:
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


def check_slider(slider: Slider) -> None:
    """Raise `ValueError` unless the ends, the step and the default of a slider agree."""
    where = f"slider {slider.name!r}"
    numbers = (slider.minimum, slider.maximum, slider.default, slider.step)
    if any(isinstance(one, bool) or not isinstance(one, int | float) or not math.isfinite(one) for one in numbers):
        raise ValueError(f"{where}: its ends, its default and its step are finite numbers; they are {numbers}")
    if not slider.minimum < slider.maximum:
        raise ValueError(f"{where}: the minimum {slider.minimum:g} is not below the maximum {slider.maximum:g}")
    if slider.scale not in ("linear", "log"):
        raise ValueError(f"{where}: scale {slider.scale!r} is unknown; allowed: linear, log")
    if slider.scale == "log" and slider.minimum <= 0:
        raise ValueError(f"{where}: a logarithmic scale needs a positive minimum, not {slider.minimum:g}")
    if slider.step < 0 or (slider.step and slider.scale == "log"):
        raise ValueError(f"{where}: a step is positive, and on a logarithmic scale there is none")
    slider_value(slider, slider.default)


def slider_value(slider: Slider, value: Value) -> Value:
    """Return the value if the slider can take it. Raises `ValueError` otherwise."""
    number = not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value)
    if not number or not slider.minimum <= float(value) <= slider.maximum:
        raise ValueError(
            f"control {slider.name!r} cannot be {value!r}; allowed: {slider.minimum:g} to {slider.maximum:g}"
        )
    if not slider.integer:
        return value
    if float(value) != int(value):
        raise ValueError(f"control {slider.name!r} cannot be {value!r}; allowed: whole numbers")
    return int(value)


def rehearsed(act: Act) -> Iterator[tuple[str, Value]]:
    """A control and a value for every state that is worth trying besides the default: ends and middles of sliders."""
    for control in act.controls:
        if isinstance(control, Slider):
            middle = math.sqrt(control.minimum * control.maximum) if control.scale == "log" else None
            middle = (control.minimum + control.maximum) / 2 if middle is None else middle
            for value in (control.minimum, middle, control.maximum):
                yield control.name, round(value) if control.integer else value


def _check_handle(act: Act, handle: Handle, where: str) -> None:
    if bool(handle.along) != bool(handle.value) or not (handle.along or handle.field):
        raise ValueError(f"{where}: it needs the field it moves, or the layer it goes along and the value of its rows")
    if not handle.factor or not math.isfinite(handle.factor):
        raise ValueError(f"{where}: the factor {handle.factor!r} is not a number other than zero")
    if handle.axis not in ("x", "y"):
        raise ValueError(f"{where}: axis {handle.axis!r} is unknown; allowed: x, y")
    if handle.sets == PREDICTION:
        if not isinstance(act.question, NumberQuestion):
            raise ValueError(f"{where}: it sets the prediction, and the question does not ask for a number")
        return
    control = next((one for one in act.controls if one.name == handle.sets), None)
    if control is None:
        names = ", ".join(one.name for one in act.controls) or "none"
        raise ValueError(f"{where}: it sets {handle.sets!r}, which is no control; controls: {names}")
    if isinstance(control, Toggle):
        raise ValueError(f"{where}: it sets the toggle {handle.sets!r}; a handle sets numbers, Tap is for toggles")
    if isinstance(control, Choice) and not all(_number(option.value) for option in control.options):
        raise ValueError(f"{where}: it sets {handle.sets!r}, whose options are not all numbers")


def _number(value: Value) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def drawn_by(act: Act) -> dict[str, dict[str, list[str]]]:
    """By chart, the layers and the axes that an act's hands and its staging name: charts.py has to draw them."""
    named: dict[str, dict[str, set[str]]] = {}

    def chart(name: str) -> dict[str, set[str]]:
        return named.setdefault(name, {"marks": set(), "axes": set()})

    for hand in act.hands:
        if isinstance(hand, Playback):
            continue
        chart(hand.chart)["marks"].add(hand.mark)
        if isinstance(hand, Handle) and hand.along:
            chart(hand.chart)["marks"].add(hand.along)
        elif isinstance(hand, Handle):
            chart(hand.chart)["axes"].add(hand.axis)
    if act.staging is not None:
        chart(act.staging.chart)["marks"].update(mark for beat in act.staging.beats for mark in beat.marks)
    return {name: {kind: sorted(found) for kind, found in each.items()} for name, each in named.items()}


def fields_of(act: Act) -> dict[str, str]:
    """The fields of rows that an act's hands and its staging name, and who names each."""
    wanted: dict[str, str] = {}
    for hand in act.hands:
        if isinstance(hand, Handle) and hand.along:
            names: tuple[str, ...] = (hand.value,)
        elif isinstance(hand, Handle):
            names = (hand.field, *([hand.origin] if isinstance(hand.origin, str) else []))
        else:
            names = (hand.key, hand.label) if isinstance(hand, Segments) else (hand.field,)
            names += (hand.label,) if isinstance(hand, Playback) else ()
        wanted |= dict.fromkeys(names, f"{type(hand).__name__} of chart {hand.chart!r}")
    for beat in act.staging.beats if act.staging else ():
        wanted |= dict.fromkeys(beat.rows, "staging")
    return wanted
