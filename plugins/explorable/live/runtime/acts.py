"""Loads an act from the text of its `act.py`, and calls its functions: for the page and the build, JSON in and out.

An act is loaded once: this module is where the loaded acts live, one of each per interpreter. What fails is an
`ActError`, whose message is one line for the reader.
"""

from __future__ import annotations

import ast
import gc
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any, TypeVar

from explorable.live.runtime.contract import Act, ChoiceQuestion, Row, State, Suggestion, Value
from explorable.live.runtime.exchange import (
    Plain,
    check_verdict,
    check_view,
    chosen,
    control_value,
    correct_blanks,
    ledger_fields,
    mapping,
    plain,
    same,
    state_of,
    text,
    told_blanks,
)
from explorable.live.runtime.measured import answering
from explorable.live.runtime.program import Program, importable
from explorable.live.runtime.tracebacks import place, remember, trim
from explorable.live.runtime.unknown_words import unknown_word
from explorable.live.runtime.validation import check_definition

T = TypeVar("T")


class ActError(ValueError):
    """An act or a state that cannot be used, in one line; `line` is the line of `act.py` it points at, if any."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class LoadedAct:
    """An act whose definition has been checked. Every method takes and returns plain data."""

    def __init__(self, act: Act, filename: str, *others: str) -> None:
        """`filename` is how errors name `act.py`, and `others` the modules that it imports."""
        self.act = act
        self.filenames = (filename, *others)
        self._suggesting: Iterator[Suggestion] | None = None
        self._written: dict[str, tuple[Sequence[Row], str]] = {}

    def compute(self, state: Mapping[str, Any]) -> Plain:
        """The view of a state, under `ledger` what the act writes into the reader's ledger there, and its `score`.

        `share` is the score over the best that a search found.
        Raises `ActError` for a state that does not exist or a function that fails.
        """
        current = self._state(state)
        view = self._guard("compute", lambda: plain(check_view(self.act, self.act.compute(current)), "View"))
        fields = self._guard("ledger", lambda: plain(ledger_fields(self.act, current), "ledger"))
        rate, told = self.act.score, current.revealed and current.prediction is not None
        score = self._guard("score", lambda: plain(rate(current) if rate and told else None, "score"))
        best = self.act.best
        share = None if best is None or not isinstance(score, (int, float)) else max(0.0, score / best)
        return {**mapping(view), "ledger": fields, "score": score, "share": share}

    def frame(self, state: Mapping[str, Any]) -> str:
        """What of a view the eye follows while a hand moves, as JSON: no tables, and nothing for the ledger.

        Raises `ActError` as `compute`. The whole view of where the hand rests is `compute`'s.
        """
        current = replace(self._state(state), moving=True)
        view = self._guard("compute", lambda: self.act.compute(current))
        seen = {name: getattr(view, name) for name in ("headline", "summary", "failure", "success")}
        unread: dict[str, object] = {"tables": {}, "command": "", "readings": {}, "ledger": {}, "score": None}
        rest = self._guard("compute", lambda: text({**seen, **unread, "share": None}, "View"))
        sets = view.data.items()
        data = self._guard(
            "compute", lambda: [f"{json.dumps(str(name))}: {self._rows(name, rows)}" for name, rows in sets]
        )
        return f'{{"data": {{{", ".join(data)}}}, {rest[1:]}'

    def _rows(self, name: str, rows: Sequence[Row]) -> str:
        """A data set as JSON. Rows that no hand changes, as those that `compute` caches, are written once."""
        last = self._written.get(name)
        if last is None or last[0] is not rows or not isinstance(rows, tuple):
            last = self._written[name] = rows, text(rows, f"View.data[{name!r}]")
        return last[1]

    def reveal(self, state: Mapping[str, Any]) -> Plain:
        """The verdict on the state's prediction, and under `gap` its distance from the answer in numbers.

        Raises `ActError` as `compute`, and when nothing was predicted.
        """
        current = self._state(state)
        prediction, reveal, question = current.prediction, self.act.reveal, self.act.question
        if prediction is None or reveal is None or question is None:
            raise ActError("there is nothing to reveal: no prediction was made")
        verdict = self._guard("reveal", lambda: plain(check_verdict(reveal(prediction, current)), "Verdict"))
        gap = _gap(float(prediction), float(question.answer()), question.unit)
        words = {"words": question.correct.label} if isinstance(question, ChoiceQuestion) else {}
        return {**mapping(verdict), "gap": {**mapping(gap), **words}}

    def check(self, reflection: str, answers: Mapping[str, Value], state: Mapping[str, Any]) -> Plain:
        """For each answered blank: whether the answer is right in this state, and why it is right or wrong."""
        current = self._state(state)
        found = next((item for item in self.act.reflections if item.name == reflection), None)
        if found is None:
            names = ", ".join(item.name for item in self.act.reflections) or "none"
            raise ActError(f"unknown reflection {reflection!r}; allowed: {names}")
        correct = self._guard(f"reflection {reflection!r}", lambda: correct_blanks(found, current))
        told = self._guard(f"reflection {reflection!r}", lambda: told_blanks(found, current))
        blanks = {blank.name: blank for blank in found.blanks}
        feedback: dict[str, Plain] = {}
        for name, value in answers.items():
            if name not in blanks:
                raise ActError(f"unknown blank {name!r}; allowed: {', '.join(blanks)}")
            try:
                option = chosen(f"answer for {name!r}", blanks[name].options, value)
            except ValueError as error:
                raise ActError(str(error)) from None
            right = any(same(option.value, one) for one in correct[name])
            feedback[name] = {"correct": right, "why": " ".join(filter(None, (told.get(name), option.why)))}
        return feedback

    def hear(self, texts: Sequence[str], state: Mapping[str, Any]) -> Plain:
        """What the act has understood of texts: `Heard`. Raises `ActError`, in a line, for what it cannot read."""
        current, reader = self._state(state), self.act.reader
        if reader is None:
            raise ActError("this act reads no texts")
        try:
            heard = reader.read(texts, current)
        except ValueError as error:
            # It is about the text, and the reader of the page has written that: no file of the act's is named.
            raise ActError(str(error)) from error
        controls = {control.name: control for control in self.act.controls}
        for name, value in heard.controls.items():
            self._guard("reader", lambda: control_value(controls[name], value))  # noqa: B023 - called at once
        return plain(heard, "Heard")

    def rewrite(self, texts: Sequence[str], state: Mapping[str, Any]) -> Plain:
        """How the reader's texts change with the state: name -> a unified diff."""
        current, reader = self._state(state), self.act.reader
        if reader is None or reader.rewrite is None:
            return {}
        follow = reader.rewrite
        return plain(self._guard("rewrite", lambda: follow(texts, current)), "rewrite")

    def suggest(self, state: Mapping[str, Any], start: bool) -> Plain:
        """The next suggestion for a state, under `next`; None when there is no other. `start`: from the first on."""
        current, suggest = self._state(state), self.act.suggest
        if start or self._suggesting is None:
            self._suggesting = iter(()) if suggest is None else self._guard("suggest", lambda: suggest(current))
        coming = self._suggesting
        return {"next": plain(self._guard("suggest", lambda: next(coming, None)), "Suggestion")}

    def exports(self, state: Mapping[str, Any]) -> Plain:
        """The state as texts for other programs."""
        current, exports = self._state(state), self.act.exports
        return {} if exports is None else plain(self._guard("exports", lambda: exports(current)), "exports")

    def line_of(self, function: str) -> int | None:
        """Where act.py begins one of the act's functions."""
        code = getattr(getattr(self.act, function, None), "__code__", None)
        return code.co_firstlineno if code is not None and code.co_filename == self.filenames[0] else None

    def place_of(self, function: str) -> str:
        """The file and line of one of the act's functions, to end a message with; "" for one in act.py."""
        code = getattr(getattr(self.act, function, None), "__code__", None)
        if code is None or code.co_filename not in self.filenames[1:]:
            return ""
        return f" ({code.co_filename}, line {code.co_firstlineno})"

    def _state(self, state: Mapping[str, Any]) -> State:
        try:
            return state_of(self.act, state)
        except ValueError as error:
            raise ActError(str(error)) from None

    def _guard(self, what: str, call: Callable[[], T]) -> T:
        try:
            return _guarded(what, self.filenames, call)
        except ActError as error:
            raise ActError(str(error), error.line or self.line_of(what)) from error


_acts: dict[str, LoadedAct] = {}


def load_act(name: str, program_json: str) -> None:
    """Load an act, or load it anew, from the document that the site publishes."""
    with _kept_for_good():
        _acts[name] = load(name, Program.from_json(program_json))


def compute(name: str, state_json: str) -> str:
    """The view of a loaded act in a state: `View` in protocol.ts."""
    return _json(loaded(name).compute(json.loads(state_json)))


def frame(name: str, state_json: str) -> str:
    """The same for a frame while a hand moves: tables, ledger and score, which nobody reads then, are empty."""
    return loaded(name).frame(json.loads(state_json))


def reveal(name: str, state_json: str) -> str:
    """The verdict of a loaded act on the prediction in a state: `Verdict` in protocol.ts."""
    return _json(loaded(name).reveal(json.loads(state_json)))


def check(name: str, reflection: str, answers_json: str, state_json: str) -> str:
    """The feedback on the answers to a reflection: `Feedback` in protocol.ts."""
    return _json(loaded(name).check(reflection, json.loads(answers_json), json.loads(state_json)))


def tell(name: str, what: str, texts_json: str, state_json: str) -> str:
    """What a loaded act says besides: `hear`, `rewrite`, `suggest`, `more` (of the suggestions) or `exports`."""
    act, state = loaded(name), json.loads(state_json)
    if what in ("suggest", "more"):
        return _json(act.suggest(state, what == "suggest"))
    if what == "exports":
        return _json(act.exports(state))
    texts = json.loads(texts_json)
    return _json(act.hear(texts, state) if what == "hear" else act.rewrite(texts, state))


def loaded(name: str) -> LoadedAct:
    """A loaded act. Raises `ActError` for any other."""
    if name not in _acts:
        raise ActError(f"act {name!r} is not loaded")
    return _acts[name]


def _json(value: Plain) -> str:
    return json.dumps(value, allow_nan=False)


@contextmanager
def _kept_for_good() -> Iterator[None]:
    """Exempt what is created meanwhile from garbage collection: it lives as long as the page; scanning it is slow."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def load(name: str, program: Program) -> LoadedAct:
    """Run an act's program and check what it defines as `ACT`.

    Args:
        name: the act's own name.
        program: its files, the records they ask for, and its parameter.

    Raises:
        ActError: the source fails, defines neither `ACT` nor, for a parameter, `act`, or the definition has a mistake.
    """
    (filename, source), *others = program.files.items()
    remember(filename, source)
    package, filenames = f"acts.{name.replace('-', '_')}", tuple(program.files)
    module = ModuleType(f"{package}.act")
    module.__package__ = package
    folder = str(PurePosixPath(filename).parent)
    with answering(program.records), importable(package, dict(others), folder) as imported:
        # A dataclass defined in an act looks its module up here.
        sys.modules[module.__name__] = module
        _guarded("loading", filenames, lambda: exec(compile(source, filename, "exec", dont_inherit=True), vars(module)))
        # Inside: the function may import what its parameter alone needs.
        act = _defined(module, program.parameter, filenames)
    try:
        return LoadedAct(_guarded("", filenames, lambda: check_definition(act, name)), filename, *imported)
    except ActError as error:
        raise ActError(str(error), error.line or _line_of(source, str(error))) from None


def _defined(module: ModuleType, parameter: str, filenames: tuple[str, ...]) -> object:
    """What `act.py` defines: its `ACT`, or what its function `act` makes of the parameter."""
    make = getattr(module, "act", None)
    if parameter and callable(make):
        return _guarded("act", filenames, lambda: make(parameter))
    if parameter:
        raise ActError(f"the page gives it the parameter {parameter!r}, and it defines no function act(parameter)", 1)
    if hasattr(module, "ACT"):
        return module.ACT
    if callable(make):
        raise ActError("it is a function of a parameter, which the page has to give: /// act | name: parameter", 1)
    raise ActError("it defines no ACT", 1)


def _guarded(what: str, filenames: tuple[str, ...], call: Callable[[], T]) -> T:
    """Call a function of the author's, and turn what it raises into one line with the place in the act's files."""
    try:
        return call()
    except Exception as error:
        line, where = trim(error, filenames[0], filenames).line, place(error, filenames)
        # A syntax error's own text ends in the name of the file and the line again.
        said = error.msg if isinstance(error, SyntaxError) else error
        message = str(said) if isinstance(error, ValueError) and not where else f"{type(error).__name__}: {said}"
        if isinstance(error, TypeError):
            message = unknown_word(error) or message
        raise ActError(f"{what}: {message}{where}".removeprefix(": "), line) from error


def _line_of(source: str, message: str) -> int:
    """The line on which an act defines what a message begins with, a field or a control; else where the act begins."""
    for node in ast.parse(source).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        named = any(isinstance(target, ast.Name) and target.id == "ACT" for target in targets)
        if named or (isinstance(node, ast.FunctionDef) and node.name == "act"):
            first, second, *_ = [*re.findall(r"[\w-]+", message), "", ""]
            given = {one.arg: one for one in reversed([*ast.walk(node)]) if isinstance(one, ast.keyword)}
            if first == "control" and (controls := given.get("controls")):
                texts = (one for one in ast.walk(controls) if isinstance(one, ast.Constant) and one.value == second)
                return next((one.lineno for one in texts), controls.lineno)
            found = given.get(second) or given.get(first)
            return found.lineno if found else node.lineno
    return 1


def _gap(predicted: float, answer: float, unit: str) -> Plain:
    """How far a prediction is off: the answer, the signed distance to it, the factor between the two, and the unit.

    The factor is at least 1; it is None where a ratio says nothing, because a value is not positive.
    """
    positive = predicted > 0 and answer > 0
    factor = max(predicted / answer, answer / predicted) if positive else None
    return {"answer": answer, "difference": answer - predicted, "factor": factor, "unit": unit}
