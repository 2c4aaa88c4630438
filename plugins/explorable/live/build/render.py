"""Turns results into HTML with the templates: the only place where Python meets markup."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import escape
from pygments import highlight  # type: ignore[import-untyped]
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import PythonLexer  # type: ignore[import-untyped]

from explorable.book import current
from explorable.live.build import frame
from explorable.live.build.exercises import Exercise
from explorable.live.build.runner import BakedAct, Outcome
from explorable.shared.errors import Defect


def snippet(
    page: str, name: str, source: str, outcome: Outcome, files: Sequence[Mapping[str, str]] = (), opens: str = ""
) -> str:
    """A snippet with its baked output.

    Args:
        page: the key of the namespace it shares.
        name: unique in the page.
        source: the code.
        outcome: what it gave at build.
        files: `{"name": …, "url": relative to the page}` of its data files.
        opens: the one in whose place readers may open their own; "" for none.
    """
    return _render(
        "snippet.html.j2",
        page=page,
        name=name,
        source=source,
        code_html=python_html(source),
        files=json.dumps(files) if files else "",
        opens=opens,
        output=outcome.output,
        result=outcome.result,
        error=outcome.error,
        figures=outcome.figures,
        html=None if outcome.html is None else frame.document(outcome.html),
        html_em=frame.height_em(outcome.html or ""),
    )


def attribute(value: Any) -> str:
    """JSON as the value of an attribute in double quotes."""
    return str(escape(json.dumps(value, ensure_ascii=False)))


def python_html(source: str) -> str:
    """Python code, highlighted."""
    return str(highlight(source, PythonLexer(), HtmlFormatter(cssclass="highlight", wrapcode=True)))


def exercise(
    one: Exercise, title: str, task_html: str, snippet_html: str, snippet_name: str, tests_url: str, solution_url: str
) -> str:
    """An exercise before the first try.

    Args:
        one: the exercise.
        title: what readers call it.
        task_html: what is to be done, and `snippet_html` the code to begin with, named `snippet_name`.
        snippet_html: see `task_html`.
        snippet_name: see `task_html`.
        tests_url: where tests and hints lie, and `solution_url` the solution, relative to the page.
        solution_url: see `tests_url`.
    """
    return _render(
        "exercise.html.j2",
        name=one.name,
        title=title,
        task_html=task_html,
        snippet_html=snippet_html,
        snippet=snippet_name,
        tests_html=python_html(one.tests.source),
        hidden=one.hidden is not None,
        tests_url=tests_url,
        solution_url=solution_url,
        hints=len(one.hints),
    )


@dataclass(frozen=True)
class Addresses:
    """Where an act's program, its charts by name and the site's root are, from the page; its home, from the root."""

    program: str
    specs: Mapping[str, str]
    root: str
    home: str


def act(
    baked: BakedAct,
    python: str,
    at: Addresses,
    math_html: str,
    *,
    first: bool,
    titled: bool,
) -> str:
    """An act in its default state.

    Args:
        baked: the act.
        python: what tells one build's browser Python from another's.
        at: where its files and its home are.
        math_html: the math peek.
        first: no act stands before it on the page.
        titled: the page has the act's title.
    """
    charts = {name: {"svg": chart["svg"], "spec_url": at.specs[name]} for name, chart in baked.charts.items()}
    return _render(
        "act.html.j2",
        act=baked.description,
        view=baked.view,
        charts=charts,
        python=python,
        act_url=at.program,
        math_html=math_html,
        root=at.root,
        home=at.home,
        prefix=f"act-{baked.name}",
        first=first,
        without_script=current().without_script,
        titled=titled,
    )


def defect(found: Defect) -> str:
    """What stands in the page in place of a construct that cannot be shown, for the author to see."""
    return f'<div class="admonition failure"><p class="admonition-title">{escape(str(found))}</p></div>'


@cache
def _environment() -> Environment:
    folder = Path(__file__).parent / "templates"
    return Environment(loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined)


def _render(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)
