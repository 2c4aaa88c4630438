"""What a figure draws of measured trainings: the runs of a record, each seed as a thin line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import ScaledTranslation

from explorable.figures.drawing import Drawing, canvas, y_title
from explorable.figures.moving import Control
from explorable.shared.svg import INK
from gpu_bench.record.load import valid
from gpu_bench.record.store import RESULTS

PREDICTORS = {
    "last-update": ("compute", "-", "o"),
    "mean-update": ("memory", "--", "s"),
    "linear-fit": ("limit", "-.", "^"),
    "dynamic-modes": ("optimizer", ":", "D"),
    "recurrent": ("data", "-", "v"),
}
"""The ways to predict a step that are compared: color, line and marker."""


def compared(suite: str, case: str) -> Mapping[str, Any]:
    """The block `arms` of the record of a case; of the first device where several have measured it.

    Raises:
        LookupError: Nothing is measured.
    """
    files = sorted((RESULTS / suite).glob(f"{case}--*.json"))
    if not files:
        raise LookupError(f"no record of {suite}/{case}; measure it with 'python -m gpu_bench run --suite {suite}'")
    ((_, record),) = valid(files[:1])
    block: Mapping[str, Any] = record["arms"]
    return block


def seeds_of(block: Mapping[str, Any]) -> Control:
    """The choice of a seed, to be one of a figure's `CONTROLS`: all of them at first, or one."""
    first = next(iter(block["runs"].values()))
    names = tuple(str(one["seed"]) for one in first["seeds"])
    return Control("seed", "Seed", (None, *range(len(names))), ("all", *names), None, buttons=True)


def losses(
    block: Mapping[str, Any],
    runs: Mapping[str, Sequence[str]],
    height: float,
    seed: int | None,
    *,
    by: str = "step",
    nested: float = 0,
) -> tuple[Figure, Axes]:
    """A canvas of `height` inches with the losses of some runs; `finish` gives it names and a legend.

    Args:
        block: What `compared` gives.
        runs: Run -> color and style of its line, and what the legend calls it.
        height: Of the figure.
        seed: As for `curve`.
        by: As for `curve`.
        nested: How much wider than the next each line is, for runs that may coincide: it shows at the other's sides.
    """
    figure, axes = canvas(height)
    crosses = 0
    for place, (run, (ink, line, words)) in enumerate(runs.items()):
        drawn = len(axes.lines)
        wider = 1 + nested * (len(runs) - 1 - place)
        curve(axes, block, run, ink, line, by=by, seed=seed)
        for one in axes.lines[drawn:]:
            one.set_linewidth(one.get_linewidth() * (wider if seed is not None else 1))
            one.set_markersize(one.get_markersize() + 4 * (wider - 1))
        if seed is None:
            for one in axes.lines[drawn:]:
                one.set_alpha(0.35 if len(one.get_xdata()) > 1 else 1)  # type: ignore[arg-type]
            next(one for one in axes.lines if one.get_label() == run).set_label("_")
            steps, middles = _median(block["runs"][run], by)
            axes.plot(steps, middles, color=INK[ink], linestyle=line, linewidth=1.7 * wider, label=run)
        told = next(one for one in axes.lines if one.get_label() == run)
        told.set_label(words)
        crosses += _cross(axes, ink, told, lifted=crosses)
    return figure, axes


def finish(
    figure: Figure,
    axes: Axes,
    x: str,
    y: str,
    *,
    log: bool = False,
    columns: int = 3,
    grid: bool = True,
    above: bool = False,
) -> None:
    """Give a plot of runs the names of its axes, the upward one `above` it if it is long, its grid and its legend."""
    if log:
        axes.set_yscale("log")
    axes.set_xlabel(x)
    if above:
        y_title(axes, y)
    else:
        axes.set_ylabel(y)
    if grid:
        axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=columns, loc="outside upper left", columnspacing=1.2, handlelength=1.6)


def curve(
    axes: Axes,
    block: Mapping[str, Any],
    run: str,
    ink: str,
    line: str = "-",
    *,
    name: str = "loss",
    by: str = "step",
    seed: int | None = None,
) -> None:
    """Draw a curve of a run for every seed.

    Args:
        axes: Where.
        block: What `compared` gives.
        run: Which run.
        ink: A color of the site.
        line: Style of the line.
        name: Which curve.
        by: Along `step` or `images`.
        seed: The place of the only seed that is drawn; None for all.
    """
    settings = block["runs"][run]["settings"]
    unit = settings["batch"] if by == "images" else 1
    for number, one in enumerate(block["runs"][run]["seeds"]):
        values = one["curves"][name]
        steps = [index * one["every"] * unit for index in range(len(values))]
        shown = [value if value is not None else float("nan") for value in values]
        if seed not in (None, number):
            # This seed is not drawn, but counts for the axes, which are the same for each seed.
            axes.update_datalim([pair for pair in zip(steps, shown, strict=True) if isfinite(pair[1])])
            continue
        label = None if number and seed is None else run
        wide = 0.9 if seed is None else 1.4
        axes.plot(steps, shown, color=INK[ink], linestyle=line, linewidth=wide, label=label)


def _cross(axes: Axes, ink: str, line: Line2D, *, lifted: int) -> bool:
    """Set a cross at a line's last finite point, above `lifted` others; whether it ends there, before its time."""
    points: Any = line.get_xydata()
    finite = [index for index, (_, value) in enumerate(points) if isfinite(value)]
    if not finite or finite[-1] == len(points) - 1:
        return False
    figure = axes.get_figure(root=True)
    assert figure is not None
    up = ScaledTranslation(0, 9 * lifted / 72, figure.dpi_scale_trans)
    look = {"marker": "X", "color": INK[ink], "markersize": 8, "markeredgecolor": INK["bg"], "markeredgewidth": 0.8}
    axes.plot(*points[finite[-1]], transform=axes.transData + up, clip_on=False, zorder=4, **look)  # type: ignore[arg-type]
    return True


def _median(run: Mapping[str, Any], by: str) -> tuple[list[int], list[float]]:
    """The median loss of a run's seeds at every noted step; where half of them have none, there is none."""
    unit = run["settings"]["batch"] if by == "images" else 1
    curves = [one["curves"]["loss"] for one in run["seeds"]]
    columns = [[float("inf") if value is None else value for value in column] for column in zip(*curves, strict=True)]
    middles = [median(column) for column in columns]
    steps = [index * run["seeds"][0]["every"] * unit for index in range(len(columns))]
    return steps, [value if isfinite(value) else float("nan") for value in middles]


def told(block: Mapping[str, Any], runs: Mapping[str, Sequence[str]], *, seed: int | None = None) -> str:
    """In words, what became of runs: their loss on tested digits, and how many seeds failed.

    Args:
        block: What `compared` gives.
        runs: As for `losses`; a run is called what the legend calls it.
        seed: The place of the only seed that is told of; None for all.
    """
    parts = []
    for run, (_, _, words) in runs.items():
        summary, seeds = block["runs"][run]["summary"], block["runs"][run]["seeds"]
        found = summary["test_loss"] if seed is None else seeds[seed]["test"]["loss"]
        loss = "no finite loss" if found is None else f"a loss of {found:.3g}"
        failed = f", {summary['failed']} of {summary['trained']} seeds failed" if seed is None else ""
        parts.append(f"{words} ends with {loss}{failed}")
    who = "" if seed is None else f"with seed {seeds[seed]['seed']} alone, "
    thick = "; the thick lines are medians of the seeds' training" if seed is None else ""
    return f"on test digits {who}{'; '.join(parts)}{thick}"


def likeness(block: Mapping[str, Any], run: str, what: str) -> tuple[list[int], list[float]]:
    """Steps ahead, and over all seeds the mean `cosine` or `error` of the updates predicted so far ahead.

    Distances at which not every seed compared a step are left out.
    """
    found: dict[int, list[tuple[int, float]]] = {}
    seeds = block["runs"][run]["seeds"]
    for seed in seeds:
        for one in seed["told"]["horizons"]:
            if one[what] is not None:
                found.setdefault(one["ahead"], []).append((one["compared"], one[what]))
    kept = {ahead: pairs for ahead, pairs in sorted(found.items()) if len(pairs) == len(seeds)}
    means = [sum(n * value for n, value in pairs) / sum(n for n, _ in pairs) for pairs in kept.values()]
    return list(kept), means


def ahead(what: str, label: str, words: str, *, log: bool = False) -> Drawing:
    """`what` of the predicted updates over the steps ahead, a line for each predictor; the error has a line at 1."""
    block = compared("hybrid", "hybrid-digits")
    figure, axes = canvas(2.7)
    said = []
    for run, (ink, line, marker) in PREDICTORS.items():
        steps, values = likeness(block, run, what)
        style = {"linestyle": line, "marker": marker, "markersize": 4, "linewidth": 1.2}
        axes.plot(steps, values, color=INK[ink], label=run, **style)  # type: ignore[arg-type]
        said.append(f"{run} {values[0]:.2f} one step ahead and {values[-1]:.2f} {steps[-1]} steps ahead")
    if what == "error":
        axes.axhline(1, color=INK["control"], linewidth=0.9, linestyle=":")
    finish(figure, axes, "steps ahead", label, log=log)
    if log:
        low, high = axes.get_ylim()
        halves = [2.0**power for power in range(-6, 7) if low <= 2.0**power <= high]
        axes.set_yticks(halves, [f"{one:g}" for one in halves])
        axes.minorticks_off()
    return Drawing(figure, f"{words}: {'; '.join(said)}.")
