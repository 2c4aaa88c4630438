"""The reflection of part 1: why training takes more than running the model, and what that means on this device."""

from __future__ import annotations

from math import isclose

from explorable import live

from .bands import read, touched
from .facts import Account, Audit, Setting, start_of
from .shared import number

WHOLE = 1000
"""Amounts from here on are shown without digits behind the point."""
RANGES = {"2": (0, 2), "4": (2, 4), "8": (4, 8), "16": (8, 16), "more": (16, float("inf"))}
"""How many times the finished model's weights."""
LABELS = {
    "2": "less than twice",
    "4": "two to four times",
    "8": "four to eight times",
    "16": "eight to sixteen times",
    "more": "more than sixteen times",
}
PARTS = {
    "weights": "the weights",
    "gradients": "the gradients",
    "master": "the master copy",
    "optimizer": "the optimizer's state",
    "activations": "the activations",
    "gathered": "the network buffers",
    "temporary": "temporary tensors",
    "driver": "the driver",
}
DIVIDE = "Divide what is needed by the weights of the finished model: Why, under the verdict, says them."
ENGINE = ("gathered", "temporary", "driver")
"""Parts that only the engine's list of tensors has."""
WHY = {
    "weights": "Serving needs these too, and keeps nothing for backward; training keeps more for each that learns.",
    "gradients": "There is a gradient for each parameter that learns, and it is gone after the update.",
    "master": "Mixed precision keeps one, and only of what learns.",
    "optimizer": "It is as large as the number of vectors says, and only for what learns.",
    "activations": "They grow with the batch and the length of a sample, not with the optimizer.",
    "gathered": "What ZeRO-3 collects for the block at work, and copies on their way to other devices.",
    "temporary": "They are there at the peak and gone a moment later: gradients of activations, recomputed tensors.",
    "driver": "Kernels and the driver's own memory take about half a gigabyte of any card.",
}


def largest(account: Account) -> tuple[str, ...]:
    """The largest parts: in many settings the gradients are as large as the weights."""
    most = max(account.parts.values())
    return tuple(part for part, size in account.parts.items() if isclose(size, most))


def multiples(audit: Audit, setting: Setting) -> tuple[float, ...]:
    """How many times the finished weights: in truth, in the feedback's digits, and by the amounts that are shown.

    They are in the format in which the mission begins: that number the verdict says, and fewer bits would change it.
    """
    need, serving = audit.account(setting).need, audit.account(start_of(audit.levers)).serving
    seen, least = (read(number(size / audit.unit[1], WHOLE)) for size in (need, serving))
    return need / serving, round(need / serving, 2), seen / least


def reflections(audit: Audit) -> tuple[live.Reflection, ...]:
    """One sentence with two blanks, judged for the reader's present setting."""

    def correct(state: live.State) -> dict[str, live.Value | tuple[live.Value, ...]]:
        times = touched(RANGES, *multiples(audit, state.controls))
        return {"times": times, "part": largest(audit.account(state.controls))}

    def told(state: live.State) -> dict[str, str]:
        times, *_ = multiples(audit, state.controls)
        # Beyond all ranges, as many digits as the amounts on the page have.
        told = f"{times:.2f}" if times < 2 * RANGES["more"][0] else f"about {float(f'{times:.2g}'):,.0f}"
        return {"times": f"It needs {told} times as much."}

    used = {part for part in PARTS if part not in ENGINE or _divides(audit)}
    return (
        live.Reflection(
            "serving",
            "As the bench stands, one device needs {times} the memory that the weights of the whole finished model "
            "take, and the largest part of it is {part}.",
            (
                live.Blank(
                    "times",
                    "How many times",
                    tuple(live.Option(name, label, DIVIDE) for name, label in LABELS.items()),
                ),
                live.Blank(
                    "part",
                    "The largest part",
                    tuple(live.Option(part, PARTS[part], WHY[part]) for part in PARTS if part in used),
                ),
            ),
            correct,
            told,
        ),
    )


def _divides(audit: Audit) -> bool:
    return any(lever.name == "zero" for lever in audit.levers)
