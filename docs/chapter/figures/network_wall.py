"""Efficiency of data parallelism by the tokens that a device computes between two exchanges of gradients."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import job_time, link

DEVICES, SEQUENCE, LARGEST = 64, 1024, 8
"""GPUs, tokens in a sequence, and sequences that fit one GPU at a time; beyond, they are accumulated."""
SEQUENCES = (1, 2, 4, 8, 16, 32, 64)
NETWORKS = (
    ("infiniband-ndr", "compute", "-", "o", 5600, 105),
    ("ethernet-100", "memory", "--", "s", 9300, 61),
    ("ethernet-10", "data", ":", "^", 19000, 12),
)
"""Name, ink, line, marker, and where its label begins: tokens and percent."""


def draw() -> Drawing:
    """Three curves of efficiency, one for each network."""
    figure, axes = canvas(2.9)
    said = []
    for name, ink, line, marker, x, y in NETWORKS:
        shares = []
        for count in SEQUENCES:
            batch = min(count, LARGEST)
            step = job_time(
                "gpt2-xl",
                "h100-sxm",
                batch,
                SEQUENCE,
                execution="compiled",
                dp=DEVICES,
                micro_batches=count // batch,
                network=name,
            )
            shares.append(100 * step.scaling_efficiency)
        tokens = [SEQUENCE * count for count in SEQUENCES]
        label = link(name).title
        axes.plot(tokens, shares, color=INK[ink], linestyle=line, marker=marker, markersize=4)
        axes.text(x, y, label, color=INK[ink], va="center")
        said.append(f"over {label} {shares[0]:.0f} % at {tokens[0]:,} tokens, {shares[-1]:.0f} % at {tokens[-1]:,}")
    axes.set_xscale("log", base=2)
    axes.set_xticks([1024, 4096, 16384, 65536], ["1,024", "4,096", "16,384", "65,536"])
    axes.minorticks_off()
    axes.set_ylim(0, 112)
    axes.set_xlabel("tokens per GPU between two exchanges")
    axes.set_ylabel("efficiency, %")
    axes.grid(color=INK["border"], linewidth=0.6)
    return Drawing(
        figure,
        f"Three rising curves, the efficiency of {DEVICES} GPUs by the tokens between two exchanges: "
        f"{'; '.join(said)}.",
    )
