"""Draws an act's charts at build: `charts.py` (Altair) becomes a frozen Vega specification and a static SVG.

Runs as a child process of the build, `python -m explorable.live.build.bake`, so that an edited `charts.py` is seen
without a restart. A request is `{"source": …, "filename": …, "charts": [names], "data": {name: rows}, "prefix": …}`,
the answer `{"ok": {name: {"svg": …, "spec": …}}}` or `{"error": {"text": …, "line": …}}`. `"fields"` has by data set
the fields of its rows in all states that were tried, `"drawn"` says by chart which layers and axes the act's hands and
staging name, and `"parameter"` what a chart's function takes, if it takes anything.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Collection, Mapping
from types import ModuleType
from typing import Any

import altair
import vl_convert

from explorable.live.build.chart_names import wrong_names
from explorable.live.runtime.tracebacks import remember, trim
from explorable.shared.serving import serve

VEGA_LITE = "6.4"
"""The Vega-Lite version that compiles the charts; the browser's bundle is made from the same one."""

_INK = {"labelColor": "var(--il-fg)", "titleColor": "var(--il-fg)"}
DEFAULTS: dict[str, Any] = {
    "view": {"stroke": None},
    "axis": {
        **_INK,
        "domainColor": "var(--il-muted)",
        "tickColor": "var(--il-muted)",
        "gridColor": "var(--il-border)",
        "titleFontWeight": "normal",
    },
    "legend": {**_INK, "titleFontWeight": "normal"},
    "header": _INK,
    "title": {"color": "var(--il-fg)", "subtitleColor": "var(--il-muted)"},
    "text": {"color": "var(--il-fg)"},
    "rule": {"color": "var(--il-fg)"},
}
"""Colours that follow the page's light or dark scheme. What a chart configures itself wins."""


class ChartError(Exception):
    """A chart that cannot be drawn, in one line."""


def respond(request: dict[str, Any]) -> dict[str, Any]:
    """Draw the charts of one act."""
    filename, charts, module, name = request["filename"], dict[str, Any](), None, ""
    data, fields = request["data"], request["fields"]
    try:
        module = _load(request["source"], filename)
        for name in request["charts"]:
            drawn = draw(chart_of(module, name, request["parameter"]), data, f"{request['prefix']}-{name}", fields)
            charts[name] = checked(name, drawn, request["drawn"].get(name, {"marks": [], "axes": []}))
        return {"ok": charts}
    except ChartError as error:
        at_fault = getattr(getattr(module, name, None), "__code__", None)
        return {"error": {"text": str(error), "line": at_fault and at_fault.co_firstlineno}}
    except Exception as error:
        summary = str(error).strip().splitlines()[0] if str(error).strip() else "no message"
        text = f"{type(error).__name__}: {summary}"
        return {"error": {"text": text, "line": trim(error, filename, {filename}).line}}


def draw(
    chart: Any, data: dict[str, list[dict[str, Any]]], prefix: str, fields: Mapping[str, Collection[str]] | None = None
) -> dict[str, Any]:
    """Compile an Altair chart to Vega and draw it with the rows of its data sets.

    Args:
        chart: an Altair chart over named data sets without rows: `alt.InlineData(name="…", values=[])`.
        data: rows by name of the data set.
        prefix: what makes the SVG's ids unique in the page.
        fields: what rows may hold, by name of the data set; by default what these rows do.

    Returns:
        `svg`, and `spec`, the Vega specification whose data sets are empty.
    """
    lite = chart.to_dict()
    if wrong := list(
        wrong_names(lite, fields or {name: {key for row in rows for key in row} for name, rows in data.items()})
    ):
        raise ChartError("; ".join(wrong))
    lite["background"] = lite.get("background", "transparent")
    lite["config"] = merge(DEFAULTS, lite.get("config", {}))
    spec = vl_convert.vegalite_to_vega(lite, vl_version=VEGA_LITE)
    filled = {**spec, "data": [_with_rows(one, data) for one in spec.get("data", [])]}
    return {"svg": with_unique_ids(vl_convert.vega_to_svg(filled), prefix), "spec": spec}


def checked(name: str, chart: dict[str, Any], wanted: dict[str, list[str]]) -> dict[str, Any]:
    """The drawn chart, if it has the layers and axes that the act takes in hand. Raises `ChartError` otherwise."""
    marks = {str(mark.get("name", "")).removesuffix("_marks") for mark in chart["spec"].get("marks", [])}
    for mark in wanted["marks"]:
        if mark not in marks:
            named = ", ".join(sorted(one for one in marks if not one.startswith("layer_"))) or "none"
            raise ChartError(
                f'{name}() has no layer named {mark!r}, which act.py names; .properties(name="…"): {named}'
            )
    scales = [scale["name"] for scale in chart["spec"].get("scales", [])]
    for axis in wanted["axes"]:
        if axis not in scales:
            raise ChartError(f"{name}() has no scale {axis!r} to drag along; a chart with a handle is a single view")
    return chart


def _with_rows(source: dict[str, Any], data: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """One data set of a Vega specification with its rows. Derived sets and constants of the chart are complete."""
    name = source["name"]
    if "url" in source:
        raise ChartError(f"data set {name!r} comes from {source['url']}; a chart draws only what compute returns")
    if "source" in source or source.get("values"):
        return source
    if name not in data:
        known = ", ".join(data) or "none"
        raise ChartError(f"it draws the data set {name!r}, which compute does not return; it returns: {known}")
    return {**source, "values": data[name]}


def merge(defaults: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The defaults, overridden by `own` at every depth."""
    merged = dict(defaults)
    for key, value in own.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = merge(merged[key], value) if both else value
    return merged


def with_unique_ids(svg: str, prefix: str) -> str:
    """Prefix the ids that the SVG defines, and its references to them; references to the page's ids stay."""
    for name in set(re.findall(r'\bid="([^"]+)"', svg)):
        svg = svg.replace(f'id="{name}"', f'id="{prefix}-{name}"').replace(f"url(#{name})", f"url(#{prefix}-{name})")
    return svg


def _load(source: str, filename: str) -> ModuleType:
    remember(filename, source)
    module = ModuleType("charts")
    sys.modules[module.__name__] = module
    exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)
    return module


def chart_of(module: ModuleType, name: str, parameter: str = "") -> Any:
    """The chart that a function of `charts.py` makes, of the act's parameter if it takes one."""
    function = getattr(module, name, None)
    if not callable(function):
        raise ChartError(f"it has no function {name!r}, and the act names a chart so")
    chart = function(parameter) if inspect.signature(function).parameters else function()
    if not isinstance(chart, altair.TopLevelMixin):
        raise ChartError(f"{name}() returned a {type(chart).__name__}, not an Altair chart")
    return chart


if __name__ == "__main__":
    serve(respond)
