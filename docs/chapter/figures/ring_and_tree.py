"""How long a ring and a tree take to add up a buffer, by its size."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import link
from ironlaw.parallel import ring_all_reduce, tree_all_reduce

DEVICES = 128
SIZES = tuple(10 ** (4 + step / 4) for step in range(25))
"""Ten kilobytes to ten gigabytes."""


def draw() -> Drawing:
    """Milliseconds over the size of the buffer, both axes logarithmic."""
    network = link("infiniband-ndr")
    ring, tree = (
        [1000 * reduce(size, DEVICES, network.achievable, network.latency) for size in SIZES]
        for reduce in (ring_all_reduce, tree_all_reduce)
    )
    figure, axes = canvas(2.7)
    axes.plot(SIZES, ring, color=INK["memory"], linewidth=1.6)
    axes.plot(SIZES, tree, color=INK["data"], linewidth=1.6, linestyle="--")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([1e4, 1e6, 1e8, 1e10], ["10 kB", "1 MB", "100 MB", "10 GB"])
    axes.set_yticks([1, 10, 100, 1000], ["1 ms", "10 ms", "100 ms", "1 s"])
    axes.minorticks_off()
    axes.set_xlabel("size of the buffer")
    axes.text(1.3e4, ring[0] * 1.4, "ring", color=INK["memory"])
    axes.text(1.3e4, tree[0] * 1.4, "tree", color=INK["data"])
    axes.grid(color=INK["border"], linewidth=0.6)
    return Drawing(
        figure,
        f"Time to add up a buffer over {DEVICES} devices on {network.title}. For 10 kB the ring takes {ring[0]:.1f} ms "
        f"and the tree {tree[0]:.1f} ms. The ring's curve is flat up to about 10 MB, the tree's to about a megabyte; "
        f"then both rise with the size and meet: for 10 GB the ring takes {ring[-1]:.0f} ms and the tree "
        f"{tree[-1]:.0f} ms.",
    )
