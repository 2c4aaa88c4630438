"""The reveal of Act 3: the gap, what the GPU waits for, where the numbers come from, and what to try next."""

from __future__ import annotations

from explorable import live

from .pipeline import (
    BUS,
    LOADING,
    SETTINGS,
    START,
    TARGET,
    efficiency,
    fits,
    iteration,
    mfu,
    shares,
)
from .texts import percent

TOLERANCE = 5
"""Points within which a prediction counts as right."""


def reveal(prediction: live.Value, state: live.State) -> live.Verdict:
    """What to say of a prediction. The question is about the first profile, wherever the levers stand."""
    said, share = float(prediction), 100 * iteration(START).utilization
    first = shares(START)
    running = [setting for setting in SETTINGS if fits(setting)]
    reached = [setting for setting in running if 100 * mfu(setting) >= TARGET]
    return live.Verdict(
        correct=abs(said - share) <= TOLERANCE,
        headline=gap(said, share),
        paragraphs=(
            f"Nothing is broken in that loop. In every step the GPU waits for the texts, {percent(first['data'])} % of "
            f"the time, and then for its own memory and the bus, {percent(first['transfer'])} %: weights and optimizer "
            f"states pass through memory once per step. A GPU twice as fast would shorten the step by {share / 2:.0f} "
            "%.",
            "Time at work is not MFU. MFU counts the FLOPs that training needs against the peak in BF16, and while "
            f"these products run they reach {percent(efficiency(START))} % of it. So the first profile has an MFU of "
            f"{percent(mfu(START))} %. MFU never exceeds the share of time spent computing.",
            f"Where the loading comes from: {LOADING}; {BUS.title} to the GPU. All else is the engine's account of "
            "the step's kernels.",
            f"Now bring the MFU to {TARGET} %. Of the {len(running)} settings here that fit, {len(reached)} "
            f"{'does' if len(reached) == 1 else 'do'}.",
        ),
    )


def gap(said: float, share: float) -> str:
    """The distance between prediction and answer, in points and as a factor."""
    start, answer = f"You said {said:.12g} %", f"the GPU computes {share:.0f} % of the time"
    points = abs(said - share)
    if points <= TOLERANCE:
        waits = shares(START)
        data, moved = percent(waits["data"]), percent(waits["transfer"])
        return f"{start}, and that is right: it waits {data} % for the texts and {moved} % for memory and bus."
    if said == 0:
        return f"{start}. In fact {answer}: {points:.0f} points more."
    if said < share:
        return f"{start}. In fact {answer}: {share / said:.1f} times your figure, {points:.0f} points more."
    return f"{start}. In fact {answer}: your figure is {said / share:.1f} times that, {points:.0f} points too high."
