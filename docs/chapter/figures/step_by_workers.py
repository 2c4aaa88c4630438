"""The step of a photo pipeline by the number of loader processes, with and without overlap."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import link
from ironlaw.hardware import storage
from ironlaw.training import Samples, stage_times

PHOTOS = Samples(stored_bytes=110_000, loaded_bytes=224 * 224 * 3, cpu_seconds=8e-3)
"""A photo as JPEG, cropped to 224 by 224 bytes in three colors; 8 ms of a core are an assumption."""
BATCH, TRAIN, CORES = 256, 0.100, 32
WORKERS = (1, 2, 4, 8, 16, 32, 64)
WAYS = (
    ("one after the other", False, "data", "o", "--"),
    ("overlapped", True, "compute", "s", "-"),
)
"""Name, whether loading and copying run beside training, color, marker, line."""


def draw() -> Drawing:
    """Milliseconds of a step on a logarithmic axis."""
    figure, axes = canvas(2.7)
    said = []
    for name, beside, ink, marker, line in WAYS:
        steps = []
        for workers in WORKERS:
            stages = stage_times(
                PHOTOS, BATCH, TRAIN, storage("nvme-4"), link("pcie-4-x16"), workers=workers, cores=CORES
            )
            steps.append(1000 * stages.iteration(prefetch=beside, asynchronous_copy=beside).total)
        style = {"color": INK[ink], "marker": marker, "linestyle": line}
        axes.plot(WORKERS, steps, markersize=4.5, linewidth=1.4, label=name, **style)  # type: ignore[arg-type]
        said.append(f"{name} " + ", ".join(f"{step:,.0f}" for step in steps))
    axes.axhline(1000 * TRAIN, color=INK["limit"], linewidth=1.2, linestyle=":")
    axes.text(1, 1000 * TRAIN * 0.86, "training alone", color=INK["limit"], va="top")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(WORKERS, [str(workers) for workers in WORKERS])
    axes.set_yticks([100, 200, 500, 1000, 2000], ["100", "200", "500", "1,000", "2,000"])
    axes.minorticks_off()
    axes.set_ylim(55, 2600)
    axes.set_xlabel(f"workers, on {CORES} cores")
    axes.set_ylabel("ms per step")
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=2, loc="outside upper left", columnspacing=1.2)
    counts = ", ".join(str(workers) for workers in WORKERS)
    return Drawing(
        figure,
        f"Milliseconds of a step at {counts} workers, with {1000 * TRAIN:.0f} for training alone: {'; '.join(said)}. "
        f"Beyond {CORES} workers nothing changes.",
    )
