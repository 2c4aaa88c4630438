"""Loss against processor time: plain training, fewer steps at twice the rate, and a run that predicts most steps."""

from book.runs import compared, finish
from explorable.figures.drawing import Drawing, canvas
from explorable.figures.moving import Control
from explorable.shared.svg import INK

RUNS = {
    "plain": ("plain training", "muted", ":"),
    "fewer-steps-2x-rate": ("fewer steps, double rate", "memory", "--"),
    "last-update-watched": ("last update, watched", "compute", "-"),
}
BLOCK = compared("hybrid", "hybrid-digits")
SEEDS = [one["seed"] for one in BLOCK["runs"]["plain"]["seeds"]]
TRAININGS = [one for run in RUNS for one in BLOCK["runs"][run]["seeds"]]
LONGEST = max(one["seconds"] for one in TRAININGS)
LOSSES = [point["loss"] for one in TRAININGS for point in one["curve"] if point["loss"]]
CONTROLS = (Control("seed", "Seed", tuple(range(len(SEEDS))), tuple(map(str, SEEDS)), 0, buttons=True),)


def draw(seed: int) -> Drawing:
    """One seed. Dots on the line of the run that predicts are points at which a step was predicted."""
    figure, axes = canvas(2.7)
    ends = []
    for run, (name, ink, line) in RUNS.items():
        points = [point for point in BLOCK["runs"][run]["seeds"][seed]["curve"] if point["loss"] is not None]
        times, losses = [point["seconds"] for point in points], [point["loss"] for point in points]
        axes.plot(times, losses, color=INK[ink], linestyle=line, linewidth=1.3, label=name)
        predicted = [(point["seconds"], point["loss"]) for point in points if point["phase"] == "predict"]
        if predicted:
            style = {"color": INK["limit"], "s": 14, "zorder": 3, "label": "predicted step"}
            axes.scatter(*zip(*predicted, strict=True), **style)  # type: ignore[arg-type]
        ends.append(f"{name} ends after {times[-1]:.1f} s at {losses[-1]:.2g}")
    finish(figure, axes, "processor time, s", "loss of the batch", log=True, columns=2)
    axes.set_ylim(min(LOSSES) / 1.2, max(LOSSES) * 1.2)
    axes.set_xlim(0, LONGEST)
    return Drawing(figure, f"Loss on a logarithmic axis over processor time, seed {SEEDS[seed]}: {'; '.join(ends)}.")
