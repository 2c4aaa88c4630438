"""What three techniques save when each is the first to be applied, and when it is the last."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import GB, training_memory

BEFORE = {"precision": "fp32", "attention": "standard", "checkpointing": "none"}
AFTER = {"precision": "mixed", "attention": "flash", "checkpointing": "full"}
NAMES = {"precision": "mixed precision", "attention": "fused attention", "checkpointing": "checkpointing"}


def needed(choices: dict[str, str]) -> float:
    """GB that a device must have for GPT-2 XL with 32 sequences."""
    ledger = training_memory(
        "gpt2-xl",
        optimizer="adamw",
        batch=32,
        update="fused",
        precision=choices["precision"],
        attention=choices["attention"],
        checkpointing=choices["checkpointing"],
    )
    return ledger.device_total / GB


def draw() -> Drawing:
    """Two bars for each technique."""
    figure, axes = canvas(2.5)
    start, end = needed(BEFORE), needed(AFTER)
    said, total = [], 0.0
    for place, (knob, name) in enumerate(NAMES.items()):
        first = start - needed(BEFORE | {knob: AFTER[knob]})
        last = needed(AFTER | {knob: BEFORE[knob]}) - end
        total += first
        style = {"facecolor": INK["surface"], "edgecolor": INK["memory"], "hatch": "////"}
        axes.barh(place - 0.19, first, height=0.34, color=INK["memory"], label="" if place else "as the first")
        axes.barh(place + 0.19, last, height=0.34, label="" if place else "as the last", **style)  # type: ignore[arg-type]
        for shift, value in ((-0.19, first), (0.19, last)):
            axes.text(value + 5, place + shift, f"{value:.0f}", va="center")
        said.append(f"{name} {first:.0f} GB as the first and {last:.0f} GB as the last")
    axes.set_yticks(range(len(NAMES)), list(NAMES.values()))
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlim(0, 370)
    axes.set_xlabel("GB saved")
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=2, loc="outside upper left")
    return Drawing(
        figure,
        f"Two bars for each technique: {'; '.join(said)}. The first bars add up to {total:.0f} GB, more than the "
        f"{start:.0f} GB that there are; all three together save {start - end:.0f} GB.",
    )
