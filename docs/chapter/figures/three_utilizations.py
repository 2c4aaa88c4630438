"""Three gauges on the same steps: time with a kernel running, hardware FLOPs, model FLOPs."""

from typing import Any

from explorable.figures.drawing import Drawing, canvas, row_names
from explorable.figures.sketch import percent
from explorable.shared.svg import INK
from ironlaw import Transformer, step_time

CHARACTERS = Transformer("characters", 6, 384, 6, 65, 256)
STEPS: tuple[tuple[str, str | Transformer, int, dict[str, Any]], ...] = (
    ("GPT-2 XL, batch 16,\nfused", "gpt2-xl", 16, {"execution": "compiled"}),
    ("the same, every layer\ncheckpointed", "gpt2-xl", 16, {"execution": "compiled", "checkpointing": "full"}),
    ("GPT-2 XL, batch 4,\nattention written out", "gpt2-xl", 4, {"attention": "standard"}),
    ("small model, batch 1,\neager", CHARACTERS, 1, {}),
)
"""Name, model, sequences, settings."""
GAUGES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("a kernel runs (nvidia-smi)", {"facecolor": INK["surface"], "edgecolor": INK["memory"], "hatch": "//"}),
    ("HFU", {"facecolor": INK["surface"], "edgecolor": INK["compute"], "hatch": "\\\\"}),
    ("MFU", {"facecolor": INK["compute"], "edgecolor": INK["compute"]}),
)


def draw() -> Drawing:
    """Three bars for each step, in percent."""
    figure, axes = canvas(3.3)
    said = []
    for row, (name, model, batch, settings) in enumerate(STEPS):
        step = step_time(model, "h100-sxm", batch, **settings)
        values = ((step.compute + step.memory) / step.total, step.hfu, step.mfu)
        for place, ((gauge, style), value) in enumerate(zip(GAUGES, values, strict=True)):
            at = row + 0.27 * (place - 1)
            axes.barh(at, 100 * value, height=0.24, label=gauge if row == 0 else None, **style)
            axes.text(100 * value + 1.5, at, f"{100 * value:.0f}", va="center_baseline")
        listed = ", ".join(f"{gauge} {percent(value)}" for (gauge, _), value in zip(GAUGES, values, strict=True))
        said.append(f"{' '.join(name.split())}: {listed}")
    row_names(axes, [name for name, *_ in STEPS])
    axes.set_xlim(0, 112)
    axes.set_xticks([0, 25, 50, 75, 100])
    axes.set_xlabel("%, one H100, predicted")
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=3, loc="outside upper left", columnspacing=1.2)
    axes.invert_yaxis()
    return Drawing(figure, f"Three bars for each of four steps on an H100. {'; '.join(said)}.")
