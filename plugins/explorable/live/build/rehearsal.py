"""Plays an act as its readers could, at build, to find what they would.

That is what fails, what changes from one time to the next, what is slow under a hand, and what is no field of any row.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from types import FrameType
from typing import Any

from explorable.live.build.chance import by_chance, varied
from explorable.live.runtime.acts import ActError, LoadedAct
from explorable.live.runtime.contract import (
    APART_PX,
    SCALE_PX,
    Act,
    Choice,
    ChoiceQuestion,
    Handle,
    NumberQuestion,
    Playback,
    Segments,
    Slider,
    Toggle,
    Value,
)
from explorable.live.runtime.exchange import Plain, mapping, plain, same

MOST_ROWS = 5_000
"""Of one data set: a chart with more marks neither follows a hand nor shows each of them."""
MOST_LINES = 400_000
"""Lines of Python that one `compute` may run where a hand drags: some 30 ms on a laptop, and thrice that in a page.

Lines are counted, since the time that they take differs from machine to machine.
"""
MOST_OPTIONS = 8
"""Of a longer menu so many are played, evenly over it; a test of the book can play them all."""
_PLACES = 8
"""Between the ends of a number's range, so many predictions are judged."""


def rehearse(loaded: LoadedAct) -> dict[str, list[str]]:
    """Lock in and reveal every answer a reader could give in the default state, and move every control.

    Returns:
        By data set the fields that its rows had in any state: none for one that was always empty.

    Raises:
        ActError: `compute`, `ledger` or `reveal` fails for an answer, or gives another result the second time;
            `reveal` calls an option right that is not the nearest to the engine's; a toggle that is for display only
            changes more than that; a view has too many rows, or takes too long to follow a hand; or a hand or the
            staging names a field that no row has.
    """
    rehearsal = _Rehearsal(loaded)
    rehearsal.answers(mapping(plain(loaded.act.default_state(), "state")))
    rehearsal.follows()
    for name, who in _fields_of(loaded.act).items():
        if not any(name in fields for fields in rehearsal.fields.values()):
            raise ActError(f"{who}: it names the field {name!r}, which no row has in any state that was tried")
    return {name: sorted(fields) for name, fields in rehearsal.fields.items()}


class _Rehearsal:
    def __init__(self, loaded: LoadedAct) -> None:
        self._loaded = loaded
        self._lines: dict[str, list[int]] = {}
        self.fields: dict[str, set[str]] = {}
        """By data set the fields of all rows so far."""

    def answers(self, state: dict[str, Plain]) -> None:
        question = self._loaded.act.question
        self._display(state)
        for name, value in _ends_and_middles(self._loaded.act):
            moved: dict[str, Plain] = {**state, "controls": {**mapping(state["controls"]), name: value}}
            self._follow(name, moved)
            self._compute(moved)
        if question is None:
            return
        if not isinstance(question, ChoiceQuestion):
            for number in (question.minimum, question.maximum):
                self._frame("the prediction", {**state, "held": number})
                self._compute({**state, "held": number})
                self._reveal({**state, "prediction": number})
            for number in _predictions(question):
                with _named(f"the prediction {number:g}"):
                    self._judge({**state, "prediction": number, "revealed": True})
            self._apart(question, {**state, "revealed": True})
            return
        for option in question.options:
            correct = self._reveal({**state, "prediction": option.value})
            if correct != same(option.value, question.correct.value):
                said = "right" if correct else "wrong"
                nearest = f"the option nearest to the answer is {question.correct.value!r}"
                raise ActError(f"reveal calls {option.value!r} {said}; {nearest}", self._loaded.line_of("reveal"))

    def _compute(self, state: dict[str, Plain]) -> Plain:
        with at_state(self._loaded.act, state):
            view = self._twice("compute", lambda: self._loaded.compute(state))
        data: Any = mapping(view)["data"]
        for name, rows in data.items():
            if len(rows) > MOST_ROWS:
                what = f"compute returns {len(rows):,} rows of {name!r}, and the most is {MOST_ROWS:,}: return fewer"
                raise ActError(f"{what}{self._loaded.place_of('compute')}", self._loaded.line_of("compute"))
            self.fields.setdefault(name, set()).update(*rows)
        return view

    def _twice(self, function: str, call: Callable[[], Plain]) -> Plain:
        """The result of one of the act's functions. Raises `ActError` unless a second call gives the same."""
        with varied(0) as took:
            result = call()
        with varied(1) as took_again:
            again = call()
        if result != again or by_chance(took, took_again):
            what = f"{function} can give another result each time: seed what is random, and keep nothing between calls"
            raise ActError(f"{what}{self._loaded.place_of(function)}", self._loaded.line_of(function))
        return result

    def _follow(self, name: str, state: dict[str, Plain]) -> None:
        """Count the lines that run for a frame, if a handle drags the control called `name`."""
        if any(isinstance(hand, Handle) and hand.sets == name for hand in self._loaded.act.hands):
            self._frame(repr(name), state)

    def _frame(self, name: str, state: dict[str, Plain]) -> None:
        lines = 0

        def count(frame: FrameType, event: str, _: object) -> Any:
            nonlocal lines
            lines += event == "line"
            return count

        before = sys.gettrace()
        sys.settrace(count)
        try:
            self._loaded.frame(state)
        finally:
            sys.settrace(before)
        self._lines.setdefault(name, []).append(lines)

    def follows(self) -> None:
        """Raise `ActError` where `compute` runs more lines than a hand has patience for."""
        for name, counted in self._lines.items():
            # The first may have filled caches.
            if (lines := min(counted)) > MOST_LINES:
                what = f"compute runs {lines:,} lines while a hand drags {name}, and the most is {MOST_LINES:,}"
                fix = "compute less, or once for all states"
                raise ActError(f"{what}: {fix}{self._loaded.place_of('compute')}", self._loaded.line_of("compute"))

    def _reveal(self, state: dict[str, Plain]) -> Plain:
        """Compute a state before and after its reveal. Returns whether `reveal` calls its prediction right."""
        self._compute(state)
        revealed: dict[str, Plain] = {**state, "revealed": True}
        self._compute(revealed)
        return self._judge(revealed)

    def _judge(self, revealed: dict[str, Plain]) -> Plain:
        return mapping(self._twice("reveal", lambda: self._loaded.reveal(revealed)))["correct"]

    def _apart(self, question: NumberQuestion, revealed: dict[str, Plain]) -> None:
        """Raise `ActError` where two answers lie so near on the page's scale that a finger does not tell them apart."""
        others = [one for one in question.beliefs() if not self._judge({**revealed, "prediction": one})]
        ordered = sorted({question.answer(), *others})
        for one, next_one in pairwise(ordered):
            pixels = SCALE_PX * (next_one - one) / (question.maximum - question.minimum)
            if pixels < APART_PX:
                near = f"the answers {one:.4g} and {next_one:.4g} lie {pixels:.0f} pixels apart on a phone"
                raise ActError(f"question: {near}, and {APART_PX} are needed: narrow the range, or drop a belief")

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
            ActError: `compute` fails there; the message names the state.
        """
        question = self._loaded.act.question
        if question is not None:
            first = question.options[0].value if isinstance(question, ChoiceQuestion) else question.minimum
            state = {**state, "prediction": first, "revealed": True}
        moves: list[dict[str, Plain]] = [{"context": context.name} for context in self._loaded.act.contexts]
        for control in self._loaded.act.controls:
            # Of a slider the ends and the middle are rehearsed (`_ends_and_middles`).
            options: tuple[Value, ...] = ()
            if isinstance(control, Toggle):
                options = (not control.default,)
            elif isinstance(control, Choice):
                options = tuple(option.value for option in control.options[:: 1 + len(control.options) // MOST_OPTIONS])
            for value in options:
                moved = {**mapping(state["controls"]), control.name: value}
                self._follow(control.name, {**state, "controls": moved})
                moves.append({"controls": moved})
        for change in moves:
            self._compute({**state, **change})


@contextmanager
def at_state(act: Act, state: Mapping[str, Any]) -> Iterator[None]:
    """Say in an `ActError` in which state it came about: where all controls stand, and of several contexts which."""
    said = [f"{name} = {value!r}" for name, value in mapping(state["controls"]).items()]
    said += [f"context {state['context']!r}"] if len(act.contexts) > 1 else []
    if not said:
        yield
        return
    with _named(", ".join(said)):
        yield


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Say in an `ActError` with what it came about."""
    try:
        yield
    except ActError as error:
        raise ActError(f"with {name}: {error}", error.line) from None


def _predictions(question: NumberQuestion) -> Iterator[float]:
    """Numbers that a reader may predict: between the ends, the answer itself, and zero, each on a step."""
    low, high = question.minimum, question.maximum
    for number in (*(low + (high - low) * place / _PLACES for place in range(1, _PLACES)), question.answer(), 0.0):
        if low <= number <= high:
            steps = round((number - low) / question.step) * question.step if question.step else number - low
            yield min(high, low + steps)


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
