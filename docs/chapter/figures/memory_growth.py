"""How memory grows: with the batch, and with the sequence."""

from matplotlib.figure import Figure

from explorable.figures.drawing import WIDTH, Drawing
from explorable.shared.svg import INK
from ironlaw import GB, training_memory

BATCHES = tuple(range(1, 9))
LENGTHS = (1024, 2048, 4096, 6144, 8192)
KINDS = {"standard": ("written out", "limit", "o", "-"), "flash": ("fused", "memory", "s", "--")}


def draw() -> Drawing:
    """Above, a step's peak by batch; below, what one sequence keeps by its length."""
    steps = [training_memory("gpt2-xl", optimizer="adamw", precision="fp32", batch=batch) for batch in BATCHES]
    peaks = [step.allocated_peak / GB for step in steps]
    figure = Figure(figsize=(WIDTH, 4.6), layout="constrained")
    above, below = figure.subplots(2, 1)
    above.plot(BATCHES, peaks, color=INK["memory"], marker="s", markersize=4, linewidth=1.4)
    static = steps[0].static_bytes / GB
    above.axhline(static, color=INK["optimizer"], linestyle=":", linewidth=1.4)
    above.text(BATCHES[-1], static - 2, "weights, gradients, states", color=INK["optimizer"], va="top", ha="right")
    above.set_ylim(0, 1.1 * peaks[-1])
    above.set_xlabel("sequences in the batch, GPT-2 XL")
    above.set_ylabel("GB at the peak")
    kept = {}
    for kind, (title, ink, marker, line) in KINDS.items():
        kept[kind] = [
            training_memory("llama2-7b", precision="mixed", sequence=length, attention=kind).saved_bytes / GB
            for length in LENGTHS
        ]
        below.plot(LENGTHS, kept[kind], color=INK[ink], marker=marker, markersize=4, linestyle=line, linewidth=1.4)
        below.text(LENGTHS[3], kept[kind][3] + 24, f"attention {title}", color=INK[ink], ha="right", va="bottom")
    below.set_xticks(LENGTHS, [f"{length:,}" for length in LENGTHS])
    below.set_ylim(0, 1.1 * kept["standard"][-1])
    below.set_xlabel("tokens in one sequence, Llama 2 7B")
    below.set_ylabel("GB kept")
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color=INK["border"], linewidth=0.6)
    by_batch = ", ".join(f"{batch}: {peak:.0f}" for batch, peak in zip(BATCHES, peaks, strict=True))
    by_length = "; ".join(
        f"{length:,} tokens {one:.0f} and {other:.0f}"
        for length, one, other in zip(LENGTHS, kept["standard"], kept["flash"], strict=True)
    )
    return Drawing(
        figure,
        f"Two plots. Above, GB at the peak by batch: {by_batch}; it is level at first and then rises in a straight "
        f"line; a dotted line marks the {static:.0f} GB of weights, gradients and states. Below, GB kept by one "
        f"sequence with attention written out, a curve that bends up, and fused, a straight line: {by_length}.",
    )
