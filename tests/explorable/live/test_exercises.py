"""Exercises in code: what a check says, what the page keeps back, and what stops the build."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from explorable.live.runtime.exercises import check_exercise
from tests.explorable.live.conftest import Site

START = "def area(side):\n    ..."
SOLUTION = "def area(side):\n    return side * side"
TESTS = "assert area(2) == 4\nassert area(3) == 9"
HIDDEN = 'for side in (0, 1.5):\n    assert area(side) == side**2, f"a side of {side}"'
HINT = "A square is as long as it is wide: `side * side`."


def fence(part: str, code: str) -> str:
    return f'```exercise part="{part}"\n{code}\n```\n\n'


def exercise(name: str = "square", title: str = "A square", **changed: str) -> str:
    """An exercise in Markdown; a part that is given empty is left out."""
    parts = {"start": START, "tests": TESTS, "hidden": HIDDEN, "hint": HINT, "solution": SOLUTION, **changed}
    head = f"/// exercise | {name}\n" + (f"    title: {title}\n" if title else "")
    written = "".join(fence(part, code) for part, code in parts.items() if code)
    return f"{head}\nComplete `area`.\n\n{written}///\n\n"


def checked(source: str, tests: str = TESTS, hidden: str = "") -> list[tuple[str, bool, str, int | None]]:
    ran: dict[str, Any] = json.loads(check_exercise("square", source, tests, hidden, lambda text: None))
    assert ran["error"] is None
    return [(one["label"], one["passed"], one["said"], one["line"]) for one in ran["checks"]]


def test_a_failed_test_says_what_the_readers_function_gave() -> None:
    assert checked("def area(side):\n    return 2 * side") == [
        ("area(2) == 4", True, "", None),
        ("area(3) == 9", False, "area(3) gives 6", None),
    ]


def test_an_error_in_the_readers_function_is_said_with_its_line_and_the_next_test_runs() -> None:
    [first, second] = checked("def area(side):\n    if side == 2:\n        return 1 / 0\n    return side**2")
    assert first == ("area(2) == 4", False, "ZeroDivisionError: division by zero", 3)
    assert second[1]


def test_tests_in_a_loop_are_called_by_their_messages_and_pass_if_they_pass_each_time() -> None:
    loop = 'for side in (1, 2, 3):\n    assert area(side) < 9, "all are small"\n    assert area(side), f"side {side}"'
    assert checked(SOLUTION, loop) == [
        ("all are small", False, "area(side) gives 9", None),
        ("side 1", True, "", None),
        ("side 2", True, "", None),
        ("side 3", True, "", None),
    ]


def test_a_missing_function_and_a_test_that_cannot_go_on_are_said_and_raise_nothing() -> None:
    [(_, passed, said, line)] = checked("x = 1", "assert area(2) == 4")
    assert (passed, said, line) == (False, "NameError: name 'area' is not defined", None)
    assert checked("x = 1", "sides = area\nassert sides(1)")[0][:2] == ("The tests cannot go on", False)
    assert not checked("import sys\ndef area(side):\n    sys.exit()")[0][1]


def test_what_a_function_gave_is_quoted_in_part_and_an_error_of_several_by_its_name() -> None:
    text = "class Text(str):\n    def __len__(self): return 1\n\n"
    long = f"{text}class Long:\n    def __repr__(self): return Text('a' * 10**6)\n\n"
    [(_, _, said, _), *_] = checked(f"{long}def area(side):\n    return Long()")
    assert len(said) < 300
    [(_, _, said, _), *_] = checked("def area(side):\n    raise ExceptionGroup('both', [ValueError('x')])")
    assert said == "ExceptionGroup: both (1 sub-exception)"


def test_code_that_fails_is_not_tested() -> None:
    ran = json.loads(check_exercise("square", "1 / 0", TESTS, "", lambda text: None))
    assert ran["checks"] == []
    assert ran["error"]["line"] == 1


def test_the_page_shows_task_start_and_tests_and_keeps_the_rest_for_later(site: Site) -> None:
    site.write("deep/index.md", "# Home\n\n" + exercise())
    assert site.build(), site.messages
    page = site.page("deep/index.html")
    for shown in ("Complete <code>area</code>.", "A square", "def area(side):", "It must pass these tests, and others"):
        assert shown in page.replace("&#34;", '"') or shown in re.sub(r"<[^>]+>", "", page)
    files = {name: re.search(rf'data-{name}="([^"]+)"', page) for name in ("tests", "solution")}
    given = {
        name: json.loads((site.root / "site/deep" / found[1]).read_text()) for name, found in files.items() if found
    }
    assert given["tests"]["tests"] == TESTS
    assert given["tests"]["hidden"] == HIDDEN
    assert given["tests"]["hints"] == ["<p>A square is as long as it is wide: <code>side * side</code>.</p>"]
    assert re.sub(r"<[^>]+>", "", given["solution"]["html"]).strip() == SOLUTION
    plain = re.sub(r"<[^>]+>", "", page) + page
    for kept in ("side * side", "side*side", "A square is as long", "a side of", "side**2"):
        assert kept not in plain


MISTAKES = {
    exercise("a", solution=SOLUTION.replace("* side", "+ side")): "15: the solution of exercise 'a' fails the test "
    "'area(3) == 9': area(3) gives 6. Mend one of them.",
    exercise("b", start=SOLUTION): "8: the start of exercise 'b' passes every test. Leave out what the reader is to "
    "write.",
    exercise("c", hidden="assert area(1) == 1"): "19: a hidden test of exercise 'c' has no message. Say in words what "
    'it asks: assert area(0) == 0, "nothing has no area".',
    exercise("d", tests="area(2)"): "13: a part of exercise 'd' has no test. A test is an assert: assert area(2) == 4.",
    exercise("e", solution=""): "3: exercise 'e' lacks a part. Add ```exercise part=\"solution\".",
    exercise("f", answer=SOLUTION): "32: part='answer' is unknown. allowed: hidden, hint, solution, start, tests.",
    exercise("g", tests="import torch\nassert area(2) == 4"): "14: exercise 'g' imports torch. An exercise may import "
    "the standard library, the book's library and the packages of explorable.",
    exercise("h", title=""): "3: exercise 'h' has no title. Write below its name, indented: title: ….",
    exercise("A b"): "3: 'A b' is no name of an exercise. Write 'a-b'.",
    exercise("i", tests="assert area(2) =="): "14: the tests of exercise 'i' are no Python",
    exercise("j", solution="def area(side):\n    while True: pass"): "29: the solution of exercise 'j' fails: stopped "
    "after 1.5 s.",
    fence("start", START): "3: this fence is in no exercise. Write it inside /// exercise | a-name.",
}


def test_every_mistake_stops_the_strict_build_with_file_and_line(site: Site, shared_cache: Any) -> None:
    site.configure(cache_dir=shared_cache, time_limit_s=1.5)
    expected: list[str] = []
    for number, (text, message) in enumerate(MISTAKES.items()):
        site.write(f"p{number:02}.md", "# Page\n\n" + text)
        expected.append(f"docs/p{number:02}.md:{message}")
    assert not site.build()
    said = [message.removeprefix("live: ") for message in site.messages]
    for line in expected:
        assert any(one.startswith(line) for one in said), (line, said)


@pytest.mark.parametrize("twice", ["index.md", "other.md"])
def test_a_name_stands_once_in_the_book(site: Site, twice: str) -> None:
    site.write("index.md", exercise() + (exercise() if twice == "index.md" else ""))
    site.write("other.md", exercise() if twice == "other.md" else "# Other")
    assert not site.build()
    assert any("there are two exercises called 'square'. Rename one." in one for one in site.messages)
