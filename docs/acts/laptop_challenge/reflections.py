"""The reflections of the challenge, judged for the reader's own setting."""

from __future__ import annotations

from dataclasses import replace

from explorable import live
from ironlaw.numerics.formats import FP16, FP32

from .parts import parts
from .settings import GRADIENT, RATE, WEIGHT, gb, need, setting_of

THRESHOLDS = (1e-3, 1e-5, 1e-9)


def largest_blanks(state: live.State) -> dict[str, tuple[live.Value, ...]]:
    """The largest kind of tensor, and the lever that frees most, at the reader's own setting. Equals are all right."""
    setting = setting_of(state)
    moves = {
        "precision": replace(setting, precision="fp16"),
        "optimizer": replace(setting, optimizer="sgd"),
        "checkpointing": replace(setting, checkpointing=True),
        "batch": replace(setting, batch=1),
    }
    sizes, needs = parts(setting), {name: need(moved) for name, moved in moves.items()}
    # Of two that look the same in the chart, neither is less right.
    largest, least = gb(max(sizes.values())), min(needs.values())
    best = tuple(name for name in moves if gb(needs[name]) == gb(least))
    return {
        "part": tuple(part for part, size in sizes.items() if gb(size) == largest),
        "lever": best if least < need(setting) else ("none",),
    }


def threshold_blanks(state: live.State) -> dict[str, live.Value]:
    """Half of FP16's step at the weight, and what a master copy changes about it."""
    half = FP16.vanishing_threshold(WEIGHT)
    kept = not FP32.update_vanishes(WEIGHT, -RATE * GRADIENT)
    return {
        "threshold": min(THRESHOLDS, key=lambda value: max(value / half, half / value)),
        "cure": "master" if kept else "none",
    }


REFLECTIONS = (
    live.Reflection(
        "largest",
        "At your setting the largest part is {part}. Of the first four levers, {lever} would free most from here.",
        (
            live.Blank(
                "part",
                "The largest part",
                (
                    live.Option("parameters", "the parameters", "The bar shows how they compare with the rest."),
                    live.Option("gradients", "the gradients", "They are as many as the parameters."),
                    live.Option("master", "the master copy", "It exists in mixed precision only."),
                    live.Option("optimizer", "the optimizer state", "It exists for Momentum and for Adam."),
                    live.Option("activations", "the activations", "They grow with the batch; nothing else does."),
                    live.Option("buffers", "the sharding buffers", "They exist only with more than one laptop."),
                ),
            ),
            live.Blank(
                "lever",
                "The lever",
                (
                    live.Option("precision", "pure FP16", "It halves what is still in 32 bits."),
                    live.Option("optimizer", "SGD", "It drops the optimizer's state, if there is one."),
                    live.Option("checkpointing", "checkpointing", "It drops most activations of the fullest moment."),
                    live.Option("batch", "batch 1", "It divides activations by the batch."),
                    live.Option("none", "none of them", "That takes all of them pulled as far as they help."),
                ),
            ),
        ),
        largest_blanks,
    ),
    live.Reflection(
        "floor",
        f"In pure FP16 a weight of {WEIGHT} does not notice updates below about {{threshold}}. "
        "What cures it is {cure}.",
        (
            live.Blank(
                "threshold",
                "The smallest update that counts",
                (
                    live.Option(1e-3, "0.001", "That is FP16's relative step, for a weight of 1."),
                    live.Option(1e-5, "0.00001", "Half the spacing of FP16 numbers around this weight."),
                    live.Option(1e-9, "0.000000001", "That is FP32's threshold."),
                ),
            ),
            live.Blank(
                "cure",
                "The cure",
                (
                    live.Option("master", "an FP32 copy of the weights", "Small updates add up there until they show."),
                    live.Option("scaling", "loss scaling", "It saves small gradients. The update is added unscaled."),
                    live.Option("batch", "a larger batch", "It averages gradients; it does not make updates larger."),
                    live.Option("none", "nothing", "An FP32 number has 13 more bits of fraction: enough for this."),
                ),
            ),
        ),
        threshold_blanks,
    ),
)
