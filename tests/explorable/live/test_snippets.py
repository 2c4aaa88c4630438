"""A snippet behaves like a notebook cell, and its errors point at the reader's own code."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import explorable.live
from explorable.live.build.frame import document, height_em
from explorable.live.runtime import figures
from explorable.live.runtime.figures import Figure
from explorable.live.runtime.html_results import MOST_ELEMENTS, SIZE_LIMIT
from explorable.live.runtime.snippets import OUTPUT_LIMIT, Ran, new_namespace, reset_page, run, run_snippet
from tests.engine.bad_input import BAD_INPUT, BadInput


def outcome(source: str, namespace: dict[str, object] | None = None) -> tuple[str, Ran]:
    written: list[str] = []
    ran = run(source, "<test>", new_namespace() if namespace is None else namespace, written.append)
    return "".join(written), ran


def failure(source: str) -> tuple[str, int | None]:
    _, ran = outcome(source)
    assert ran.error is not None
    return ran.error.text, ran.error.line


@pytest.mark.parametrize("bad", BAD_INPUT, ids=lambda bad: bad.options)
def test_the_engines_errors_name_what_the_reader_wrote(bad: BadInput) -> None:
    namespace, asked = new_namespace(), f"setup({bad.model!r}, **{dict(bad.words)})"
    caught = f"try:\n    {asked}\nexcept EngineError as found:\n    error = found"
    assert outcome(f"from ironlaw import EngineError, setup\n{caught}", namespace)[1].error is None
    bad.raised(namespace["error"])
    text, line = failure(f"from ironlaw import setup\n{asked}")
    assert text.splitlines()[-1].endswith(f"EngineError: {namespace['error']}")
    assert line == 2


def test_the_page_hears_as_much_of_python_as_python_lets_through() -> None:
    """The page holds replies against these limits, because a program of a reader can say anything in Python's name."""
    heard = Path(explorable.live.__file__).parent / "web/src/python/limits.json"
    assert json.loads(heard.read_text(encoding="utf-8")) == {
        "output": OUTPUT_LIMIT,
        "html": SIZE_LIMIT,
        "elements": MOST_ELEMENTS,
        "svg": figures.SIZE_LIMIT,
        "figures": figures.MOST,
    }


def test_output_and_last_expression_are_kept_apart() -> None:
    output, ran = outcome("x = 2\nprint('x is', x)\nx + 1")
    assert (output, ran) == ("x is 2\n", Ran("3", None))


@pytest.mark.parametrize("source", ["x = 1", "None", "print('a')", "def f(): ...", "", "# only a comment"])
def test_no_value_shows_no_result(source: str) -> None:
    assert outcome(source)[1].result is None


def test_only_the_last_expression_is_shown() -> None:
    assert outcome("1\n2")[1].result == "2"


def test_an_expression_within_a_statement_is_not_shown() -> None:
    assert outcome("if True:\n    5")[1].result is None


@given(st.one_of(st.integers(), st.floats(), st.text(), st.lists(st.booleans())))
def test_the_result_is_the_repr(value: object) -> None:
    assert outcome("value", {**new_namespace(), "value": value})[1].result == repr(value)


def test_standard_error_is_output_too() -> None:
    assert outcome("import sys\nprint('warning', file=sys.stderr)")[0] == "warning\n"


def test_output_arrives_line_by_line() -> None:
    written: list[str] = []
    run("print('a', 'b')\nprint('c', end='')", "<test>", new_namespace(), written.append)
    assert written == ["a b\n", "c"]


def test_a_runaway_print_is_cut() -> None:
    output, _ = outcome(f"for i in range({OUTPUT_LIMIT}): print('xyz')")
    assert len(output) < OUTPUT_LIMIT + 100
    assert output.endswith("output cut after 100,000 characters\n")


def test_a_huge_result_is_cut() -> None:
    result = outcome(f"'x' * {OUTPUT_LIMIT * 2}")[1].result
    assert result is not None
    assert len(result) == OUTPUT_LIMIT + 1


def test_a_traceback_shows_only_the_readers_frames() -> None:
    text, line = failure("def f(n):\n    return 1 / n\n\nf(0)")
    assert text == (
        "Traceback (most recent call last):\n"
        '  File "<test>", line 4, in <module>\n    f(0)\n'
        '  File "<test>", line 2, in f\n    return 1 / n\n'
        "ZeroDivisionError: division by zero"
    )
    assert line == 2


def test_frames_of_libraries_are_left_out() -> None:
    text, line = failure("import json\njson.loads('{')")
    assert text.count("File") == 1
    assert line == 2


def test_a_syntax_error_has_its_line() -> None:
    text, line = failure("x = 1\ny = (")
    assert text.startswith('  File "<test>", line 2')
    assert "SyntaxError" in text
    assert line == 2


def test_a_cause_is_trimmed_too() -> None:
    text, line = failure("try:\n    int('a')\nexcept ValueError as error:\n    raise KeyError('b') from error")
    assert "direct cause" in text
    assert "explorable" not in text
    assert line == 4


def test_exit_ends_the_snippet_and_not_the_process() -> None:
    assert failure("import sys\nsys.exit(2)") == (
        'Traceback (most recent call last):\n  File "<test>", line 2, in <module>\n    sys.exit(2)\nSystemExit: 2',
        2,
    )


def test_input_is_one_plain_sentence_with_its_line() -> None:
    text, line = failure("x = 1\nname = input('Who? ')")
    assert text == 'input() has no keyboard to read from here. Write the answer into the code: name = "…".'
    assert line == 2


def test_a_program_may_expect_that_input_ends() -> None:
    assert outcome("try:\n    input()\nexcept EOFError:\n    print('none')")[0] == "none\n"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import no_such_module", "There is no module no_such_module here"),
        ("from no_such_module.part import name", "There is no module no_such_module here"),
        ("import msvcrt", "msvcrt needs an operating system"),
    ],
)
def test_a_missing_module_is_one_plain_sentence(source: str, said: str) -> None:
    if source == "import msvcrt" and sys.platform == "win32":
        pytest.skip("this platform has the module")
    text, line = failure(f"x = 1\n{source}")
    assert text.startswith(said)
    assert len(text.splitlines()) == 1
    assert line == 2


def test_a_part_that_a_known_package_lacks_is_an_ordinary_error() -> None:
    assert "No module named 'ironlaw.no_such_room'" in failure("import ironlaw.no_such_room")[0]


def test_await_works_at_the_top_level_and_its_value_is_shown() -> None:
    twice = "async def twice(x):\n    await asyncio.sleep(0)\n    return 2 * x\n"
    source = f"import asyncio\n{twice}y = await twice(3)\nprint(y)\nawait twice(y)"
    assert outcome(source) == ("6\n", Ran("12", None))


def test_names_made_by_awaiting_code_are_there_for_the_next_snippet() -> None:
    namespace = new_namespace()
    outcome("import asyncio\nfirst = await asyncio.sleep(0, 7)", namespace)
    assert outcome("first", namespace)[1].result == "7"


def test_an_error_in_awaiting_code_points_at_its_line() -> None:
    text, line = failure("import asyncio\nawait asyncio.sleep(0)\n1 / 0")
    assert "ZeroDivisionError" in text
    assert line == 3


def test_a_second_event_loop_is_one_plain_sentence() -> None:
    text, line = failure("import asyncio\nasync def main(): ...\nasyncio.run(main())")
    assert text == "asyncio.run() would start a second event loop, and here one runs already. Write: await main()."
    assert line == 3


def test_the_librarys_own_functions_are_back_after_a_snippet() -> None:
    import asyncio
    import builtins

    before = (asyncio.run, builtins.input)
    outcome("import asyncio\ninput()")
    assert (asyncio.run, builtins.input) == before


def test_a_broken_repr_is_the_snippets_error() -> None:
    text, line = failure("class A:\n    def __repr__(self): return 1 / 0\nA()")
    assert "ZeroDivisionError" in text
    assert line == 2


def test_an_expression_that_python_cannot_parse_for_its_depth_is_the_snippets_error() -> None:
    text, _ = failure("x = " + "+".join(["1"] * 30_000))
    assert text.startswith(("RecursionError", "MemoryError"))


def test_endless_recursion_is_an_error_like_any_other() -> None:
    text, line = failure("def f(): f()\nf()")
    assert text.endswith("RecursionError: maximum recursion depth exceeded")
    assert line == 1


def test_a_page_shares_one_namespace_and_pages_do_not() -> None:
    def on(page: str, source: str) -> object:
        return json.loads(run_snippet(page, "s", source, lambda text: None))

    on("one", "x = 41")
    assert on("one", "x + 1") == {"result": "42", "error": None, "figures": [], "html": None}
    other = on("two", "x")
    assert isinstance(other, dict)
    assert "NameError" in other["error"]["text"]


def test_a_traceback_shows_other_snippets_of_the_page_and_marks_the_line_in_this_one() -> None:
    run_snippet("page", "first", "def f():\n    raise ValueError('no')", print)
    ran = json.loads(run_snippet("page", "second", "x = 1\n\nf()", print))
    assert 'File "<first>", line 2' in ran["error"]["text"]
    assert "raise ValueError('no')" in ran["error"]["text"]
    assert ran["error"]["line"] == 3


def test_a_reset_page_has_forgotten() -> None:
    run_snippet("reset", "a", "x = 1", print)
    reset_page("reset")
    assert "NameError" in run_snippet("reset", "b", "x", print)


def test_a_dataclass_with_postponed_annotations_works() -> None:
    source = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nA(1)"
    )
    assert outcome(source)[1] == Ran("A(x=1)", None)


# ---- figures ----

DRAWS = "class Square:\n    def _repr_svg_(self): return '<svg/>'\n"


def test_a_last_value_that_draws_itself_is_a_figure_and_no_text() -> None:
    _, ran = outcome(DRAWS + "Square()")
    assert (ran.result, ran.figures) == (None, (Figure("<svg/>", ""),))


def test_a_class_that_draws_is_no_figure() -> None:
    _, ran = outcome(DRAWS + "Square")
    assert ran.figures == ()
    assert ran.result is not None


def test_a_drawing_that_fails_is_the_snippets_error() -> None:
    text, line = failure("class A:\n    def _repr_svg_(self): return 1 / 0\nA()")
    assert text.splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert line == 2


def test_a_figure_too_large_for_a_page_is_refused() -> None:
    text, _ = failure("class A:\n    def _repr_svg_(self): return ' ' * 3_000_000\nA()")
    assert (
        text.splitlines()[-1]
        == "ValueError: the figure has 3,000,000 characters of SVG; a page shows at most 2,000,000"
    )


PLOT = """
import matplotlib.pyplot as plt
fig, axes = plt.subplots(figsize=(1, 1))
axes.set_title("A line")
axes.plot([1, 2])
"""


@pytest.mark.parametrize("last", ["plt.show()", "fig", "None"])
def test_a_plot_of_matplotlib_is_shown_once_under_its_title(last: str) -> None:
    for _ in range(2):
        text, ran = outcome(PLOT + last)
        assert (text, ran.result, [figure.name for figure in ran.figures]) == ("", None, ["A line"])
        assert "<svg" in ran.figures[0].svg
    assert outcome("1")[1].figures == ()


def test_a_plot_before_an_error_is_not_the_next_snippets() -> None:
    failure(PLOT + "1 / 0")
    assert outcome("1")[1].figures == ()


SHOWN = "type('Frame', (), {'_repr_html_': lambda self: '<b>bold</b>', '__repr__': lambda self: 'plain'})()"


def test_a_last_value_that_has_html_is_that_and_no_text_and_the_builds_document_of_it_loads_nothing() -> None:
    ran = outcome(SHOWN)[1]
    assert (ran.result, ran.html) == (None, "<b>bold</b>")
    baked = document(ran.html or "")
    assert baked.startswith("<!doctype html>")
    assert "default-src 'none'" in baked
    assert baked.endswith("<body><b>bold</b></body></html>")


def test_only_html_of_a_sensible_size_is_shown() -> None:
    large = SHOWN.replace("'<b>bold</b>'", f"'x' * {SIZE_LIMIT + 1}")
    assert outcome(large)[1] == Ran("plain", None)
    most = SHOWN.replace("'<b>bold</b>'", f"'<b>1</b>' * {MOST_ELEMENTS}")
    assert outcome(most)[1].html == "<b>1</b>" * MOST_ELEMENTS
    assert outcome(most.replace(str(MOST_ELEMENTS), str(MOST_ELEMENTS + 1)))[1] == Ran("plain", None)
    assert outcome(SHOWN.replace("'<b>bold</b>'", "None"))[1] == Ran("plain", None)
    assert outcome("type('Kind', (), {'_repr_html_': lambda self: 'x'})")[1].html is None


@pytest.mark.parametrize(
    "tag", ["<link rel=preconnect href=//a.b>", "</IFRAME >", "<li<meta>nk href=x>", "<script>1</script>"]
)
def test_elements_that_lead_away_are_text(tag: str) -> None:
    body = document(f"<p>a</p>{tag}").partition("<body>")[2]
    assert "<p>a</p>" in body
    assert not re.search(r"<(link|iframe|/iframe|meta|script)", body, re.IGNORECASE)


def test_a_frame_is_about_as_high_as_its_table() -> None:
    assert height_em("<table>" + "<tr><td>1</td></tr>" * 5 + "</table>") == 11
    assert height_em("<tr>" * 1000) == 24
