"""Where a layer's operations are, and where its bytes are."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import accelerator, model
from ironlaw.time import step_points

BATCH, SEQUENCE = 8, 1024
GROUPS = {
    "products with weights": ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj"),
    "attention's two products": ("attn.core.scores", "attn.core.output"),
    "scale, mask, softmax": tuple(
        f"attn.core.{name}" for name in ("scale", "mask", "softmax.cast", "softmax", "output.cast")
    ),
    "norms": ("ln_1", "ln_2"),
    "GELU": ("mlp.gelu",),
    "residual sums": ("residual_1", "residual_2"),
}
OTHER = "other casts and copies"


def draw() -> Drawing:
    """Two bars for each kind of operation: its share of the FLOPs, and its share of the traffic."""
    points = step_points(
        model("gpt2-xl"), accelerator("h100-sxm"), BATCH, SEQUENCE, precision="amp-bf16", attention="standard"
    )
    layer = [point for point in points if point.phase == "forward" and point.count == model("gpt2-xl").layers]
    kinds = {name: kind for kind, names in GROUPS.items() for name in names}
    flops, moved = dict.fromkeys([*GROUPS, OTHER], 0.0), dict.fromkeys([*GROUPS, OTHER], 0.0)
    for point in layer:
        kind = kinds.get(point.name, OTHER)
        flops[kind] += point.flops / sum(p.flops for p in layer)
        moved[kind] += point.bytes / sum(p.bytes for p in layer)
    figure, axes = canvas(3.9)
    hatched = {"facecolor": INK["surface"], "edgecolor": INK["memory"], "hatch": "//"}
    for place, kind in enumerate(flops):
        axes.barh(place - 0.2, 100 * flops[kind], height=0.36, color=INK["compute"], label="FLOPs" * (place == 0))
        axes.barh(place + 0.2, 100 * moved[kind], height=0.36, label="bytes" * (place == 0), **hatched)  # type: ignore[arg-type]
        for offset, share in ((-0.2, flops[kind]), (0.2, moved[kind])):
            axes.text(100 * share + 1.5, place + offset, f"{100 * share:.1f}", va="center")
    axes.set_yticks(range(len(flops)), list(flops))
    axes.set_xlim(0, 100)
    axes.set_xlabel("percent of a layer's forward pass")
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    axes.invert_yaxis()
    figure.legend(frameon=False, ncols=2, loc="outside upper left")
    listed = "; ".join(f"{kind} {100 * flops[kind]:.1f} % and {100 * moved[kind]:.1f} %" for kind in flops)
    return Drawing(figure, f"Shares of FLOPs and of bytes in a layer's forward pass: {listed}.")
