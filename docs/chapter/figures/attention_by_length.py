"""How much of a layer attention's quadratic part is, by the length of the sequence."""

from dataclasses import replace

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import accelerator, model
from ironlaw.time import step_points

LENGTHS = tuple(2**power for power in range(8, 15))
TOKENS = 16384


def draw() -> Drawing:
    """Two curves over the sequence: the share of FLOPs, and the share of bytes when the scores are written out."""
    # GPT-2's positions end at 1,024 tokens; here they go on.
    network, chip = replace(model("gpt2-xl"), max_seq=LENGTHS[-1]), accelerator("h100-sxm")
    flops, moved = [], []
    for length in LENGTHS:
        points = step_points(network, chip, TOKENS // length, length, precision="amp-bf16", attention="standard")
        layer = [point for point in points if point.phase == "forward" and point.count == network.layers]
        # Queries, keys and values are copied, which is linear; everything else of the core works on the scores.
        copies = [f"attn.core{part}" for part in ("", ".q", ".k", ".v")]
        core = [p for p in layer if p.name.startswith("attn.core") and p.name not in copies]
        flops.append(100 * sum(p.flops for p in core) / sum(p.flops for p in layer))
        moved.append(100 * sum(p.bytes for p in core) / sum(p.bytes for p in layer))
    figure, axes = canvas(2.6)
    axes.plot(LENGTHS, flops, color=INK["compute"], marker="o", markersize=4, linewidth=1.4)
    axes.plot(LENGTHS, moved, color=INK["memory"], marker="s", markersize=4, linewidth=1.4, linestyle="--")
    axes.text(LENGTHS[3], flops[3] - 4, "of the FLOPs", color=INK["compute"], va="top", ha="left")
    axes.text(LENGTHS[2], moved[2] + 3, "of the bytes", color=INK["memory"], va="bottom", ha="right")
    axes.set_xscale("log", base=2)
    axes.set_xticks(LENGTHS, [f"{length:,}" for length in LENGTHS])
    axes.minorticks_off()
    axes.set_ylim(0, 105)
    axes.set_xlabel("tokens in a sequence")
    axes.set_ylabel("percent of a layer")
    axes.grid(color=INK["border"], linewidth=0.6)
    listed = "; ".join(
        f"{length:,} tokens {one:.0f} % and {other:.0f} %"
        for length, one, other in zip(LENGTHS, flops, moved, strict=True)
    )
    return Drawing(
        figure,
        f"Two rising curves, the share of the scores in a layer's FLOPs and in its bytes: {listed}.",
    )
