"""The controls that a change sets, and what stands beside them after it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import prod
from typing import Any

from explorable import live
from ironlaw import EngineError
from ironlaw.answers.advice import Advice
from ironlaw.answers.changes import Change
from ironlaw.config.changed import changed
from ironlaw.config.choices import buffers

from .choices import CONTROLS, PAIRS, WAS, more_of, says, setup_of, words_of
from .word_forms import MORE

_NAMES = {"lora_rank": "rank", "micro_batches": "accumulate"}
_GROUPS = {"dp": "data", "tp": "tensor", "pp": "pipeline", "cp": "context"}
"""Words that say how cards are divided into groups, and the layout's names of them."""
_WITH = {"cp": ("accumulate", "gpus", "zero")}
"""Word without a control -> controls that a change moves for its sake, and that go back with it."""
_OFFERED = {control.name for control in CONTROLS}
SLIDERS = {control.name: control for control in CONTROLS if isinstance(control, live.Slider)}
"""The page's sliders, by name."""


def controls_of(one: Advice | Change, state: live.State) -> dict[str, live.Value] | None:
    """The controls that a change sets; None where those of the page cannot make the same setup."""
    found: dict[str, live.Value] = {}
    words = by_files(one.words, state)
    rest = {word: value for word, value in words.items() if word == "cp" or value == "shards"}
    for word, value in words.items():
        if word == "attention":
            found["flash"] = value == "flash"
        elif word == "loss":
            found["chunked"] = value == "chunked:8"
        elif word == "execution":
            found["compiled"] = value == "compiled"
        elif word == "offload":
            found["offload"] = value != "none"
        elif word in _GROUPS:
            layout = setup_of(state).layout
            found["gpus"] = prod(int(words.get(each) or getattr(layout, part)) for each, part in _GROUPS.items())
            if word not in ("cp", "dp"):
                found[word] = value
        elif word in ("accumulate", "micro_batches"):
            # One of the two is 1: passes run one after the other, or in a pipeline.
            found["accumulate"] = max(int(value), int(str(found.get("accumulate", 1))))
        elif _NAMES.get(word, word) in _OFFERED:
            found[_NAMES.get(word, word)] = value
        else:
            rest[word] = value
    odd = PAIRS in more_of(state.controls) and int(str(found.get("batch", 2))) % 2
    if odd or not _has_place(found):
        return None
    # What follows from the rest needs no control; what does not stands among the settings that files set.
    said = _more(state, rest, found)
    formats = setup_of(state).precision.name
    ways: list[dict[str, live.Value]] = [{}, {"more": said}] if MORE.keys() >= rest.keys() else [{}]
    # The formats that stand by themselves follow what is divided.
    ways += [{**way, "precision": formats} for way in ways if "precision" not in found]
    unchosen = {name: value for name, value in found.items() if name != "precision"}
    made = [*({**unchosen, **way} for way in ways if "precision" not in way), *({**found, **way} for way in ways)]
    return next((controls for controls in made if _makes(words, state, controls)), None)


def _more(state: live.State, rest: Mapping[str, Any], found: Mapping[str, live.Value]) -> str:
    """What stands beside the controls after a change, with what it took the place of, so that it can be taken back."""
    stands, at = more_of(state.controls), state.controls
    replaced: dict[str, dict[str, list[Any]]] = {}
    for word, value in rest.items():
        if stands.get(word) != value:
            moved = {
                name: [at[name], found[name]] for name in _WITH.get(word, ()) if found.get(name, at[name]) != at[name]
            }
            replaced[word] = {word: [stands.get(word), value], **moved}
    said = {**stands, **rest}
    if replaced:
        said[WAS] = {**stands.get(WAS, {}), **replaced}
    return json.dumps(said, sort_keys=True)


def by_files(words: Mapping[str, Any], state: live.State) -> dict[str, Any]:
    """The words of a change, as the program of the reader's files makes it."""
    made, said = dict(words), says(state.controls)
    if "base_format" in words and said.get("unprepared"):
        made["base_format"] = "16-bit"
    away = words.get("offload") == "optimizer"
    if said.get("runtime") == "deepspeed" and (away or "zero" in words):
        moved = {name: words[name] for name in ("zero", "method") if name in words}
        then = words_of(live.State(state.context, {**state.controls, **moved, **({"offload": True} if away else {})}))
        made |= {"offload": then["offload"]} if away else {}
        made |= {"offload_sizes": then["offload_sizes"]} if "offload_sizes" in then else {}
    return made


def _makes(words: Mapping[str, Any], state: live.State, controls: dict[str, live.Value]) -> bool:
    """Whether the controls make the setup that the words of a change make."""
    try:
        made = setup_of(live.State(state.context, {**state.controls, **controls}))
        sized = {word: buffers(value) if word == "offload_sizes" else value for word, value in words.items()}
        return made == changed(setup_of(state), sized)
    except EngineError:
        return False


def _has_place(controls: dict[str, live.Value]) -> bool:
    """Whether every menu has the value among its options."""
    offered = {
        control.name: [option.value for option in control.options]
        for control in CONTROLS
        if isinstance(control, live.Choice)
    }
    return all(
        SLIDERS[name].minimum <= float(value) <= SLIDERS[name].maximum
        if name in SLIDERS
        else value in offered.get(name, [value])
        for name, value in controls.items()
    )
