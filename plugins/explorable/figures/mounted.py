"""A moving figure in a page: its default state and its controls as HTML, and all of its states as one file beside it.

Without JavaScript, and on paper, the default state stands alone. `plugins/explorable/live/web/src/figure.ts` moves it.
"""

from __future__ import annotations

import json
from typing import Any
from xml.etree.ElementTree import Element

from explorable.figures.figures import Drawn
from explorable.figures.moving import WIDTH
from explorable.shared.markup import element
from explorable.shared.svg import embedded


def mounted(drawn: Drawn, name: str, address: str) -> Element:
    """The element of a moving figure.

    Args:
        drawn: the figure.
        name: what ids on the page begin with.
        address: where its states are, relative to the page.
    """
    moving = drawn.moving
    assert moving is not None
    controls = [_buttons(one, name) if one["buttons"] else _slider(one, name) for one in moving["controls"]]
    drag = {"data_drag": json.dumps(moving["drag"])} if moving["drag"] else {}
    picture = embedded(drawn.svg, drawn.alternative, width=WIDTH)
    return element(
        "live-figure",
        *([element("div", *map(_reading, drawn.readings), **_slot("readings"))] if drawn.readings else []),
        element("div", picture, **_slot("picture")),
        element("div", *controls, **_slot("controls")),
        element("p", class_="il-vh", data_slot="said", aria_live="polite"),
        class_="il-moving",
        data_states=address,
        **drag,
    )


def _slot(name: str) -> dict[str, str]:
    return {"class": f"il-moving__{name}", "data-slot": name}


def _reading(reading: dict[str, str]) -> Element:
    parts = (element("span", reading[part], class_=f"il-moving__{part}") for part in ("label", "value", "unit"))
    return element("p", *(child for part in parts for child in (part, " ")))


def _slider(control: dict[str, Any], name: str) -> Element:
    place, own = control["values"].index(control["default"]), f"{name}-{control['name']}"
    says = control["words"][place]
    words = json.dumps(control["words"], ensure_ascii=False)
    ends = {"min": "0", "max": str(len(control["words"]) - 1), "step": "1", "value": str(place)}
    what = {"type": "range", "id": own, "data-control": control["name"], "data-words": words, **ends}
    label, output = element("label", control["label"], for_=own), element("output", says, for_=own)
    head = element("div", label, output, class_="il-slider__head")
    slider = element("input", **what, aria_valuetext=says, autocomplete="off")
    return element("div", head, slider, class_="il-control il-control--slider")


def _buttons(control: dict[str, Any], name: str) -> Element:
    segments = element("div", class_="il-segments")
    for place, (value, words) in enumerate(zip(control["values"], control["words"], strict=True)):
        state = {"checked": ""} if value == control["default"] else {}
        own = {"name": f"{name}-{control['name']}", "value": str(place), "autocomplete": "off", **state}
        button = element("input", type="radio", **own)
        segments.append(element("label", button, element("span", words), class_="il-segment"))
    legend, kind = element("legend", control["label"]), "il-control il-control--choice"
    return element("fieldset", legend, segments, class_=kind, data_control=control["name"])
