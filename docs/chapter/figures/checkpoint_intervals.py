"""Time lost to failures and to saving, by the interval between two checkpoints."""

from explorable.figures.drawing import Drawing, canvas
from explorable.figures.sketch import percent
from explorable.shared.svg import INK
from ironlaw.economics import checkpoint_interval, failure_overhead

BETWEEN_FAILURES = 54 * 86400 / 419
"""Seconds: 419 unexpected interruptions in 54 days on 16,384 GPUs (Llama 3, arXiv 2407.21783, section 3.3.4)."""
RESTART = 300.0
"""Seconds until a stopped job runs again; assumed."""
SAVES = ((10.0, "compute", "-"), (40.0, "memory", "--"), (300.0, "data", ":"))
"""Seconds of a save, ink, line."""


def draw() -> Drawing:
    """Three curves with their lowest points."""
    minutes = [1.5 * 1.12**step for step in range(40)]
    figure, axes = canvas(2.9)
    said = []
    for save, ink, line in SAVES:
        lost = [100 * failure_overhead(60 * at, save, BETWEEN_FAILURES, RESTART) for at in minutes]
        axes.plot(minutes, lost, color=INK[ink], linestyle=line, linewidth=1.6)
        best = checkpoint_interval(save, BETWEEN_FAILURES) / 60
        least = 100 * failure_overhead(60 * best, save, BETWEEN_FAILURES, RESTART)
        axes.plot([best], [least], color=INK[ink], marker="o", markersize=6)
        # Only between the lowest curve and the one above it is too little room.
        away, side = (2.2, "bottom") if save == SAVES[1][0] else (-2.2, "top")
        axes.text(best, least + away, f"save {save:.0f} s", color=INK[ink], ha="center", va=side)
        said.append(f"when a save takes {save:.0f} s the least is {percent(least / 100)} at {best:.0f} minutes")
    axes.set_xscale("log")
    axes.set_xticks([2, 5, 10, 20, 50, 100], ["2", "5", "10", "20", "50", "100"])
    axes.minorticks_off()
    axes.set_xlim(1.5, 120)
    axes.set_ylim(0, 50)
    axes.set_xlabel("minutes of work between two checkpoints")
    axes.set_ylabel("time added, %")
    axes.grid(color=INK["border"], linewidth=0.6)
    return Drawing(
        figure,
        "Three curves that fall and rise again, the time added to a run by saving and by failures every "
        f"{BETWEEN_FAILURES / 3600:.1f} hours: {'; '.join(said)}.",
    )
