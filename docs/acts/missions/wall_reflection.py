"""The reflection of part 3: how busy the network is, and what stands in the way."""

from __future__ import annotations

from explorable import live

from .bands import read, touched
from .facts import Plan, Wall
from .shared import beyond
from .wall_score import exceeded, final_loss, trained

SHARES = {"10": (0.0, 0.1), "25": (0.1, 0.25), "50": (0.25, 0.5), "more": (0.5, float("inf"))}
"""Shares of the step in which the network is busy: from, to."""
LABELS = {
    "10": "less than a tenth",
    "25": "a tenth to a quarter",
    "50": "a quarter to a half",
    "more": "more than half",
}
STATES = {
    "": "nothing: every limit is kept",
    "memory": "memory",
    "network": "the network",
    "mfu": "the target: too little of the step is useful arithmetic",
    "exploded": "the toy loss: it explodes",
    "loss": "the toy loss: it does not fall far enough",
}
WHY = {
    "": "Memory, network, target and loss all have to hold at once.",
    "memory": "A step that does not fit does not run, whatever else is right.",
    "network": "It is busy for as long as exchanges take, beside all the time that they have.",
    "mfu": "Useful operations over what the devices could do: waiting, converting and computing again lower it.",
    "exploded": "A rate too high for the batch, a gradient beyond the format, or an update that nothing holds back.",
    "loss": "Fewer updates for the same samples, or too small ones, leave the loss as it is; too large ones lift it.",
}
EXCHANGES = "That is the time of exchanges over the time of the whole step."


def busy(wall: Wall, plan: Plan, more: int = 0) -> str:
    """How busy the network is, in %, with so many more digits than the page shows."""
    text = beyond(100 * plan.network, 100 * wall.ceiling, 0, kept=plan.network <= wall.ceiling)
    return f"{100 * plan.network:.{len(text.partition('.')[2]) + more}f}" if more else text


def reflections(wall: Wall) -> tuple[live.Reflection, ...]:
    """One sentence with two blanks, judged for the reader's present setting."""

    def correct(state: live.State) -> dict[str, live.Value | tuple[live.Value, ...]]:
        plan = wall.plan(state.controls)
        share = touched(SHARES, plan.network, read(busy(wall, plan)) / 100)
        # Every limit that the table marks as not kept stands in the way.
        trials = trained(wall, plan, str(state.controls["rate"]))
        loss: tuple[str, ...] = () if trials.unjudged or not trials.obstacle else (trials.obstacle,)
        if loss == ("loss",) and final_loss(trials.shown) >= 1:
            loss = ("loss", "exploded")  # what ends above where it began, and is a number still, is called either
        return {"network": share, "state": (*exceeded(wall, plan), *loss) or ("none",)}

    def told(state: live.State) -> dict[str, str]:
        plan = wall.plan(state.controls)
        rounded, finer = busy(wall, plan), busy(wall, plan, 1)
        right = [f"“{LABELS[share]}”" for share in touched(SHARES, plan.network, read(rounded) / 100)]
        shown = f", which the page rounds to {rounded} %: {' and '.join(right)} are both right" if right[1:] else ""
        return {"network": f"The network is busy {finer} % of the step{shown}."}

    states = tuple(live.Option(name or "none", label, WHY[name]) for name, label in STATES.items())
    shares = tuple(live.Option(name, label, EXCHANGES) for name, label in LABELS.items())
    return (
        live.Reflection(
            "defend",
            "Defend your configuration: the network is busy {network} of the step, and what stands in the way is "
            "{state}.",
            (live.Blank("network", "The network", shares), live.Blank("state", "In the way", states)),
            correct,
            told,
        ),
    )
