"""Where the operations of a step are, and where its time is at best."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from explorable.figures.drawing import Drawing, canvas, row_names
from explorable.figures.sketch import percent
from explorable.shared.svg import INK
from ironlaw import accelerator, model
from ironlaw.time import step_points
from ironlaw.time.roofline import RooflinePoint, least_seconds

GPT2_XL, H100 = model("gpt2-xl"), accelerator("h100-sxm")
BATCH, SEQUENCE = 8, 1024
PARTS: Mapping[str, dict[str, Any]] = {
    "products": {"facecolor": INK["compute"], "edgecolor": INK["compute"]},
    "attention's core": {"facecolor": INK["surface"], "edgecolor": INK["compute"], "hatch": "\\\\"},
    "small operations": {"facecolor": INK["surface"], "edgecolor": INK["memory"], "hatch": "//"},
}
"""What is summed, and how it looks."""
BARS = (
    ("operations", "flash", "eager"),
    ("time, attention\nwritten out", "standard", "eager"),
    ("time, attention\nfused", "flash", "eager"),
    ("time, everything\nfused", "flash", "compiled"),
)


def part_of(point: RooflinePoint) -> str:
    """The part of a step that a kernel belongs to."""
    if point.name.startswith("attn.core"):
        return "attention's core"
    return "products" if point.intensity > 100 else "small operations"


def draw() -> Drawing:
    """One bar of shares of FLOPs, three of milliseconds, each of 100 percent."""
    figure, axes = canvas(2.5)
    said = []
    for place, (name, attention, execution) in enumerate(BARS):
        sums: Counter[str] = Counter()
        for one in step_points(
            GPT2_XL,
            H100,
            BATCH,
            SEQUENCE,
            precision="amp-bf16",
            attention=attention,
            execution=execution,
        ):
            seconds = least_seconds(one.flops, one.bytes, one.ridge * H100.bandwidth, H100.bandwidth)
            sums[part_of(one)] += one.count * (one.flops if place == 0 else seconds)  # type: ignore[assignment]
        total, left = sum(sums.values()), 0.0
        for part, style in PARTS.items():
            share = 100 * sums[part] / total
            axes.barh(place, share, left=left, height=0.6, label=part if place == 0 else None, **style)
            left += share
        note = f"{total / 1e12:.0f} TFLOP" if place == 0 else f"{1000 * total:.0f} ms"
        axes.text(102, place, note, va="center")
        shares = ", ".join(f"{part} {percent(sums[part] / total, 1)}" for part in PARTS)
        said.append(f"{' '.join(name.split())}, {note}: {shares}")
    row_names(axes, [name for name, *_ in BARS])
    axes.set_xlim(0, 128)
    axes.set_xticks([0, 25, 50, 75, 100])
    axes.set_xlabel("% of the step's forward and backward pass")
    figure.legend(frameon=False, ncols=3, loc="outside upper left", columnspacing=1, handlelength=1.4)
    axes.invert_yaxis()
    return Drawing(figure, f"Four stacked bars. {'; '.join(said)}.")
