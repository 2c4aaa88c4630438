"""What a larger batch does for utilization, and where it stops."""

from explorable.figures.drawing import Drawing, canvas
from explorable.figures.sketch import percent
from explorable.shared.svg import INK
from ironlaw import setup
from ironlaw.time import step_plan

MODELS = (("GPT-2 XL", "gpt2-xl", "compute", "o", "-"), ("GPT-2 Small", "gpt2", "memory", "s", "--"))
BATCHES = (1, 2, 4, 8, 16, 32, 64)


def draw() -> Drawing:
    """MFU on one H100, fused kernels, by the batch."""
    figure, axes = canvas(2.4)
    said = []
    for name, key, ink, marker, line in MODELS:
        plan = step_plan(setup(key, "h100-sxm", execution="compiled"))
        curve = [100 * plan(batch, 1024).mfu for batch in BATCHES]
        axes.plot(
            BATCHES, curve, color=INK[ink], marker=marker, markersize=4.5, linestyle=line, linewidth=1.4, label=name
        )
        listed = ", ".join(f"{percent(value / 100)} at {batch}" for batch, value in zip(BATCHES, curve, strict=True))
        said.append(f"{name}: {listed}")
    axes.set_xscale("log", base=2)
    axes.set_xticks(BATCHES, [str(batch) for batch in BATCHES])
    axes.minorticks_off()
    axes.set_ylim(0, 60)
    axes.set_xlabel("sequences of 1,024 tokens in the batch")
    axes.set_ylabel("MFU in %, predicted")
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=2, loc="outside upper left")
    return Drawing(figure, f"Two curves that rise and flatten. Predicted MFU on an H100. {'; '.join(said)}.")
