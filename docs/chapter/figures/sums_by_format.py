"""Adding the same small number again and again, with the sum kept in three formats."""

from book.palette import FORMATS
from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw.numerics import FloatFormat, float_format

STEP, TIMES = 1e-4, 3000
SHOWN = {"fp16": ("FP16", "--"), "fp32": ("FP32", "-"), "bf16": ("BF16", "-.")}


def sums(form: FloatFormat) -> list[float]:
    """The sum after each addition, rounded to the format each time."""
    found = [0.0]
    for _ in range(TIMES):
        found.append(form.round(found[-1] + STEP))
    return found


def draw() -> Drawing:
    """Three curves: one grows as it should, one too fast and then too slowly, one stops."""
    figure, axes = canvas(2.5)
    ends = {}
    for name, (title, line) in SHOWN.items():
        ink = FORMATS[name]
        curve = sums(float_format(name))
        ends[title] = curve[-1]
        axes.plot(curve, color=INK[ink], linestyle=line, linewidth=1.6)
        axes.text(TIMES * 1.02, curve[-1], f"{title}: {curve[-1]:.3f}", color=INK[ink], va="center")
    axes.set_xlim(0, TIMES * 1.3)
    axes.set_xticks([0, 1000, 2000, 3000], ["0", "1,000", "2,000", "3,000"])
    axes.set_xlabel(f"additions of {STEP}")
    axes.set_ylabel("the sum so far")
    axes.grid(color=INK["border"], linewidth=0.6)
    listed = ", ".join(f"{title} {end:.4f}" for title, end in ends.items())
    exact = f"a sum of {TIMES:,} numbers of {STEP}, which is {TIMES * STEP:.1f}"
    return Drawing(figure, f"Three curves of {exact}. They end at {listed}.")
