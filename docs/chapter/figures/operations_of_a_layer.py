"""Where the multiplications of a GPT-2 XL layer are."""

from explorable.figures.drawing import Drawing, canvas
from explorable.figures.sketch import percent
from explorable.shared.svg import INK
from ironlaw import model, precision
from ironlaw.graph import sections

NAMES = {
    "attn.c_attn": "queries, keys, values",
    "attn.core": "scores and averages",
    "attn.c_proj": "attention output",
    "mlp.c_fc": "MLP, wider",
    "mlp.c_proj": "MLP, narrower",
}
SEQUENCE = 1024


def draw() -> Drawing:
    """Shares of a layer's forward FLOPs for one sequence."""
    block = next(part for part in sections(model("gpt2-xl"), precision("amp-bf16")) if part.name == "block")
    flops = {
        NAMES[op.name]: sum(
            2 * p.count(1, SEQUENCE) * p.m(1, SEQUENCE) * p.n(1, SEQUENCE) * p.k(1, SEQUENCE) for p in op.matmuls
        )
        for op in block.ops
        if op.matmuls
    }
    total = sum(flops.values())
    figure, axes = canvas(2.2)
    axes.barh(list(flops), [value / 1e9 for value in flops.values()], color=INK["compute"], height=0.6)
    for place, value in enumerate(flops.values()):
        axes.text(value / 1e9 + 0.6, place, percent(value / total), va="center")
    axes.set_xlim(0, 1.2e-9 * max(flops.values()))
    axes.set_xlabel(f"GFLOP, one layer, forward, {SEQUENCE:,} tokens")
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    axes.invert_yaxis()
    listed = ", ".join(f"{name} {percent(value / total)}" for name, value in flops.items())
    return Drawing(figure, f"Shares of a layer's {total / 1e9:.0f} GFLOP: {listed}.")
