"""The reflection of part 3: how busy the network is, and what stands in the way."""

from __future__ import annotations

from explorable import live

from .facts import Wall
from .wall_score import exceeded, trained

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
    "mfu": "the target: the devices wait too much",
    "exploded": "the toy loss: it explodes",
    "loss": "the toy loss: it does not fall far enough",
}
WHY = {
    "": "Memory, network, target and loss all have to hold at once.",
    "memory": "A step that does not fit does not run, whatever else is right.",
    "network": "It is busy for as long as exchanges take, beside all the time that they have.",
    "mfu": "Useful operations over what the devices could do: waiting and computing again lower it.",
    "exploded": "A rate too high for the batch, a gradient beyond the format, or an update that nothing holds back.",
    "loss": "The same samples in fewer updates, or updates too small, leave the loss where it is.",
}


def reflections(wall: Wall) -> tuple[live.Reflection, ...]:
    """One sentence with two blanks, judged for the reader's present setting."""

    def correct(state: live.State) -> dict[str, live.Value | tuple[live.Value, ...]]:
        plan = wall.plan(state.controls)
        share = next(name for name, (low, high) in SHARES.items() if low <= plan.network < high)
        # Every limit that the table marks as not kept stands in the way.
        trials = trained(wall, plan, str(state.controls["rate"]))
        loss = () if trials.unjudged or not trials.obstacle else (trials.obstacle,)
        return {"network": share, "state": (*exceeded(wall, plan), *loss) or ("none",)}

    states = tuple(live.Option(name or "none", label, WHY[name]) for name, label in STATES.items())
    shares = tuple(live.Option(name, label, "Exchanges over the whole step.") for name, label in LABELS.items())
    return (
        live.Reflection(
            "defend",
            "Defend your configuration: the network is busy {network} of the step, and what stands in the way is "
            "{state}.",
            (live.Blank("network", "The network", shares), live.Blank("state", "In the way", states)),
            correct,
        ),
    )
