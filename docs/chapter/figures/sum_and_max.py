"""The same batches through the same four stages, one after the other and side by side."""

from itertools import product

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK

STAGES = (("read", 1, "data"), ("prepare", 3, "data"), ("copy", 1, "memory"), ("train", 4, "compute"))
"""Name, time units for a batch, color."""
BATCHES = 4


def schedule(overlapped: bool) -> dict[tuple[int, int], tuple[int, int]]:
    """Begin and end of every (batch, stage): a stage, or without overlap the chain, works on one batch at a time."""
    ends: dict[tuple[int, int], tuple[int, int]] = {}
    for batch, stage in product(range(BATCHES), range(len(STAGES))):
        before = ends[batch, stage - 1][1] if stage else 0
        waits_for = stage if overlapped else len(STAGES) - 1
        free = ends[batch - 1, waits_for][1] if batch else 0
        begin = max(before, free)
        ends[batch, stage] = (begin, begin + STAGES[stage][1])
    return ends


def draw() -> Drawing:
    """Two timelines, a row for each stage."""
    figure, axes = canvas(3.0)
    totals = []
    for part, overlapped in enumerate((False, True)):
        plan = schedule(overlapped)
        for (batch, stage), (begin, end) in plan.items():
            row = part * (len(STAGES) + 1) + stage
            axes.barh(row, end - begin, left=begin, height=0.8, color=INK[STAGES[stage][2]], edgecolor=INK["bg"])
            if end - begin > 1:
                middle = (begin + end) / 2
                axes.text(middle, row, str(batch + 1), ha="center", va="center_baseline", color=INK["bg"])
        totals.append(max(end for _, end in plan.values()))
        axes.text(totals[-1] + 0.8, part * (len(STAGES) + 1) + 3, f"done at {totals[-1]}", va="center")
    names = [name for name, _, _ in STAGES]
    rows = [*range(len(names)), *range(len(names) + 1, 2 * len(names) + 1)]
    axes.set_yticks(rows, names * 2)
    axes.axhline(len(names), color=INK["border"], linewidth=0.8)
    axes.set_xlim(0, max(totals) + 9)
    axes.set_xlabel("time units; batches are numbered")
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    axes.invert_yaxis()
    times = ", ".join(f"{name} {time}" for name, time, _ in STAGES)
    one, longest = sum(time for _, time, _ in STAGES), max(time for _, time, _ in STAGES)
    return Drawing(
        figure,
        f"Two timelines of {BATCHES} batches through four stages of {times} time units. One after the other, a batch "
        f"takes {one} units and all take {totals[0]}. Side by side, a batch follows every {longest} units, and all "
        f"take {totals[1]}.",
    )
