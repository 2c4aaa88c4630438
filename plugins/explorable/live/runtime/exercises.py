"""Checks a reader's solution of an exercise: runs it alone, then the exercise's tests on what it defined.

A test is an `assert`. Each is carried out, whatever became of those before it, and is called by its message, or by its
own text. One that is met several times with one message, as in a loop, passes if it passes every time.
"""

from __future__ import annotations

import ast
import contextlib
import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from explorable.live.runtime.limits import plainly
from explorable.live.runtime.snippets import Namespace, Output, Ran, new_namespace, run, run_awaiting
from explorable.live.runtime.tracebacks import remember, trim

TESTS = "<tests>"
HIDDEN = "<hidden tests>"
"""The names under which the tests are compiled; no traceback of a reader shows them."""
LONGEST = 200
"""Characters of a value that a failed test repeats."""
_CHECK = "__check__"

Write = Callable[[str], object]


@dataclass(frozen=True)
class Check:
    """What became of one test.

    label: what the test is called. hidden: the page does not show it. passed: whether it holds.
    said: for one that failed, the values of the calls in it, or the error.
    line: of an error, the line of the reader's code; None for all else.
    at: the line of the `assert` in its file.
    """

    label: str
    hidden: bool
    passed: bool
    said: str
    line: int | None
    at: int


def check_exercise(name: str, source: str, tests: str, hidden: str, write: Write) -> str:
    """Run the code and the tests, outside of an event loop, as at build.

    Args:
        name: of the exercise, for tracebacks.
        source: the reader's code. It runs in a namespace of its own.
        tests: the tests that the page shows, and `hidden` those that it does not.
        hidden: see `tests`.
        write: called with what the code prints.

    Returns:
        `{"result": null, "html": null, "error": … or null, "figures": […], "checks": [Check, …]}`. Code that fails
        is not tested.
    """
    namespace = new_namespace()
    ran = run(source, f"<{name}>", namespace, write)
    return _tested(ran, namespace, name, source, tests, hidden, write)


async def check_exercise_awaiting(name: str, source: str, tests: str, hidden: str, write: Write) -> str:
    """The same in the page, where an event loop runs and the code may await."""
    namespace = new_namespace()
    ran = await run_awaiting(source, f"<{name}>", namespace, write)
    return _tested(ran, namespace, name, source, tests, hidden, write)


def _tested(ran: Ran, namespace: Namespace, name: str, source: str, tests: str, hidden: str, write: Write) -> str:
    checks: list[Check] = []
    if ran.error is None:
        output = Output(write)
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output), plainly(source):
            for code, filename in ((tests, TESTS), (hidden, HIDDEN)):
                checks += _Tests(code, filename, f"<{name}>", _defined(source)).carried_out(namespace)
        output.flush()
    return json.dumps({**asdict(ran), "result": None, "html": None, "checks": [asdict(one) for one in checks]})


def _defined(source: str) -> set[str]:
    """The functions and classes that the code defines itself."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    return {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, kinds)}


class _Tests:
    """The tests of one file.

    Args:
        code: the file's text.
        filename: its name.
        reader: the name of the reader's code.
        own: the functions of the reader, whose calls a failed test shows with their values.
    """

    def __init__(self, code: str, filename: str, reader: str, own: Collection[str]) -> None:
        remember(filename, code)
        self._filename = filename
        self._reader = reader
        self._body = _Asserts(code, own).visit(ast.parse(code, filename)).body
        self._checks: dict[str, Check] = {}

    def carried_out(self, namespace: Namespace) -> list[Check]:
        """What became of each test."""
        namespace[_CHECK] = self._check
        for statement in self._body:
            code = compile(ast.fix_missing_locations(ast.Module([statement], [])), self._filename, "exec")
            try:
                exec(code, namespace)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                said, line = self._words(error)
                self._note(Check("The tests cannot go on", self._hidden, False, said, line, statement.lineno))
                break
        return list(self._checks.values())

    @property
    def _hidden(self) -> bool:
        return self._filename == HIDDEN

    def _check(
        self,
        at: int,
        text: str,
        test: Callable[[], object],
        message: Callable[[], object] | None,
        calls: Sequence[tuple[str, Callable[[], object]]],
    ) -> None:
        label = text if message is None else str(message())
        try:
            passed, said, line = bool(test()), "", None
            if not passed:
                said = "; ".join(f"{call} gives {_short(value())}" for call, value in calls)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            passed, (said, line) = False, self._words(error)
        self._note(Check(label, self._hidden, passed, said, line, at))

    def _note(self, check: Check) -> None:
        """Keep the first failure of a test, or that it passed."""
        before = self._checks.get(check.label)
        if before is None or before.passed:
            self._checks[check.label] = check

    def _words(self, error: BaseException) -> tuple[str, int | None]:
        trimmed = trim(error, self._reader, {self._reader})
        # The traceback of several ends with a frame around the last.
        several = isinstance(error, BaseExceptionGroup)
        return f"{type(error).__name__}: {error}" if several else trimmed.text.splitlines()[-1], trimmed.line


class _Asserts(ast.NodeTransformer):
    """Turns `assert test, message` into `__check__(line, text, lambda: test, lambda: message, calls)`."""

    def __init__(self, code: str, own: Collection[str]) -> None:
        self._code = code
        self._own = own

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        """One test."""
        calls = [
            one
            for one in ast.walk(node.test)
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Name) and one.func.id in self._own
        ]
        arguments: list[ast.expr] = [
            ast.Constant(node.lineno),
            self._text(node.test),
            _later(node.test),
            ast.Constant(None) if node.msg is None else _later(node.msg),
            ast.List([ast.Tuple([self._text(one), _later(one)], ast.Load()) for one in calls], ast.Load()),
        ]
        return ast.copy_location(ast.Expr(ast.Call(ast.Name(_CHECK, ast.Load()), arguments, [])), node)

    def _text(self, expression: ast.expr) -> ast.Constant:
        return ast.Constant(ast.get_source_segment(self._code, expression))


def _later(expression: ast.expr) -> ast.Lambda:
    nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(nothing, expression)


def _short(value: Any) -> str:
    # A reader's class may give a text that says it is short.
    text = str.__str__(repr(value))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
