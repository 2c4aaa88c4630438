"""The block `/// plans | method`: models by cards, each cell what the planner says, with a link into it."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from xml.etree.ElementTree import Element

from docs.acts.plan.act import ACT
from docs.acts.plan.view import IMPOSSIBLE, SAID, UNCOUNTED
from explorable.live import State
from explorable.live.runtime.exchange import control_value
from explorable.measured.tables.options import OptionError, read_yaml
from explorable.shared.markup import element, tabled
from ironlaw import accelerator

OPTIONS = {"caption", "models", "cards", "with"}
NUMBER = "il-measured-table__number"
MARKS = {SAID["fits"]: "✓", SAID["uncertain"]: "?", SAID["not"]: "✗", IMPOSSIBLE: "–", UNCOUNTED: "·"}


def block(argument: str, text: str) -> Element:
    """The HTML of the block. Raises `OptionError` for what it cannot show."""
    data = read_yaml(text)
    if not isinstance(data, dict) or not {"caption", "models", "cards"} <= set(data) <= OPTIONS:
        raise OptionError(f"the block takes {', '.join(sorted(OPTIONS))}; it has {', '.join(map(str, data or ()))}")
    start = ACT.default_state()
    rows = []
    for model in data["models"]:
        cells = [element("th", str(model).rpartition("/")[2], scope="row")]
        for card in data["cards"]:
            state = moved(start, {"model": model, "gpu": card, "method": argument, **data.get("with", {})})
            cells.append(element("td", *_cell(state, start), class_=NUMBER))
        rows.append(element("tr", *cells))
    heads = [element("th", name(card), scope="col", class_=NUMBER) for card in data["cards"]]
    table = tabled(str(data["caption"]), [element("th", "Model", scope="col"), *heads], rows)
    return element("div", table, class_="il-measured-table")


def moved(start: State, controls: Mapping[str, Any]) -> State:
    """A state with these controls. Raises `OptionError` for one that the planner does not have."""
    known = {control.name: control for control in ACT.controls}
    for control, value in controls.items():
        if control not in known:
            raise OptionError(f"the planner has no control {control!r}", f"allowed: {', '.join(known)}")
        try:
            control_value(known[control], value)
        except ValueError as error:
            raise OptionError(str(error)) from error
    return replace(start, controls={**start.controls, **controls})


def name(card: str) -> str:
    """A card's name without its maker."""
    title = accelerator(card).title.removeprefix("NVIDIA ").removeprefix("GeForce ")
    return title.replace(" GB", "\u00a0GB")


def link(state: State, start: State) -> str:
    """The planner's address of a state, as the page writes it (`desk/address.ts`)."""
    controls = {control: value for control, value in state.controls.items() if value != start.controls[control]}
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(json.dumps({"controls": controls}).encode()) + packer.flush()
    letters = base64.urlsafe_b64encode(packed).decode().rstrip("=")
    return f"#state=1.{ACT.name}.{letters}" if controls else "#act-plan"


def _cell(state: State, start: State) -> tuple[Element, ...]:
    view = ACT.compute(replace(state, moving=True))
    told = view.failure or view.success
    assert told is not None
    said, counted = told.title, told.title in SAID.values()
    mark = element("span", MARKS[said], **{"aria-hidden": "true"})
    spoken = element("span", f", {said.lower()}" if counted else said, class_="il-vh")
    need = f" {view.headline.value} GB" if counted else ""
    return (element("a", mark, need, spoken, href=link(state, start)),)
