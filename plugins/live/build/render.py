"""Turns results into HTML with the templates: the only place where Python meets markup."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import escape
from pygments import highlight  # type: ignore[import-untyped]
from pygments.formatters import HtmlFormatter  # type: ignore[import-untyped]
from pygments.lexers import PythonLexer  # type: ignore[import-untyped]

from plugins.live.build.runner import BakedAct, Outcome
from plugins.shared.errors import Defect


def snippet(page: str, name: str, source: str, outcome: Outcome) -> str:
    """A snippet with its baked output. `page` is the key of the namespace it shares."""
    return _render(
        "snippet.html.j2",
        page=page,
        name=name,
        source=source,
        code_html=highlight(source, PythonLexer(), HtmlFormatter(cssclass="highlight", wrapcode=True)),
        output=outcome.output,
        result=outcome.result,
        error=outcome.error,
        figures=outcome.figures,
    )


def act(
    baked: BakedAct, python: str, act_url: str, spec_urls: Mapping[str, str], math_html: str, *, first: bool
) -> str:
    """An act in its default state.

    Args:
        baked: the act.
        python: what tells one build's browser Python from another's.
        act_url: the act's program, and `spec_urls` its charts, relative to the page.
        spec_urls: see `act_url`.
        math_html: the math peek.
        first: no act stands before it on the page.
    """
    charts = {name: {"svg": chart["svg"], "spec_url": spec_urls[name]} for name, chart in baked.charts.items()}
    return _render(
        "act.html.j2",
        act=baked.description,
        view=baked.view,
        charts=charts,
        python=python,
        act_url=act_url,
        math_html=math_html,
        home=home_of(baked.name),
        prefix=f"act-{baked.name}",
        first=first,
    )


def home_of(name: str) -> str:
    """What stands for the address of an act's home page until all pages are rendered."""
    return f"[[the home of act {name}]]"


def defect(found: Defect) -> str:
    """What stands in the page in place of a construct that cannot be shown, for the author to see."""
    return f'<div class="admonition failure"><p class="admonition-title">{escape(str(found))}</p></div>'


@cache
def _environment() -> Environment:
    folder = Path(__file__).parent / "templates"
    return Environment(loader=FileSystemLoader(folder), autoescape=True, undefined=StrictUndefined)


def _render(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)
