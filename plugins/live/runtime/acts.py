"""Loads an act from the text of its `act.py`, and calls its functions with plain data in and out."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any, TypeVar

from plugins.live.runtime.contract import Act, Choice, ChoiceQuestion, Slider, State, Toggle, Value, Verdict
from plugins.live.runtime.hands import drawn_by, fields_of, rehearsed
from plugins.live.runtime.measured import answering
from plugins.live.runtime.plain import Plain, plain
from plugins.live.runtime.program import Program, importable
from plugins.live.runtime.tracebacks import place, remember, trim
from plugins.live.runtime.unknown_words import unknown_word
from plugins.live.runtime.validation import (
    check_definition,
    check_state,
    check_table,
    check_view,
    chosen,
    correct_blanks,
    ledger_fields,
    same,
)

T = TypeVar("T")


class ActError(ValueError):
    """An act or a state that cannot be used, in one line; `line` is the line of `act.py` it points at, if any."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class LoadedAct:
    """An act whose definition has been checked. Every method takes and returns plain data."""

    def __init__(self, act: Act, filename: str, *others: str) -> None:
        """`filename` is how errors name `act.py`, and `others` the modules beside it."""
        self.act = act
        self._filenames = (filename, *others)
        self._fields: set[str] | None = None
        """While rehearsing: the fields of all rows so far."""

    def describe(self) -> Plain:
        """Everything the page may know before the reader commits: no answer, no explanation of an option."""
        act = self.act
        return {
            "name": act.name,
            "title": act.title,
            "minutes": act.minutes,
            "situation": act.situation,
            "contexts": plain(act.contexts, "contexts"),
            "question": _describe_question(act),
            "controls": [_describe_control(control) for control in act.controls],
            "charts": dict(act.charts),
            "reflections": [
                {
                    "name": reflection.name,
                    "text": reflection.text,
                    "blanks": [
                        {"name": blank.name, "label": blank.label, "options": _labels(blank.options)}
                        for blank in reflection.blanks
                    ],
                }
                for reflection in act.reflections
            ],
            "can_fail": act.can_fail,
            "moves": act.moves,
            "reveal_first": act.reveal_first,
            "beside": list(act.beside),
            "hands": [{"kind": type(hand).__name__.lower(), **_mapping(plain(hand, "hands"))} for hand in act.hands],
            "staging": plain(act.staging, "staging"),
            "drawn": plain(drawn_by(act), "drawn"),
            "state": plain(act.default_state(), "state"),
        }

    def compute(self, state: Mapping[str, Any]) -> Plain:
        """The view of a state, under `ledger` what the act writes into the reader's ledger there, and its `score`.

        `share` is the score over the best that a search found.
        Raises `ActError` for a state that does not exist or a function that fails.
        """
        current = self._state(state)
        view = self._guard("compute", lambda: plain(check_view(self.act, self.act.compute(current)), "View"))
        if self._fields is not None:
            for rows in _mapping(_mapping(view)["data"]).values():
                self._fields.update(*(_mapping(row) for row in rows))  # type: ignore[union-attr]
        fields = self._guard("ledger", lambda: plain(ledger_fields(self.act, current), "ledger"))
        rate, told = self.act.score, current.revealed and current.prediction is not None
        score = self._guard("score", lambda: plain(rate(current) if rate and told else None, "score"))
        best = self.act.best
        share = None if best is None or not isinstance(score, (int, float)) else max(0.0, score / best)
        return {**_mapping(view), "ledger": fields, "score": score, "share": share}

    def frame(self, state: Mapping[str, Any]) -> Plain:
        """What of a view the eye follows while a hand moves: a view without tables, and nothing for the ledger.

        Raises `ActError` as `compute`. The whole view of where the hand rests is `compute`'s.
        """
        current = self._state(state)
        view = self._guard("compute", lambda: self.act.compute(current))
        seen = {name: getattr(view, name) for name in ("data", "headline", "summary", "failure", "success")}
        shown = self._guard("compute", lambda: plain(seen, "View"))
        return {**_mapping(shown), "tables": {}, "ledger": {}, "score": None, "share": None}

    def reveal(self, state: Mapping[str, Any]) -> Plain:
        """The verdict on the state's prediction, and under `gap` its distance from the answer in numbers.

        Raises `ActError` as `compute`, and when nothing was predicted.
        """
        current = self._state(state)
        prediction, reveal, question = current.prediction, self.act.reveal, self.act.question
        if prediction is None or reveal is None or question is None:
            raise ActError("there is nothing to reveal: no prediction was made")
        verdict = self._guard("reveal", lambda: plain(_check_verdict(reveal(prediction, current)), "Verdict"))
        return {**_mapping(verdict), "gap": _gap(float(prediction), float(question.answer()))}

    def check(self, reflection: str, answers: Mapping[str, Value], state: Mapping[str, Any]) -> Plain:
        """For each answered blank: whether the answer is right in this state, and why it is right or wrong."""
        current = self._state(state)
        found = next((item for item in self.act.reflections if item.name == reflection), None)
        if found is None:
            names = ", ".join(item.name for item in self.act.reflections) or "none"
            raise ActError(f"unknown reflection {reflection!r}; allowed: {names}")
        correct = self._guard(f"reflection {reflection!r}", lambda: correct_blanks(found, current))
        blanks = {blank.name: blank for blank in found.blanks}
        feedback: dict[str, Plain] = {}
        for name, value in answers.items():
            if name not in blanks:
                raise ActError(f"unknown blank {name!r}; allowed: {', '.join(blanks)}")
            try:
                option = chosen(f"answer for {name!r}", blanks[name].options, value)
            except ValueError as error:
                raise ActError(str(error)) from None
            feedback[name] = {"correct": same(option.value, correct[name]), "why": option.why}
        return feedback

    def rehearse(self) -> None:
        """Lock in and reveal every answer a reader could give in the default state, to find what a reader would.

        Raises:
            ActError: `compute`, `ledger` or `reveal` fails for an answer, `reveal` calls an option right that is not
                the nearest to the engine's, or a toggle that is for display only changes more than that.
        """
        self._fields = set[str]()
        self._rehearse_answers(_mapping(plain(self.act.default_state(), "state")))
        for name, who in fields_of(self.act).items():
            if name not in self._fields:
                raise ActError(f"{who}: it names the field {name!r}, which no row has in any state that was tried")

    def _rehearse_answers(self, state: dict[str, Plain]) -> None:
        question = self.act.question
        self._rehearse_display(state)
        for name, value in rehearsed(self.act):
            self.compute({**state, "controls": {**_mapping(state["controls"]), name: value}})
        if question is None:
            return
        if not isinstance(question, ChoiceQuestion):
            for number in (question.minimum, question.maximum):
                self.compute({**state, "held": number})
                self._rehearse_reveal({**state, "prediction": number})
            return
        for option in question.options:
            correct = self._rehearse_reveal({**state, "prediction": option.value})
            if correct != same(option.value, question.correct.value):
                said = "right" if correct else "wrong"
                nearest = f"the option nearest to the answer is {question.correct.value!r}"
                raise ActError(f"reveal calls {option.value!r} {said}; {nearest}", self._line_of("reveal"))

    def _rehearse_reveal(self, state: dict[str, Plain]) -> Plain:
        """Compute a state before and after its reveal. Returns whether `reveal` calls its prediction right."""
        self.compute(state)
        revealed: dict[str, Plain] = {**state, "revealed": True}
        self.compute(revealed)
        return _mapping(self.reveal(revealed))["correct"]

    def _rehearse_display(self, state: dict[str, Plain]) -> None:
        """Move every toggle that is for display only. Raises `ActError` where that changes a result."""
        self._rehearse_options(state)
        for toggle in self.act.controls:
            if isinstance(toggle, Toggle) and toggle.display_only:
                moved = {**_mapping(state["controls"]), toggle.name: not toggle.default}
                if _result(self.compute({**state, "controls": moved})) != _result(self.compute(state)):
                    raise ActError(f"toggle {toggle.name!r} is for display only, but moving it changes the result")

    def _rehearse_options(self, state: dict[str, Plain]) -> None:
        """Compute every context and every option of every control once, as after the reveal, when all are open.

        Raises:
            ActError: `compute` fails there; the message names the option.
        """
        question = self.act.question
        if question is not None:
            first = question.options[0].value if isinstance(question, ChoiceQuestion) else question.minimum
            state = {**state, "prediction": first, "revealed": True}
        moves: list[tuple[str, dict[str, Plain]]] = [
            (f"context {context.name!r}", {"context": context.name}) for context in self.act.contexts
        ]
        for control in self.act.controls:
            # Of a slider the ends and the middle are rehearsed (`hands.rehearsed`).
            options: tuple[Value, ...] = ()
            if isinstance(control, Toggle):
                options = (not control.default,)
            elif isinstance(control, Choice):
                options = tuple(option.value for option in control.options)
            for value in options:
                moved = {**_mapping(state["controls"]), control.name: value}
                moves.append((f"{control.name} = {value!r}", {"controls": moved}))
        for name, change in moves:
            try:
                self.compute({**state, **change})
            except ActError as error:
                raise ActError(f"with {name}: {error}", error.line) from None

    def _state(self, state: Mapping[str, Any]) -> State:
        if not isinstance(state, Mapping) or not isinstance(state.get("controls"), Mapping):
            raise ActError("a state needs a context and controls")
        try:
            given = State(
                state.get("context", ""),
                state["controls"],
                state.get("prediction"),
                state.get("revealed", False),
                state.get("held"),
                state.get("moves", 0),
            )
            return check_state(self.act, given)
        except ValueError as error:
            raise ActError(str(error)) from None

    def _guard(self, what: str, call: Callable[[], T]) -> T:
        try:
            return _guarded(what, self._filenames, call)
        except ActError as error:
            raise ActError(str(error), error.line or self._line_of(what)) from error

    def _line_of(self, function: str) -> int | None:
        """Where act.py begins one of the act's functions."""
        code = getattr(getattr(self.act, function, None), "__code__", None)
        return code.co_firstlineno if code is not None and code.co_filename == self._filenames[0] else None


def load(name: str, program: Program) -> LoadedAct:
    """Run an act's program and check what it defines as `ACT`.

    Args:
        name: the act's name, as the page writes it.
        program: its files and the records they ask for.

    Raises:
        ActError: the source fails, defines no `ACT`, or the definition has a mistake.
    """
    (filename, source), *others = program.files.items()
    remember(filename, source)
    package, filenames = f"acts.{name.replace('-', '_')}", tuple(program.files)
    module = ModuleType(f"{package}.act")
    module.__package__ = package
    with answering(program.records), importable(package, dict(others), str(PurePosixPath(filename).parent)):
        # A dataclass defined in an act looks its module up here.
        sys.modules[module.__name__] = module
        _guarded("loading", filenames, lambda: exec(compile(source, filename, "exec", dont_inherit=True), vars(module)))
    if not hasattr(module, "ACT"):
        raise ActError("it defines no ACT", 1)
    try:
        return LoadedAct(_guarded("", filenames, lambda: check_definition(module.ACT, name)), *filenames)
    except ActError as error:
        raise ActError(str(error), error.line or _line_of_act(source)) from None


def _guarded(what: str, filenames: tuple[str, ...], call: Callable[[], T]) -> T:
    """Call a function of the author's, and turn what it raises into one line with the place in the act's files."""
    try:
        return call()
    except Exception as error:
        line, where = trim(error, filenames[0], filenames).line, place(error, filenames)
        message = str(error) if isinstance(error, ValueError) and not where else f"{type(error).__name__}: {error}"
        if isinstance(error, TypeError):
            message = unknown_word(error) or message
        raise ActError(f"{what}: {message}{where}".removeprefix(": "), line) from error


def _line_of_act(source: str) -> int:
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == "ACT" for target in targets):
            return node.lineno
    return 1


def _describe_question(act: Act) -> Plain:
    question = act.question
    if question is None:
        return None
    if isinstance(question, ChoiceQuestion):
        options = _labels(question.options)
        return {"kind": "choice", "prompt": question.prompt, "unit": question.unit, "options": options}
    return {
        "kind": "number",
        "prompt": question.prompt,
        "unit": question.unit,
        "minimum": question.minimum,
        "maximum": question.maximum,
        "step": question.step,
        "base": question.base,
    }


def _describe_control(control: Any) -> Plain:
    kind = "toggle" if isinstance(control, Toggle) else "slider" if isinstance(control, Slider) else "choice"
    return {"kind": kind, **_mapping(plain(control, f"control {control.name!r}"))}


def _gap(predicted: float, answer: float) -> Plain:
    """How far a prediction is off: the answer, the signed distance to it in the unit, and the factor between the two.

    The factor is at least 1; it is None where a ratio says nothing, because a value is not positive.
    """
    positive = predicted > 0 and answer > 0
    factor = max(predicted / answer, answer / predicted) if positive else None
    return {"answer": answer, "difference": answer - predicted, "factor": factor}


def _mapping(value: Plain) -> dict[str, Plain]:
    """The plain form of a dataclass, which is always a mapping."""
    assert isinstance(value, dict)
    return value


def _result(view: Plain) -> list[Plain]:
    """What of a view is a result, rather than the way to show it."""
    shown = _mapping(view)
    headline = _mapping(shown["headline"])
    return [headline["value"], headline["unit"], shown["failure"], shown["ledger"]]


def _labels(options: Any) -> Plain:
    return [{"value": option.value, "label": option.label} for option in options]


def _check_verdict(verdict: object) -> Verdict:
    if not isinstance(verdict, Verdict):
        raise ValueError(f"it returned a {type(verdict).__name__}, not a Verdict")
    for name, table in verdict.tables.items():
        check_table(name, table)
    return verdict
