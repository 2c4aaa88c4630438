"""What speeding up one part does for the whole step."""

from explorable.figures.drawing import Drawing, canvas, y_title
from explorable.figures.sketch import percent
from explorable.shared.svg import INK
from ironlaw import step_time

STEP = step_time("gpt2-xl", "h100-sxm", 8)
PARTS = (
    ("arithmetic", STEP.compute, "compute", "-"),
    ("memory traffic", STEP.memory, "memory", "--"),
    ("update", STEP.update, "optimizer", ":"),
)
"""Name, seconds within the step, color, line. The update is a part of the traffic."""
FACTORS = [1 + 0.25 * place for place in range(37)]


def whole(share: float, factor: float) -> float:
    """Speedup of a step when `share` of it runs `factor` times as fast (Amdahl 1967)."""
    return 1 / (1 - share + share / factor)


def draw() -> Drawing:
    """Amdahl's law for three parts of a predicted step."""
    figure, axes = canvas(2.6)
    said = []
    for name, seconds, ink, line in PARTS:
        share = seconds / STEP.total
        curve = [whole(share, factor) for factor in FACTORS]
        label = f"{name}, {percent(share)}"
        axes.plot(FACTORS, curve, color=INK[ink], linestyle=line, linewidth=1.6, label=label)
        limit = 1 / (1 - share)
        said.append(f"{name}, {percent(share)} of the step: {whole(share, 2):.2f} at 2, at most {limit:.2f}")
    axes.set_xticks([1, 2, 4, 6, 8, 10])
    axes.set_ylim(0.95, 2.4)
    axes.set_xlabel("how much faster the part becomes (×)")
    y_title(axes, "speed-up of the whole step (×)")
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=2, loc="outside upper left", columnspacing=1.2)
    return Drawing(figure, f"Three curves that flatten. Speedup of the whole by the speedup of {'; '.join(said)}.")
