"""How fast storage gives records in random order, by their size."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw.hardware import storage

KINDS = (
    ("NVMe disk", "nvme-4", "memory", "-"),
    ("hard disk", "hdd", "fg", "--"),
    ("object store", "object-store", "data", ":"),
)
"""Name, record, color, line."""
SIZES = [4096 * 2**power for power in range(16)]
EXAMPLES = (4096, 110_000)
"""A sequence as text, a photo."""


def draw() -> Drawing:
    """Lines on logarithmic axes, one reader at a time."""
    figure, axes = canvas(2.7)
    said = []
    for name, key, ink, line in KINDS:
        disk = storage(key)
        rates = [disk.read_rate(size) / 1e6 for size in SIZES]
        axes.plot(SIZES, rates, color=INK[ink], linestyle=line, linewidth=1.6, label=name)
        small, photo = (disk.read_rate(size) / 1e6 for size in EXAMPLES)
        small, photo = (float(f"{rate:.2g}") for rate in (small, photo))
        said.append(f"{name} {small:,g} MB/s, {photo:,g} MB/s and at most {disk.sequential / 1e6:,.0f} MB/s")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks([4096, 2**17, 2**22, 2**27], ["4 KiB", "128 KiB", "4 MiB", "128 MiB"])
    axes.set_yticks([0.1, 10, 1000], ["0.1", "10", "1,000"])
    axes.minorticks_off()
    axes.set_xlabel("size of a record, read in random order")
    axes.set_ylabel("MB/s, one reader")
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=3, loc="outside upper left", columnspacing=1, handlelength=1.8)
    return Drawing(
        figure,
        "Three rising lines that flatten at the sequential rate. One reader gets, for records of 4 KiB, for photos of "
        f"110 kB, and in long reads: {'; '.join(said)}.",
    )
