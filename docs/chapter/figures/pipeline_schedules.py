"""Who works when in a pipeline: GPipe and 1F1B, with as many stages and micro-batches as the reader wants."""

from collections.abc import Iterator

from book.palette import BACKWARD as BACKWARD_LOOK
from book.palette import FORWARD as FORWARD_LOOK
from explorable.figures.drawing import Drawing
from explorable.figures.moving import Control, Reading
from explorable.figures.sketch import Look, Sketch, percent
from ironlaw.parallel import bubble_fraction

FORWARD, BACKWARD = 1, 2
"""Units of time; a backward pass takes twice as long as a forward pass."""
STAGES, MICRO_BATCHES = (2, 4, 6, 8), (1, 2, 4, 8, 12, 16)
PASSES: dict[str, Look] = {"F": {**FORWARD_LOOK, "corner": 2}, "B": {**BACKWARD_LOOK, "corner": 2}}
TITLES = {"gpipe": "GPipe", "1f1b": "1F1B"}
LEFT, RIGHT, TOP, HEIGHT = 60, 434, 8, 192

CONTROLS = (
    Control("schedule", "Schedule", tuple(TITLES), tuple(TITLES.values()), "gpipe", buttons=True),
    Control("stages", "Stages", STAGES, tuple(map(str, STAGES)), 4),
    Control("batches", "Micro-batches", MICRO_BATCHES, tuple(map(str, MICRO_BATCHES)), 8),
)

Work = tuple[str, int]
"""`("F", 3)` is the forward pass of micro-batch 3."""


def draw(schedule: str, stages: int, batches: int) -> Drawing:
    """One timetable: a row for each stage, a box for each pass."""
    make = {"gpipe": gpipe, "1f1b": one_forward_one_backward}[schedule]
    orders = [make(stage, stages, batches) for stage in range(stages)]
    passes = list(begins(orders))
    end = max(start + length(kind) for _, (kind, _), start in passes)
    idle = 1 - batches * (FORWARD + BACKWARD) / end
    assert abs(idle - bubble_fraction(stages, batches)) < 1e-9, "the timetable keeps the formula"
    held = max(map(kept, orders))
    wide = (RIGHT - LEFT) / end
    # All pictures are equally high, so that nothing below them moves.
    sheet, row = Sketch(TOP + HEIGHT + 42), min(44, HEIGHT / stages)
    for stage in range(stages):
        y = TOP + row * stage
        sheet.text(LEFT - 8, y + row / 2 - 1, f"stage {stage + 1}", anchor="end", size=12.8, ink="muted")
        sheet.rect(LEFT, y + 2, RIGHT - LEFT, row - 6, fill="bg")
    for stage, (kind, k), start in passes:
        x, y = LEFT + start * wide, TOP + row * stage + 1
        wide_box = length(kind) * wide
        sheet.rect(x + 0.5, y, wide_box - 1, row - 4, **PASSES[kind])
        number = f"{k + 1}"
        if wide_box > 3 + 7 * len(number):
            ink = "fg" if kind == "F" else "bg"
            sheet.text(x + wide_box / 2, y + row / 2 - 2, number, anchor="middle", size=12.8, ink=ink)
    y = TOP + HEIGHT + 8
    sheet.arrow((LEFT, y), (RIGHT - 36, y), "muted", 1.2)
    sheet.text(RIGHT, y, "time", anchor="end", size=12.8, ink="muted")
    y += 22
    for x, kind, words in ((LEFT, "F", "forward"), (LEFT + 92, "B", "backward")):
        sheet.rect(x, y - 6, 14, 12, **PASSES[kind])
        sheet.text(x + 20, y, words, size=12.8, ink="muted")
    sheet.rect(LEFT + 196, y - 6, 14, 12, fill="bg", line="border", corner=2)
    sheet.text(LEFT + 216, y, "waits", size=12.8, ink="muted")
    return Drawing(
        sheet,
        f"{TITLES[schedule]} with {stages} stages and {batches} micro-batches. The stages start one after the other "
        f"and wait for {percent(idle)} of the step; stage 1 holds up to {held} micro-batches at a time.",
        (
            Reading("Each stage waits", f"{100 * idle:.0f}", "% of the step"),
            Reading("Stage 1 holds", f"{held}", "micro-batch" if held == 1 else "micro-batches"),
        ),
    )


def length(kind: str) -> int:
    """Units of time that a pass takes."""
    return FORWARD if kind == "F" else BACKWARD


def gpipe(stage: int, stages: int, batches: int) -> list[Work]:
    """All forward passes, then all backward passes, the last first; every stage does the same."""
    del stage, stages
    return [("F", k) for k in range(batches)] + [("B", k) for k in reversed(range(batches))]


def one_forward_one_backward(stage: int, stages: int, batches: int) -> list[Work]:
    """As many forward passes as stages follow, then one of each in turn, then the backward passes that are left."""
    ahead = min(stages - 1 - stage, batches)
    work = [("F", k) for k in range(ahead)]
    for k in range(batches - ahead):
        work += [("F", ahead + k), ("B", k)]
    return work + [("B", k) for k in range(batches - ahead, batches)]


def kept(work: list[Work]) -> int:
    """The most micro-batches whose backward pass is still to come."""
    counts = [0]
    for kind, _ in work:
        counts.append(counts[-1] + (1 if kind == "F" else -1))
    return max(counts)


def begins(order: list[list[Work]]) -> Iterator[tuple[int, Work, int]]:
    """Stage, work and starting time: each starts when its stage is free and what it waits for has ended."""
    stages = len(order)
    ended: dict[tuple[int, Work], int] = {}
    free, place = [0] * stages, [0] * stages
    while any(place[stage] < len(order[stage]) for stage in range(stages)):
        for stage in range(stages):
            if place[stage] == len(order[stage]):
                continue
            kind, k = work = order[stage][place[stage]]
            before = stage - 1 if kind == "F" else stage + 1
            needs = [(before, work)] if 0 <= before < stages else []
            needs += [(stage, ("F", k))] if kind == "B" else []
            if any(need not in ended for need in needs):
                continue
            start = max([free[stage], *(ended[need] for need in needs)])
            free[stage] = ended[stage, work] = start + length(kind)
            place[stage] += 1
            yield stage, work, start
