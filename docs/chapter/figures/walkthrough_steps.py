"""The walk-through: what a step of GPT-2 XL needs on a V100, and how long it takes, after each change."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from explorable.figures.drawing import WIDTH, Drawing
from explorable.shared.svg import INK
from ironlaw import GB, accelerator, step_time, training_memory

CHIP, SEQUENCES = "v100-32", 32
RUNGS: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("FP32, standard attention", 32, {"precision": "fp32", "attention": "standard"}),
    ("+ mixed precision", 32, {"precision": "mixed", "attention": "standard"}),
    ("+ fused attention", 32, {"precision": "mixed"}),
    ("road a: + checkpoint every 4 blocks", 32, {"precision": "mixed", "checkpointing": "every:4"}),
    ("road b: + 16 micro-batches", 2, {"precision": "mixed"}),
    ("road b, + fused kernels", 2, {"precision": "mixed", "execution": "compiled"}),
)
"""Name, micro-batch, what is changed."""


def draw() -> Drawing:
    """Memory above, time below: a bar for each change over the whole width; what does not fit is hatched."""
    chip = accelerator(CHIP)
    room = chip.usable_bytes / GB
    figure = Figure(figsize=(WIDTH, 6.6), layout="constrained")
    above, below = figure.subplots(2, 1)
    said = []
    for row, (name, batch, change) in enumerate(RUNGS):
        pieces = SEQUENCES // batch
        ledger = training_memory("gpt2-xl", chip, batch, accumulate=pieces, update="fused", **change)
        step = step_time("gpt2-xl", chip, batch, accumulate=pieces, update="fused", **change)
        size, static = ledger.device_total / GB, ledger.static_bytes / GB
        fits = size <= room
        words = f"{size:.1f} GB, fits by the count" if fits else f"{size:.0f} GB, {size / room:.1f} times the card"
        bar(above, row, (("optimizer", static), ("activation", size - static)), fits)
        bar(below, row, (("compute", step.compute), ("memory", step.total - step.compute)), fits)
        label(above, row, name, words)
        label(below, row, name, f"{step.total:.2f} s")
        said.append(
            f"{name.removeprefix('+ ')}: {size:.1f} GB, {static:.1f} of them weights, gradients and states; "
            f"{step.total:.2f} s, {step.compute:.2f} of them arithmetic; "
            f"{'fits' if fits else 'does not fit'} by the count"
        )
        above.vlines(room, row - 0.27, row + 0.27, color=INK["limit"], linewidth=1.8)
    above.set_xlabel(f"GB needed; the red line is the card's {room:.1f} GB")
    below.set_xlabel("s per step, predicted")
    for axes, inks in (
        (above, {"weights, gradients, states": "optimizer", "activations and the rest": "activation"}),
        (below, {"arithmetic": "compute", "waiting for memory, launches": "memory"}),
    ):
        for words, ink in inks.items():
            axes.barh(0, 0, color=INK[ink], label=words)
        tight = {"handlelength": 1.1, "handletextpad": 0.6, "columnspacing": 1.0, "borderaxespad": 0.1}
        axes.legend(frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(-0.02, 1.0), **tight)
        axes.set_ylim(len(RUNGS) - 0.35, -0.75)
        axes.set_yticks([])
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.set_axisbelow(True)
        axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    return Drawing(
        figure,
        f"Bars for the memory and the time of a step of {SEQUENCES} sequences on a {chip.title}, whose programs can "
        f"use {room:.1f} GB. {'. '.join(said)}.",
    )


def bar(axes: Axes, row: int, parts: tuple[tuple[str, float], ...], fits: bool) -> None:
    """A bar of two parts; hatched where the step does not fit."""
    begin = 0.0
    for ink, value in parts:
        ground, hatch = (INK[ink], "") if fits else (INK["surface"], "////")
        axes.barh(row, value, left=begin, height=0.36, facecolor=ground, edgecolor=INK[ink], hatch=hatch)
        begin += value


def label(axes: Axes, row: int, name: str, value: str) -> None:
    """The name of a change above its bar, and what the bar says."""
    axes.annotate(
        f"{name}: {value}", (0, row - 0.28), (1, 0), textcoords="offset points", va="bottom", ha="left"
    ).set_in_layout(False)
