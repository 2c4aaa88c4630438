"""The numbers that four formats have, on a line."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from engine.numerics import FloatFormat, float_format
from plugins.book.drawing import WIDTH, Drawing
from plugins.shared.svg import INK

COARSE, FINE = ("fp8-e5m2", "fp8-e4m3"), ("bf16", "fp16")
TITLES = {"fp8-e5m2": "E5M2", "fp8-e4m3": "E4M3", "bf16": "BF16", "fp16": "FP16"}
WHOLE, ZOOM = (0.5, 4.0), (1.0, 1.0625)


def numbers(form: FloatFormat, lowest: float, highest: float) -> list[float]:
    """Every number of a format between two of them."""
    found = [form.round(lowest)]
    while found[-1] < highest:
        found.append(form.round(found[-1] + form.ulp(found[-1])))
    return found


def draw() -> Drawing:
    """Two lines of ticks: 8-bit formats from 0.5 to 4, 16-bit formats in a small part of it."""
    figure = Figure(figsize=(WIDTH, 3.0), layout="constrained")
    upper, lower = figure.subplots(2, 1)
    counts = _rows(upper, COARSE, *WHOLE) | _rows(lower, FINE, *ZOOM)
    upper.set_xticks([0.5, 1, 2, 3, 4], ["0.5", "1", "2", "3", "4"])
    upper.set_title("8 bits", loc="left", fontsize=10)
    lower.set_xticks([1, 1.03125, 1.0625], ["1", "1.03125", "1.0625"])
    lower.set_title("16 bits, a sixteenth of the way from 1 to 2", loc="left", fontsize=10)
    listed = ", ".join(f"{TITLES[name]} {count}" for name, count in counts.items())
    return Drawing(
        figure,
        "Ticks on two lines, one tick for each number of a format. Ticks stand twice as far apart after each power of "
        f"two. Numbers per line: {listed}, the first two from {WHOLE[0]} to {WHOLE[1]:.0f}, the others from "
        f"{ZOOM[0]:.0f} to {ZOOM[1]}.",
    )


def _rows(axes: Axes, names: tuple[str, ...], lowest: float, highest: float) -> dict[str, int]:
    counts = {}
    for row, name in enumerate(names):
        ticks = numbers(float_format(name), lowest, highest)
        counts[name] = len(ticks)
        axes.hlines(row, lowest, highest, color=INK["control"], linewidth=1)
        axes.vlines(ticks, row - 0.28, row + 0.28, color=INK["memory"], linewidth=1.4 if len(ticks) < 40 else 1)
    axes.set_yticks(range(len(names)), [TITLES[name] for name in names])
    axes.set_ylim(-0.5, len(names) - 0.4)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    return counts
