"""What one head of attention moves to and from memory, by the length of the sequence."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import GB, accelerator
from ironlaw.time.attention import flash2_elements, standard_elements

HEAD, BYTES = 64, 2
LENGTHS = tuple(2**power for power in range(8, 15))


def curves_by_name() -> dict[str, list[float]]:
    """Bytes for each length: at most, and at least for any kind of attention that reads and writes its tensors."""
    return {
        "standard": [BYTES * standard_elements(length, HEAD) for length in LENGTHS],
        "FlashAttention-2": [BYTES * flash2_elements(length, HEAD) for length in LENGTHS],
        "each tensor once": [BYTES * 4.0 * length * HEAD for length in LENGTHS],
    }


def draw() -> Drawing:
    """Three curves on logarithmic axes."""
    curves = curves_by_name()
    styles = {"standard": ("limit", "-"), "FlashAttention-2": ("memory", "--"), "each tensor once": ("control", ":")}
    figure, axes = canvas(2.7)
    for name, moved in curves.items():
        ink, line = styles[name]
        axes.plot(LENGTHS, [value / 1e6 for value in moved], color=INK[ink], linestyle=line, marker="o", markersize=3.5)
        axes.text(LENGTHS[-1] * 1.15, moved[-1] / 1e6, name, color=INK["fg"], va="center")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(LENGTHS[0] * 0.8, LENGTHS[-1] * 14)
    axes.set_xticks([256, 1024, 4096, 16384], ["256", "1,024", "4,096", "16,384"])
    axes.set_yticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1,000"])
    axes.minorticks_off()
    axes.set_xlabel("tokens in the sequence")
    axes.set_ylabel("MB, one head, forward")
    axes.grid(color=INK["border"], linewidth=0.6)
    middle = LENGTHS.index(4096)
    values = ", ".join(f"{name} {moved[middle] / 1e6:,.1f} MB" for name, moved in curves.items())
    seconds = curves["standard"][middle] / accelerator("a100-80").bandwidth * 1e6
    return Drawing(
        figure,
        f"Bytes that one head moves, on logarithmic axes. At {LENGTHS[middle]:,} tokens: {values}; the first takes "
        f"{seconds:.0f} microseconds at the bandwidth of an A100. The first two curves grow with the square of the "
        f"length, and end at {curves['standard'][-1] / GB:.1f} and {curves['FlashAttention-2'][-1] / GB:.1f} GB.",
    )
