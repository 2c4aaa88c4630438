"""What the optimizer's step moves through memory for each parameter."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import optimizer, setup
from ironlaw.time.update import update_bytes

NAMES = ("sgd", "momentum", "rmsprop", "adam", "adamw")


def draw() -> Drawing:
    """Bytes per parameter and step: in one kernel, and one operation after the other."""
    rules = [optimizer(name) for name in NAMES]
    setups = [setup("gpt2-xl", precision="fp32", optimizer=rule) for rule in rules]
    once, apart = (
        [update_bytes(one, one.stages[0], fused=fused) / one.model.parameters for one in setups]
        for fused in (True, False)
    )
    figure, axes = canvas(2.9)
    hatched = {"facecolor": INK["surface"], "edgecolor": INK["memory"], "hatch": "//"}
    for place, (one, many) in enumerate(zip(once, apart, strict=True)):
        axes.barh(place - 0.2, one, height=0.36, color=INK["memory"], label="in one kernel" * (place == 0))
        label = "operation by operation" * (place == 0)
        axes.barh(place + 0.2, many, height=0.36, label=label, **hatched)  # type: ignore[arg-type]
        for offset, value in ((-0.2, one), (0.2, many)):
            axes.text(value + 1, place + offset, f"{value:.0f}", va="center")
    axes.set_yticks(range(len(rules)), [rule.title for rule in rules])
    axes.set_xlim(0, 1.1 * max(apart))
    axes.set_xlabel("bytes moved per parameter, in FP32")
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    axes.invert_yaxis()
    figure.legend(frameon=False, ncols=2, loc="outside upper left")
    listed = "; ".join(
        f"{rule.title} {one:.0f} and {many:.0f}" for rule, one, many in zip(rules, once, apart, strict=True)
    )
    return Drawing(
        figure, f"Bytes per parameter that an update moves, in one kernel and operation by operation: {listed}."
    )
