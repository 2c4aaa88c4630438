"""An exercise in code as its author wrote it, sorted and checked: what the page shows, and what opens after a try."""

from __future__ import annotations

import ast
import html
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from explorable.book import current
from explorable.live.build.extension import Fence
from explorable.live.build.imports import wrong_imports
from explorable.live.build.runner import Runner
from explorable.shared.errors import nearest

PARTS = ("start", "tests", "hidden", "hint", "solution")
"""What a fence of an exercise can be. `start`, `tests` and `solution` stand in every one, once."""
_REQUIRED, _SEVERAL = ("start", "tests", "solution"), ("hint",)
MOST_TESTS = 30
"""Tests that a reader can take in at once."""

Mistake = tuple[int | None, str, str]
"""A line of the page, what is wrong there, and what to do."""


@dataclass(frozen=True)
class Exercise:
    """The fences of one exercise. `hidden` is None where every test is shown."""

    name: str
    start: Fence
    tests: Fence
    hidden: Fence | None
    hints: Sequence[Fence]
    solution: Fence

    @property
    def given_later(self) -> dict[str, Any]:
        """What the page fetches when the reader first checks, or asks for a hint."""
        hidden = self.hidden.source if self.hidden else ""
        return {"tests": self.tests.source, "hidden": hidden, "hints": [hint_html(one.source) for one in self.hints]}


def sort(name: str, line: int | None, parts: Sequence[Fence]) -> Exercise | list[Mistake]:
    """The exercise that these fences make, or what is wrong with them."""
    found: dict[str, list[Fence]] = {part: [] for part in PARTS}
    mistakes: list[Mistake] = []
    for fence in parts:
        part = fence.options.get("part", "")
        if set(fence.options) != {"part"} or part not in PARTS:
            what = f"part={part!r} is unknown" if part else "a fence of an exercise says which part it is"
            fix = nearest(part, PARTS) if part else f'Write part="…": {", ".join(PARTS)}'
            mistakes.append((fence.line, what, fix))
        elif found[part] and part not in _SEVERAL:
            mistakes.append((fence.line, f"exercise {name!r} has two parts {part!r}", "Write them as one"))
        else:
            found[part].append(fence)
    missing = [part for part in _REQUIRED if not found[part]]
    if missing and not mistakes:
        written = " and ".join(f'```exercise part="{part}"' for part in missing)
        mistakes.append((line, f"exercise {name!r} lacks a part", f"Add {written}"))
    if mistakes:
        return mistakes
    [start], [tests], [solution] = (found[part] for part in _REQUIRED)
    return Exercise(name, start, tests, next(iter(found["hidden"]), None), found["hint"], solution)


def mistakes_in(exercise: Exercise, runner: Runner, importable: Collection[str]) -> Iterator[Mistake]:
    """What is wrong with an exercise: its solution passes every test, and its start does not."""
    of_code = [exercise.tests, *([exercise.hidden] if exercise.hidden else []), exercise.solution]
    written = list(_written(exercise, of_code, importable))
    yield from written
    if written:
        return
    tests, hidden = exercise.tests.source, exercise.hidden.source if exercise.hidden else ""
    solved = runner.exercise(exercise.name, exercise.solution.source, tests, hidden)
    yield from _unsolved(exercise, solved)
    begun = runner.exercise(exercise.name, exercise.start.source, tests, hidden)
    if begun["checks"] and all(one["passed"] for one in begun["checks"]):
        fix = "Leave out what the reader is to write"
        yield exercise.start.line, f"the start of exercise {exercise.name!r} passes every test", fix


def _written(exercise: Exercise, fences: Sequence[Fence], importable: Collection[str]) -> Iterator[Mistake]:
    """Mistakes that can be seen without running anything."""
    for fence in fences:
        for row, module in wrong_imports(fence.source, importable, library=current().module):
            fix = "An exercise may import the standard library, the book's library and the packages of explorable"
            yield _at(fence, row), f"exercise {exercise.name!r} imports {module}", fix
    for fence in fences[:-1]:
        try:
            nodes = [node for node in ast.walk(ast.parse(fence.source)) if isinstance(node, ast.Assert)]
        except SyntaxError as error:
            yield _at(fence, error.lineno), f"the tests of exercise {exercise.name!r} are no Python: {error.msg}", ""
            continue
        except (RecursionError, MemoryError):
            yield fence.line, f"the tests of exercise {exercise.name!r} are nested too deeply", ""
            continue
        if not nodes:
            fix = "A test is an assert: assert area(2) == 4"
            yield fence.line, f"a part of exercise {exercise.name!r} has no test", fix
        for node in nodes if fence is exercise.hidden else ():
            if node.msg is None:
                fix = 'Say in words what it asks: assert area(0) == 0, "nothing has no area"'
                yield _at(fence, node.lineno), f"a hidden test of exercise {exercise.name!r} has no message", fix


def _unsolved(exercise: Exercise, solved: Mapping[str, Any]) -> Iterator[Mistake]:
    error, checks = solved["error"], solved["checks"]
    if error:
        said = f"the solution of exercise {exercise.name!r} fails: {error['text'].splitlines()[-1]}"
        yield _at(exercise.solution, error["line"]), said, ""
        return
    for one in checks:
        if not one["passed"]:
            fence = exercise.hidden if one["hidden"] and exercise.hidden else exercise.tests
            said = f"the solution of exercise {exercise.name!r} fails the test '{one['label']}'"
            yield _at(fence, one["at"]), f"{said}: {one['said']}" if one["said"] else said, "Mend one of them"
    if not solved["steady"]:
        fix = "A reader would meet other tests than the build; fix the seed"
        yield exercise.solution.line, f"exercise {exercise.name!r} is another each time", fix
    if len(checks) > MOST_TESTS:
        fix = f"{MOST_TESTS} are allowed; give the tests of a loop one message"
        yield exercise.tests.line, f"exercise {exercise.name!r} has {len(checks)} tests", fix


def _at(fence: Fence, row: int | None) -> int | None:
    return None if fence.line is None else fence.line + (row or 0)


def hint_html(text: str) -> str:
    """A hint as HTML: paragraphs, with code between backticks."""
    shown = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text.strip(), quote=False))
    return "".join(f"<p>{paragraph}</p>" for paragraph in re.split(r"\n\s*\n", shown))
