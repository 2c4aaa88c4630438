"""What to change: single changes, the best first, and then the cheapest set of them that makes it fit."""

from __future__ import annotations

from collections.abc import Iterator

from explorable import live
from ironlaw import GB, EngineError
from ironlaw.answers.advice import Advice, advice, together

from .choices import CONTROLS, setup_of

_NAMES = {"lora_rank": "rank", "micro_batches": "accumulate"}
_OFFERED = {control.name for control in CONTROLS}
_THEN = {"fits": "Then it fits.", "uncertain": "Then it may fit.", "not": "It does not fit yet."}


def suggest(state: live.State) -> Iterator[live.Suggestion]:
    """Changes of the plan. One without a title helps, and the page has no control for it."""
    try:
        c = setup_of(state)
    except EngineError:
        return
    found = advice(c)
    fitting = any(one.verdict == "fits" for one in found)
    for place, one in enumerate(found):
        yield _suggestion(one, state, float(len(found) - place))
    # Where no single change makes it fit, several together may.
    several = None if fitting else together(c)
    if several is not None:
        yield _suggestion(several, state, len(found) + 1.0)


def _suggestion(one: Advice, state: live.State, worth: float) -> live.Suggestion:
    controls = controls_of(one, state)
    if controls is None:
        return live.Suggestion("", "", {}, 0.0)
    return live.Suggestion(one.title, sentence(one), controls, worth)


def sentence(one: Advice) -> str:
    """What a change saves and costs."""
    saved, slower = one.saves_bytes / GB, one.time_factor - 1
    memory = f"{abs(saved):.1f} GB {'less' if saved > 0 else 'more'}"
    time = "as fast" if abs(slower) < 0.005 else f"{abs(slower):.0%} {'slower' if slower > 0 else 'faster'}"
    lost = f"{one.gives_up[:1].upper()}{one.gives_up[1:]}." if one.gives_up else ""
    return " ".join(part for part in (f"{memory}, {time}.", _THEN[one.verdict], lost) if part)


def controls_of(one: Advice, state: live.State) -> dict[str, live.Value] | None:
    """The controls that a change sets; None where the page has none for it."""
    found: dict[str, live.Value] = {}
    for word, value in one.words.items():
        if word == "attention":
            found["flash"] = value == "flash"
        elif word == "loss":
            if value not in ("full", "chunked:8"):
                return None
            found["chunked"] = value == "chunked:8"
        elif word == "execution":
            found["compiled"] = value == "compiled"
        elif word == "offload":
            if value == "gradients":
                return None
            found["offload"] = value == "optimizer"
        elif word == "dp":
            found["gpus"] = int(value) * int(state.controls["tp"]) * int(state.controls["pp"])
        elif word in ("accumulate", "micro_batches"):
            # One of the two is 1: passes run one after the other, or in a pipeline.
            found["accumulate"] = max(int(value), int(str(found.get("accumulate", 1))))
        elif _NAMES.get(word, word) in _OFFERED:
            found[_NAMES.get(word, word)] = value
        else:
            return None
    return found if _has_place(found) else None


def _has_place(controls: dict[str, live.Value]) -> bool:
    """Whether every menu has the value among its options."""
    offered = {
        control.name: [option.value for option in control.options]
        for control in CONTROLS
        if isinstance(control, live.Choice)
    }
    return all(value in offered.get(name, [value]) for name, value in controls.items())
