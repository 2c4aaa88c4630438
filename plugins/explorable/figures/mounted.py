"""A moving figure in a page: its default state and its controls as HTML, and all of its states as one file beside it.

Without JavaScript, and on paper, the default state stands alone. `plugins/explorable/live/web/src/figure.ts` moves it.
"""

from __future__ import annotations

import json
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from markdown.util import AtomicString

from explorable.figures.figures import Drawn
from explorable.figures.moving import WIDTH
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
    host = Element("live-figure", {"class": "il-moving", "data-states": address})
    if moving["drag"]:
        host.set("data-drag", json.dumps(moving["drag"]))
    if drawn.readings:
        readings = SubElement(host, "div", {"class": "il-moving__readings", "data-slot": "readings"})
        for reading in drawn.readings:
            one = SubElement(readings, "p")
            for part in ("label", "value", "unit"):
                _text(SubElement(one, "span", {"class": f"il-moving__{part}"}), reading[part]).tail = " "
    picture = SubElement(host, "div", {"class": "il-moving__picture", "data-slot": "picture"})
    picture.append(embedded(drawn.svg, drawn.alternative, width=WIDTH))
    fields = SubElement(host, "div", {"class": "il-moving__controls", "data-slot": "controls"})
    for control in moving["controls"]:
        fields.append(_buttons(control, name) if control["buttons"] else _slider(control, name))
    SubElement(host, "p", {"class": "il-vh", "data-slot": "said", "aria-live": "polite"})
    return host


def _slider(control: dict[str, Any], name: str) -> Element:
    place, own = control["values"].index(control["default"]), f"{name}-{control['name']}"
    box = Element("div", {"class": "il-control il-control--slider"})
    head = SubElement(box, "div", {"class": "il-slider__head"})
    _text(SubElement(head, "label", {"for": own}), control["label"])
    _text(SubElement(head, "output", {"for": own}), control["words"][place])
    words = json.dumps(control["words"], ensure_ascii=False)
    ends = {"min": "0", "max": str(len(control["words"]) - 1), "step": "1", "value": str(place)}
    said = {"aria-valuetext": control["words"][place], "autocomplete": "off"}
    SubElement(
        box, "input", {"type": "range", "id": own, "data-control": control["name"], "data-words": words, **ends, **said}
    )
    return box


def _buttons(control: dict[str, Any], name: str) -> Element:
    box = Element("fieldset", {"class": "il-control il-control--choice", "data-control": control["name"]})
    _text(SubElement(box, "legend"), control["label"])
    segments = SubElement(box, "div", {"class": "il-segments"})
    for place, (value, words) in enumerate(zip(control["values"], control["words"], strict=True)):
        label = SubElement(segments, "label", {"class": "il-segment"})
        state = {"checked": ""} if value == control["default"] else {}
        own = {"name": f"{name}-{control['name']}", "value": str(place), "autocomplete": "off"}
        SubElement(label, "input", {"type": "radio", **own, **state})
        _text(SubElement(label, "span"), words)
    return box


def _text(element: Element, text: str) -> Element:
    element.text = AtomicString(text)
    return element
