"""What a reader's files leave open on which the verdict rests: one on the page's own model is none on theirs."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence

from explorable import live
from ironlaw.files.facts import DIVIDES, Reading

from .choices import LEFT, MODEL, PASTED
from .pasted import TRAININGS

TITLES = {"model": "This page's model, not yours", "zero": "Without the file that divides"}
"""What stands in the place of a verdict; the first counts that is open."""
_FIRST = 1000.0
"""Worth of what is asked before all changes."""
_VERDICT = {"fits": "it fits", "uncertain": "it is uncertain whether it fits", "not": "it does not fit"}


def noted(readings: Sequence[Reading], said: Collection[str], at: Mapping[str, live.Value], found: bool) -> str:
    """The note on what files of a training leave open; empty where they leave nothing.

    Args:
        readings: The files.
        said: What is told of them.
        at: Where the controls then stand.
        found: Whether the files say which model of the page's is trained.
    """
    left = set()
    if any(reading.kind in TRAININGS for reading in readings) and not found and at["model"] != PASTED:
        # Whoever has chosen a model before, and gives a file that names none, means that one.
        named = any(reading.facts.model for reading in readings) or any("stands instead" in line for line in said)
        left |= {"model"} if named or at["model"] == MODEL else set()
    left |= {"zero"} if any(DIVIDES in line for line in said) else set()
    return json.dumps({name: at[name] for name in LEFT if name in left}) if left else ""


def left(state: live.State) -> tuple[str, ...]:
    """The controls that a reader's files leave open, and that nobody has moved since."""
    note = json.loads(str(state.controls["left"]) or "{}")
    return tuple(name for name in LEFT if name in note and note[name] == state.controls[name])


def instead(state: live.State, verdict: str, need: float, room: float) -> live.Success | None:
    """What stands in the place of a verdict while something is open; None where nothing is.

    Args:
        state: Where the controls stand.
        verdict: The engine's, of the plan as it stands.
        need: GB that a card needs by the count.
        room: GB that it can give.
    """
    if not (names := left(state)):
        return None
    zero = int(state.controls["zero"])
    told = {
        "model": f"Your files name no model that this page knows: {state.controls['model']} stands here. "
        "Choose yours, or add its config.json.",
        "zero": f"The file that says what cards divide is named and not here: counted {'with' if zero else 'without'} "
        f"ZeRO{f' {zero}' if zero else ''}. Add it.",
    }
    as_it_stands = f"As it stands {_VERDICT[verdict]}: {need:.1f} GB of {room:.1f} GB by the count."
    said = " ".join((*(told[name] for name in names), as_it_stands))
    return live.Success(TITLES[names[0]], said, marked=False)


def confirmed(state: live.State) -> Iterator[live.Suggestion]:
    """Changes that take what stands on the page for what the files leave open."""
    names = left(state)
    titles = {"model": f"My model is {state.controls['model']}", "zero": "My cards divide what stands here"}
    for name in names:
        others = {one: state.controls[one] for one in names if one != name}
        note = json.dumps(others) if others else ""
        yield live.Suggestion(titles[name], "Then there is a verdict.", {"left": note}, _FIRST)
