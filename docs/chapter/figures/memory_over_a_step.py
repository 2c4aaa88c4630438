"""What is allocated at each moment of a step, for a small and a larger batch."""

from engine import GB, training_memory
from plugins.book.drawing import Drawing, canvas
from plugins.shared.svg import INK

BATCHES = (1, 4)


def draw() -> Drawing:
    """A pair of bars for each moment at which memory may peak, from the top down in the order of the step."""
    steps = [training_memory("gpt2-xl", optimizer="adamw", precision="fp32", batch=batch) for batch in BATCHES]
    names = [moment.name for moment in steps[0].moments]
    figure, axes = canvas(3.8)
    hatched = {"facecolor": INK["surface"], "edgecolor": INK["memory"], "hatch": "//"}
    styles = ({"color": INK["memory"]}, hatched)
    for offset, batch, step, style in zip((-0.2, 0.2), BATCHES, steps, styles, strict=True):
        sizes = [moment.bytes / GB for moment in step.moments]
        places = [place + offset for place in range(len(names))]
        axes.barh(places, sizes, height=0.36, label=f"batch {batch}", **style)  # type: ignore[arg-type]
        for place, name, size in zip(places, names, sizes, strict=True):
            peak = name == step.peak.name
            text = f"{size:.1f} peak" if peak else f"{size:.1f}"
            weight = "bold" if peak else "normal"
            axes.text(size + 0.6, place, text, va="center", fontsize=8.5, fontweight=weight)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlim(0, 1.3 * steps[1].peak.bytes / GB)
    axes.set_xlabel("GB allocated")
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    axes.invert_yaxis()
    figure.legend(frameon=False, ncols=2, loc="outside upper left")
    listed = "; ".join(
        f"{one.name} {one.bytes / GB:.1f} and {other.bytes / GB:.1f}"
        for one, other in zip(steps[0].moments, steps[1].moments, strict=True)
    )
    return Drawing(
        figure,
        f"GB allocated at the moments of a step, with a batch of {BATCHES[0]} and of {BATCHES[1]}: {listed}. The peak "
        f"is at '{steps[0].peak.name}' with the small batch and at '{steps[1].peak.name}' with the larger one.",
    )
