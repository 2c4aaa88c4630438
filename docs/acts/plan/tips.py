"""What to change: single changes, then the cheapest set of them that makes it fit; last more cards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from explorable import live
from ironlaw import GB, EngineError
from ironlaw.answers.advice import Advice, advice, elsewhere, together
from ironlaw.answers.changes import Change
from ironlaw.config.changed import changed

from .choices import CONTROLS, MORE, setup_of

_NAMES = {"lora_rank": "rank", "micro_batches": "accumulate"}
_OFFERED = {control.name for control in CONTROLS}
_THEN = {"fits": "Then it fits.", "uncertain": "Still uncertain: it may fit then.", "not": "It does not fit yet."}
_WORTH = {"fits": 200.0, "uncertain": 100.0, "not": 0.0}
_MORE = 150.0
"""Worth of more cards: less than that of what fits without them."""
_ASKED = ("model", "gpu", "gpus")
"""Controls that say what a reader has: no way out changes them."""
_SWITCH = (live.ControlOption(True, "on"), live.ControlOption(False, "off"))


def suggest(state: live.State) -> Iterator[live.Suggestion]:
    """Changes of the plan, or ways out of one that is not possible. One without a title has no control here."""
    try:
        c = setup_of(state)
    except EngineError:
        yield from _ways_out(state)
        return
    found = advice(c)
    for place, one in enumerate(found):
        yield _suggestion(one, state, len(found) - place)
    fitting = [one for one in found if one.verdict == "fits" and controls_of(one, state)]
    # Where no single change makes it fit, several together may.
    if not fitting and (several := together(c, lambda change: controls_of(change, state) is not None)) is not None:
        yield _suggestion(several, state, len(found) + 1)
        fitting += [several] if several.verdict == "fits" else []
    # More cards are told only where nothing else fits, or where all that does trains something else.
    if not any(one.same_training for one in fitting):
        more = elsewhere(c, lambda change: controls_of(change, state) is not None)
        if more is not None:
            yield _more_cards(more, state, alone=not fitting)


def _suggestion(one: Advice, state: live.State, place: int) -> live.Suggestion:
    controls = controls_of(one, state)
    if controls is None:
        return live.Suggestion("", "", {}, 0.0)
    # Those that make it fit come first, whatever was found when.
    return live.Suggestion(one.title, sentence(one), controls, _WORTH[one.verdict] + place)


def _more_cards(one: Advice, state: live.State, *, alone: bool) -> live.Suggestion:
    """Advice that takes more cards than the reader has: behind what fits on those."""
    why = (
        "Nothing that was tried fits on the cards that you have."
        if alone
        else "What fits on the cards that you have trains something else; this takes more cards."
    )
    return live.Suggestion(one.title, f"{why} {sentence(one)}", controls_of(one, state) or {}, _MORE)


def _ways_out(state: live.State) -> Iterator[live.Suggestion]:
    """Single controls that make a plan possible whose parts exclude each other."""
    for control in CONTROLS:
        if not isinstance(control, live.Choice | live.Toggle) or control.name in _ASKED:
            continue
        offered = control.options if isinstance(control, live.Choice) else _SWITCH
        for option in offered:
            way: dict[str, live.Value] = {control.name: option.value}
            if option.value != state.controls[control.name] and _possible(state, way):
                yield live.Suggestion(f"{control.label}: {option.label}", "Then it is possible.", way, 1.0)
                break


def _possible(state: live.State, way: dict[str, live.Value]) -> bool:
    try:
        setup_of(live.State(state.context, {**state.controls, **way}))
    except EngineError:
        return False
    return True


def sentence(one: Advice) -> str:
    """What a change saves and costs."""
    saved, slower = one.saves_bytes / GB, one.time_factor - 1
    memory = f"{abs(saved):.1f} GB {'less' if saved > 0 else 'more'}"
    time = "as fast" if abs(slower) < 0.005 else f"{abs(slower):.0%} {'slower' if slower > 0 else 'faster'}"
    lost = f"{one.gives_up[:1].upper()}{one.gives_up[1:]}." if one.gives_up else ""
    return " ".join(part for part in (f"{memory}, {time}.", _THEN[one.verdict], lost) if part)


def controls_of(one: Advice | Change, state: live.State) -> dict[str, live.Value] | None:
    """The controls that a change sets; None where those of the page cannot make the same setup."""
    found: dict[str, live.Value] = {}
    rest: dict[str, Any] = {}
    for word, value in one.words.items():
        if word == "attention":
            found["flash"] = value == "flash"
        elif word == "loss":
            found["chunked"] = value == "chunked:8"
        elif word == "execution":
            found["compiled"] = value == "compiled"
        elif word == "offload":
            found["offload"] = value == "optimizer"
        elif word == "dp":
            found["gpus"] = int(value) * int(state.controls["tp"]) * int(state.controls["pp"])
        elif word in ("accumulate", "micro_batches"):
            # One of the two is 1: passes run one after the other, or in a pipeline.
            found["accumulate"] = max(int(value), int(str(found.get("accumulate", 1))))
        elif _NAMES.get(word, word) in _OFFERED:
            found[_NAMES.get(word, word)] = value
        else:
            rest[word] = value
    if not _has_place(found):
        return None
    # What follows from the rest needs no control; what does not stands among the settings that files set.
    said = json.dumps({**json.loads(str(state.controls["more"]) or "{}"), **rest}, sort_keys=True)
    for more in ({}, {"more": said}) if MORE.issuperset(rest) else ({},):
        if _makes(one, state, {**found, **more}):
            return {**found, **more}
    return None


def _makes(one: Advice | Change, state: live.State, controls: dict[str, live.Value]) -> bool:
    """Whether the controls make the setup that the change makes."""
    try:
        made = setup_of(live.State(state.context, {**state.controls, **controls}))
        return made == changed(setup_of(state), one.words)
    except EngineError:
        return False


def _has_place(controls: dict[str, live.Value]) -> bool:
    """Whether every menu has the value among its options."""
    offered = {
        control.name: [option.value for option in control.options]
        for control in CONTROLS
        if isinstance(control, live.Choice)
    }
    sliders = {control.name: control for control in CONTROLS if isinstance(control, live.Slider)}
    return all(
        sliders[name].minimum <= float(value) <= sliders[name].maximum
        if name in sliders
        else value in offered.get(name, [value])
        for name, value in controls.items()
    )
