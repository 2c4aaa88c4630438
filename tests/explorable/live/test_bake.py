"""A chart is frozen without its rows and drawn with them."""

from __future__ import annotations

import re
from typing import Any

import altair as alt
import pytest

from explorable import live
from explorable.live.build.bake import ChartError, draw, merge, with_unique_ids
from explorable.live.build.render import _environment

ROWS = [{"gb": 3.0, "part": "weights"}, {"gb": 5.0, "part": "state"}]


def chart(**options: Any) -> Any:
    return alt.Chart(alt.InlineData(name="bars", values=[])).mark_bar(**options).encode(x="gb:Q", y="part:N")


def test_the_specification_is_empty_and_the_drawing_is_not() -> None:
    drawn = draw(chart(), {"bars": ROWS}, "act-a-ledger")
    assert [one["values"] for one in drawn["spec"]["data"] if one["name"] == "bars"] == [[]]
    assert "weights" in drawn["svg"]
    assert "weights" not in str(drawn["spec"])


def test_a_chart_without_rows_can_be_drawn() -> None:
    assert draw(chart(), {"bars": []}, "p")["svg"].startswith("<svg")


def test_layers_share_a_data_set() -> None:
    spec = draw(chart() + chart(), {"bars": ROWS}, "p")["spec"]
    assert [one["name"] for one in spec["data"] if "source" not in one] == ["bars"]


def test_constants_of_the_chart_stay() -> None:
    rule = alt.Chart(alt.InlineData(values=[{"at": 80}])).mark_rule().encode(x="at:Q")
    spec = draw(chart() + rule, {"bars": ROWS}, "p")["spec"]
    assert [{"at": 80}] in [one.get("values") for one in spec["data"]]


def test_css_colours_and_patterns_reach_the_drawing() -> None:
    svg = draw(chart(fill="url(#il-hatch)", stroke="var(--il-memory)"), {"bars": ROWS}, "p")["svg"]
    assert 'fill="url(#il-hatch)"' in svg
    assert 'stroke="var(--il-memory)"' in svg


def test_a_field_that_no_row_has_is_named_with_the_one_near_it() -> None:
    wrong = alt.Chart(alt.InlineData(name="bars", values=[])).mark_bar().encode(x="gb:Q", y="prat:N")
    with pytest.raises(ChartError, match="no row has the field 'prat'; perhaps 'part' is meant"):
        draw(wrong, {"bars": ROWS}, "p")


def test_a_color_that_the_site_does_not_have_is_named_with_the_one_near_it() -> None:
    with pytest.raises(ChartError, match="there is no color '--il-memroy'; perhaps '--il-memory' is meant"):
        draw(chart(fill="var(--il-memroy)"), {"bars": ROWS}, "p")


def test_a_field_that_the_chart_makes_itself_is_known() -> None:
    made = chart().transform_calculate(double="2 * datum.gb").encode(x="double:Q")
    assert "weights" in draw(made, {"bars": ROWS}, "p")["svg"]


def test_the_background_is_transparent() -> None:
    assert draw(chart(), {"bars": ROWS}, "p")["spec"]["background"] == "transparent"


def test_an_unknown_data_set_is_named() -> None:
    with pytest.raises(ChartError, match="'bars', which compute does not return; it returns: beams"):
        draw(chart(), {"beams": ROWS}, "p")


def test_a_charts_own_configuration_wins() -> None:
    assert merge({"axis": {"a": 1, "b": 2}, "c": 3}, {"axis": {"b": 5}}) == {"axis": {"a": 1, "b": 5}, "c": 3}


def test_ids_are_unique_in_the_page_and_references_follow() -> None:
    svg = '<clipPath id="clip0"/><g clip-path="url(#clip0)" fill="url(#il-hatch)"/>'
    assert with_unique_ids(svg, "act-a") == (
        '<clipPath id="act-a-clip0"/><g clip-path="url(#act-a-clip0)" fill="url(#il-hatch)"/>'
    )


def test_a_cell_that_is_no_bare_number_ends_at_the_edge_of_its_column() -> None:
    """Percents once stood four digits left of 0.009 and of "17 of 21"."""
    rows = [live.row("a", text) for text in ("100 %", "0.009", "17 of 21", "–")]
    macros: Any = _environment().get_template("parts.html.j2").module
    html = str(macros.table(live.Table("Limits.", live.columns("Limit", "Allowed"), rows), ""))
    assert re.findall(r'data-pad="([^"]*)">', html) == ["", "", "", ".009"]
