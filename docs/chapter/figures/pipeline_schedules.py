"""Who works when in a pipeline of four stages: GPipe, 1F1B, and what each keeps in flight."""

from collections.abc import Callable, Iterator

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from engine.parallel import bubble_fraction
from plugins.book.drawing import WIDTH, Drawing
from plugins.shared.svg import INK

STAGES, MICRO_BATCHES = 4, 8
FORWARD, BACKWARD = 1, 2
"""Units of time; a backward pass takes twice as long as a forward pass."""

Work = tuple[str, int]
"""`("F", 3)` is the forward pass of micro-batch 3."""


def draw() -> Drawing:
    """Two timetables, one below the other."""
    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True)
    ends = [timetable(upper, gpipe, "GPipe"), timetable(lower, one_forward_one_backward, "1F1B")]
    lower.set_xlabel("time, in forward passes of one micro-batch")
    ideal = MICRO_BATCHES * (FORWARD + BACKWARD)
    idle = 1 - ideal / ends[0]
    assert ends[0] == ends[1], "both schedules wait equally long"
    assert abs(idle - bubble_fraction(STAGES, MICRO_BATCHES)) < 1e-9, "the timetable keeps the formula"
    held = [max(kept(order(stage)) for stage in range(STAGES)) for order in (gpipe, one_forward_one_backward)]
    return Drawing(
        figure,
        f"Two timetables of {STAGES} stages and {MICRO_BATCHES} micro-batches. In both, the stages start one after "
        f"the other and idle for {idle:.0%} of the step. GPipe runs all forward passes first, so a stage holds up to "
        f"{held[0]} micro-batches; 1F1B alternates forward and backward passes, and holds at most {held[1]}.",
    )


def gpipe(stage: int) -> list[Work]:
    """All forward passes, then all backward passes, the last first; every stage does the same."""
    del stage
    return [("F", k) for k in range(MICRO_BATCHES)] + [("B", k) for k in reversed(range(MICRO_BATCHES))]


def one_forward_one_backward(stage: int) -> list[Work]:
    """As many forward passes as stages follow, then one of each in turn, then the backward passes that are left."""
    ahead = STAGES - 1 - stage
    work = [("F", k) for k in range(ahead)]
    for k in range(MICRO_BATCHES - ahead):
        work += [("F", ahead + k), ("B", k)]
    return work + [("B", k) for k in range(MICRO_BATCHES - ahead, MICRO_BATCHES)]


def kept(work: list[Work]) -> int:
    """The most micro-batches whose backward pass is still to come."""
    counts = [0]
    for kind, _ in work:
        counts.append(counts[-1] + (1 if kind == "F" else -1))
    return max(counts)


def begins(order: list[list[Work]]) -> Iterator[tuple[int, Work, int]]:
    """Stage, work and starting time: each starts when its stage is free and what it waits for has ended."""
    ended: dict[tuple[int, Work], int] = {}
    free, place = [0] * STAGES, [0] * STAGES
    while any(place[stage] < len(order[stage]) for stage in range(STAGES)):
        for stage in range(STAGES):
            if place[stage] == len(order[stage]):
                continue
            kind, k = work = order[stage][place[stage]]
            before = stage - 1 if kind == "F" else stage + 1
            needs = [(before, work)] if 0 <= before < STAGES else []
            needs += [(stage, ("F", k))] if kind == "B" else []
            if any(need not in ended for need in needs):
                continue
            start = max([free[stage], *(ended[need] for need in needs)])
            free[stage] = ended[stage, work] = start + (FORWARD if kind == "F" else BACKWARD)
            place[stage] += 1
            yield stage, work, start


def timetable(axes: Axes, schedule: Callable[[int], list[Work]], name: str) -> int:
    """Draw one schedule and say when it ends."""
    end = 0
    for stage, (kind, k), start in begins([schedule(stage) for stage in range(STAGES)]):
        length, ink = (FORWARD, "compute") if kind == "F" else (BACKWARD, "optimizer")
        ground, hatch = (INK["surface"], None) if kind == "F" else (INK["bg"], "///")
        axes.barh(stage, length, left=start, height=0.84, facecolor=ground, edgecolor=INK["border"], hatch=hatch)
        axes.barh(stage, length, left=start, height=0.84, facecolor="none", edgecolor=INK[ink], linewidth=0.9)
        axes.text(start + length / 2, stage, str(k + 1), ha="center", va="center", fontsize=7.5)
        end = max(end, start + length)
    axes.set_yticks(range(STAGES), [f"stage {stage + 1}" for stage in range(STAGES)])
    axes.invert_yaxis()
    axes.set_xlim(0, end)
    axes.set_title(name, loc="left", fontsize=10)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(left=False)
    return end
