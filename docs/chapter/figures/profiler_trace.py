"""A profiler's trace of two training loops, drawn from the engine's times: without and with loading ahead."""

from book.palette import BACKWARD, FORWARD
from explorable.figures.drawing import Drawing
from explorable.figures.sketch import Look, Sketch
from ironlaw import link, step_time
from ironlaw.hardware import storage
from ironlaw.time.step import StepTime
from ironlaw.training import StageTimes, english_text, stage_times

MODEL, GPU, BATCH, WORKERS = "gpt2-medium", "h100-sxm", 32, 4
TEXT = english_text(1_024)
"""A text of the model's whole context, tokenized at the rate that the engine assumes."""
LEFT, RIGHT, LANE, GAP = 62, 426, 20, 5
Span = tuple[float, float, Look]
"""Begin and end in seconds, and how it looks."""
LOADS: Look = {"fill": "data"}
LAUNCHES: Look = {"fill": "memory"}
UPDATES: Look = {"fill": "optimizer"}


def draw() -> Drawing:
    """Two traces over one time axis; each with a lane for loading, one for the host and one for the GPU."""
    step = step_time(MODEL, GPU, BATCH, execution="compiled")
    alone = loaded(step, 1)
    ahead = loaded(step, WORKERS)
    slow, fast = alone.iteration().total, ahead.iteration(prefetch=True, asynchronous_copy=True).total
    shown = 2 * slow
    sheet = Sketch(296)
    before = [(place * slow, place * slow + alone.load) for place in range(2)]
    trace(
        sheet,
        22,
        f"Before: no workers, {1000 * slow:.0f} ms a step",
        shown,
        [(begin, end, LOADS) for begin, end in before],
        [(end, end + step.host, LAUNCHES) for _, end in before],
        [span for _, end in before for span in kernels(step, end)],
    )
    y = 22 + 3 * (LANE + GAP) - 2
    sheet.line([(at(0, shown), y), (at(alone.load, shown), y)], "limit", 2)
    sheet.text(at(0, shown), y + 11, f"(1) gap: {1000 * alone.load:.0f} ms", ink="limit", size=12.8)
    launched = f"(2) launched in {1000 * step.host:.0f} ms, busy for {1000 * step.total:.0f}"
    sheet.text(at(alone.load, shown) + 2, y + 11, launched, ink="muted", size=12.8)
    steps = int(shown / fast) + 1
    trace(
        sheet,
        146,
        f"After: {WORKERS} workers load ahead, {1000 * fast:.0f} ms a step",
        shown,
        [(place * fast, place * fast + ahead.load, LOADS) for place in range(steps)],
        [(place * fast, place * fast + step.host, LAUNCHES) for place in range(steps)],
        [span for place in range(steps) for span in kernels(step, place * fast)],
    )
    y = 146 + 3 * (LANE + GAP) - 2
    sheet.text(
        at(0, shown), y + 11, "(3) no gap: the next batch is ready before this step ends", ink="muted", size=12.8
    )
    sheet.line([(LEFT, 254), (RIGHT, 254)], "muted", 1)
    for tick in range(int(shown / 0.2) + 1):
        x = at(0.2 * tick, shown)
        sheet.line([(x, 254), (x, 258)], "muted", 1)
        sheet.text(x, 267, f"{200 * tick:,}", size=12.8, ink="muted", anchor="middle")
    sheet.text(LEFT - 10, 267, "ms", size=12.8, ink="muted", anchor="end")
    x = 4.0
    for words, look in (
        ("load", LOADS),
        ("launch", LAUNCHES),
        ("forward", FORWARD),
        ("backward", BACKWARD),
        ("update", UPDATES),
    ):
        sheet.rect(x, 281, 12, 10, **look)
        sheet.text(x + 16, 286, words, size=12.8)
        x += 34 + 7 * len(words)
    return Drawing(
        sheet,
        f"Two traces of a training of GPT-2 Medium with {BATCH} texts a step, each with lanes for loading, the host "
        f"and the GPU. Before, the GPU is idle for {1000 * alone.load:.0f} of the {1000 * slow:.0f} milliseconds of a "
        "step, while the next batch is loaded; then forward pass, backward pass and update run without a gap, and "
        f"the host has launched them all after {1000 * step.host:.0f} milliseconds. After, {WORKERS} workers load a "
        f"batch in {1000 * ahead.load:.0f} milliseconds while the GPU computes, and steps of {1000 * fast:.0f} "
        "milliseconds follow each other without a gap.",
    )


def loaded(step: StepTime, workers: int) -> StageTimes:
    """Stage times of the pipeline that feeds a step."""
    disk, bus = storage("nvme-4"), link("pcie-4-x16")
    return stage_times(TEXT, BATCH, step.total, disk, bus, workers=workers)


def kernels(step: StepTime, begin: float) -> list[Span]:
    """What the GPU does in a step."""
    spans: list[Span] = []
    for seconds, look in ((step.forward, FORWARD), (step.backward, BACKWARD), (step.update, UPDATES)):
        spans.append((begin, begin + seconds, look))
        begin += seconds
    return spans


def trace(sheet: Sketch, y: float, title: str, shown: float, *lanes: list[Span]) -> None:
    """A title and three lanes, from `y` down."""
    sheet.text(4, y - 11, title, bold=True, size=13)
    for number, (name, spans) in enumerate(zip(("loading", "host", "GPU"), lanes, strict=True)):
        top = y + number * (LANE + GAP)
        sheet.text(LEFT - 6, top + LANE / 2, name, anchor="end", size=12.8)
        sheet.rect(LEFT, top, RIGHT - LEFT, LANE, fill="surface")
        for begin, end, look in spans:
            if begin < shown:
                left, right = at(begin, shown), at(min(end, shown), shown)
                sheet.rect(left, top + 1, max(right - left - 0.6, 0.8), LANE - 2, **look)


def at(seconds: float, shown: float) -> float:
    """Where a moment lies on the sheet."""
    return LEFT + (RIGHT - LEFT) * seconds / shown
