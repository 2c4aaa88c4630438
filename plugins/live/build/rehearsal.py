"""Plays an act as its readers could, at build, to find what they would: what fails, and what is no field of any row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from plugins.live.runtime.acts import ActError, LoadedAct
from plugins.live.runtime.contract import Act, Choice, ChoiceQuestion, Handle, Playback, Segments, Slider, Toggle, Value
from plugins.live.runtime.exchange import Plain, mapping, plain, same


def rehearse(loaded: LoadedAct) -> None:
    """Lock in and reveal every answer a reader could give in the default state, and move every control.

    Raises:
        ActError: `compute`, `ledger` or `reveal` fails for an answer, `reveal` calls an option right that is not the
            nearest to the engine's, a toggle that is for display only changes more than that, or a hand or the staging
            names a field that no row has.
    """
    rehearsal = _Rehearsal(loaded)
    rehearsal.answers(mapping(plain(loaded.act.default_state(), "state")))
    for name, who in _fields_of(loaded.act).items():
        if name not in rehearsal.fields:
            raise ActError(f"{who}: it names the field {name!r}, which no row has in any state that was tried")


class _Rehearsal:
    def __init__(self, loaded: LoadedAct) -> None:
        self._loaded = loaded
        self.fields = set[str]()
        """The fields of all rows so far."""

    def answers(self, state: dict[str, Plain]) -> None:
        question = self._loaded.act.question
        self._display(state)
        for name, value in _ends_and_middles(self._loaded.act):
            self._compute({**state, "controls": {**mapping(state["controls"]), name: value}})
        if question is None:
            return
        if not isinstance(question, ChoiceQuestion):
            for number in (question.minimum, question.maximum):
                self._compute({**state, "held": number})
                self._reveal({**state, "prediction": number})
            return
        for option in question.options:
            correct = self._reveal({**state, "prediction": option.value})
            if correct != same(option.value, question.correct.value):
                said = "right" if correct else "wrong"
                nearest = f"the option nearest to the answer is {question.correct.value!r}"
                raise ActError(f"reveal calls {option.value!r} {said}; {nearest}", self._loaded.line_of("reveal"))

    def _compute(self, state: dict[str, Plain]) -> Plain:
        view = self._loaded.compute(state)
        data: Any = mapping(view)["data"]
        self.fields.update(*(row for rows in data.values() for row in rows))
        return view

    def _reveal(self, state: dict[str, Plain]) -> Plain:
        """Compute a state before and after its reveal. Returns whether `reveal` calls its prediction right."""
        self._compute(state)
        revealed: dict[str, Plain] = {**state, "revealed": True}
        self._compute(revealed)
        return mapping(self._loaded.reveal(revealed))["correct"]

    def _display(self, state: dict[str, Plain]) -> None:
        """Move every toggle that is for display only. Raises `ActError` where that changes a result."""
        self._options(state)
        for toggle in self._loaded.act.controls:
            if isinstance(toggle, Toggle) and toggle.display_only:
                moved = {**mapping(state["controls"]), toggle.name: not toggle.default}
                if _result(self._compute({**state, "controls": moved})) != _result(self._compute(state)):
                    raise ActError(f"toggle {toggle.name!r} is for display only, but moving it changes the result")

    def _options(self, state: dict[str, Plain]) -> None:
        """Compute every context and every option of every control once, as after the reveal, when all are open.

        Raises:
            ActError: `compute` fails there; the message names the option.
        """
        question = self._loaded.act.question
        if question is not None:
            first = question.options[0].value if isinstance(question, ChoiceQuestion) else question.minimum
            state = {**state, "prediction": first, "revealed": True}
        moves: list[tuple[str, dict[str, Plain]]] = [
            (f"context {context.name!r}", {"context": context.name}) for context in self._loaded.act.contexts
        ]
        for control in self._loaded.act.controls:
            # Of a slider the ends and the middle are rehearsed (`_ends_and_middles`).
            options: tuple[Value, ...] = ()
            if isinstance(control, Toggle):
                options = (not control.default,)
            elif isinstance(control, Choice):
                options = tuple(option.value for option in control.options)
            for value in options:
                moved = {**mapping(state["controls"]), control.name: value}
                moves.append((f"{control.name} = {value!r}", {"controls": moved}))
        for name, change in moves:
            try:
                self._compute({**state, **change})
            except ActError as error:
                raise ActError(f"with {name}: {error}", error.line) from None


def _ends_and_middles(act: Act) -> Iterator[tuple[str, Value]]:
    """A control and a value for every state that is worth trying besides the default: ends and middles of sliders."""
    for control in act.controls:
        if isinstance(control, Slider):
            low, high = control.minimum, control.maximum
            middle = math.sqrt(low * high) if control.scale == "log" else (low + high) / 2
            for value in (low, middle, high):
                yield control.name, round(value) if control.integer else value


def _fields_of(act: Act) -> dict[str, str]:
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


def _result(view: Plain) -> list[Plain]:
    """What of a view is a result, rather than the way to show it."""
    shown = mapping(view)
    headline = mapping(shown["headline"])
    return [headline["value"], headline["unit"], shown["failure"], shown["ledger"]]
