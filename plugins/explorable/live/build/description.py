"""What the page may know of an act before the reader commits, as plain data for the templates."""

from __future__ import annotations

import math
from typing import Any

from explorable.live.runtime.acts import LoadedAct
from explorable.live.runtime.contract import Act, ChoiceQuestion, Handle, Note, Playback, Slider, Toggle
from explorable.live.runtime.exchange import Plain, mapping, plain

MOST_TICKS = 6
"""Steps between the numbers under a scale: more do not fit on a phone."""


def describe(loaded: LoadedAct) -> Plain:
    """Everything the page may know before the reader commits: no answer, no explanation of an option."""
    act = loaded.act
    return {
        **_named(act, "name", "title", "minutes", "situation", "contexts"),
        "question": _describe_question(act),
        "controls": [_describe_control(control) for control in act.controls],
        "charts": plain(act.charts, "charts"),
        "reflections": [
            {
                **_named(reflection, "name", "text"),
                "blanks": [
                    {**_named(blank, "name", "label"), "options": _labels(blank.options)} for blank in reflection.blanks
                ],
            }
            for reflection in act.reflections
        ],
        **_named(act, "can_fail", "hints", "moves", "reveal_first", "beside", "linked", "compared", "program"),
        "reader": None if act.reader is None else _named(act.reader, "label", "help"),
        "follows": act.reader is not None and act.reader.rewrite is not None,
        "suggests": act.suggest is not None,
        "exports": act.exports is not None,
        "hands": [{"kind": type(hand).__name__.lower(), **mapping(plain(hand, "hands"))} for hand in act.hands],
        "staging": plain(act.staging, "staging"),
        "drawn": plain(_drawn_by(act), "drawn"),
        # Whether a hand moves, only the page's Python is told.
        "state": {
            name: value
            for name, value in mapping(plain(act.default_state(), "state")).items()
            if name not in ("moving", "stood")
        },
    }


def _named(of: object, *names: str) -> dict[str, Plain]:
    return {name: plain(getattr(of, name), name) for name in names}


def _describe_question(act: Act) -> Plain:
    question = act.question
    if question is None:
        return None
    if isinstance(question, ChoiceQuestion):
        return {"kind": "choice", **_named(question, "prompt", "unit"), "options": _labels(question.options)}
    return {
        "kind": "number",
        **_named(question, "prompt", "unit", "minimum", "maximum", "step", "base"),
        "ticks": [
            {"value": f"{tick:,g}", "at": round((tick - question.minimum) / (question.maximum - question.minimum), 4)}
            for tick in _ticks(question.minimum, question.maximum)
        ],
    }


def _ticks(low: float, high: float) -> list[float]:
    """Round numbers between two ends, at most seven: those that the page's scale shows."""
    power = 10.0 ** math.floor(math.log10(high - low))
    step = next(width * power for width in (0.1, 0.2, 0.25, 0.5, 1, 2) if (high - low) / (width * power) <= MOST_TICKS)
    first = math.ceil(low / step - 1e-9)
    return [round(place * step, 9) for place in range(first, math.floor(high / step + 1e-9) + 1)]


def _describe_control(control: Any) -> Plain:
    if isinstance(control, Note):
        return {"kind": "note", **_named(control, "name", "label", "longest", "default", "after_reveal", "more")}
    kind = "toggle" if isinstance(control, Toggle) else "slider" if isinstance(control, Slider) else "choice"
    places = _places(control) if isinstance(control, Slider) else {}
    return {"kind": kind, **mapping(plain(control, f"control {control.name!r}")), **places}


MOST_PLACES = 400
"""Places of a slider without steps, as the page's script has them (`NumberRange` in `act/controls.ts`)."""


def _places(slider: Slider) -> dict[str, int]:
    """The last place of a slider, whose first is 0, and the place of its default."""
    least, wide, default = slider.minimum, slider.maximum - slider.minimum, slider.default
    if slider.step:
        return {"last": math.floor(wide / slider.step + 1e-9), "place": _nearest((default - least) / slider.step)}
    logarithmic = slider.scale == "log"
    last = min(MOST_PLACES, int(wide)) if slider.integer and not logarithmic else MOST_PLACES
    share = math.log(default / least) / math.log(slider.maximum / least) if logarithmic else (default - least) / wide
    return {"last": last, "place": _nearest(share * last)}


def _nearest(place: float) -> int:
    return math.floor(place + 0.5)


def _labels(options: Any) -> Plain:
    return [_named(option, "value", "label") for option in options]


def _drawn_by(act: Act) -> dict[str, dict[str, list[str]]]:
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
