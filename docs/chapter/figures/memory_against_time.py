"""Checkpointing GPT-2 XL: what each policy keeps, and how long its step takes."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import GB, step_time, training_memory

MODEL, CHIP, MODE, BATCH = "gpt2-xl", "h100-sxm", "amp-bf16", 8
POLICIES = {
    "none": "none",
    "selective": "selective",
    "every:12": "every 12th",
    "every:4": "every 4th",
    "full": "every block",
}
"""The engine's name of a policy, and the figure's."""
SHIFT = {
    "flash": {"none": (9, -5), "selective": (9, 6), "every:12": (9, 4), "every:4": (-14, 18), "full": (-19, -24)},
    "standard": {"none": (-24, 10), "selective": (9, 0), "every:12": (9, 2), "every:4": (-3, 15), "full": (-12, -34)},
}
LED = {"every:4", "full"}
"""Policies whose points lie so close to others that a line leads from the name to its point."""


def draw() -> Drawing:
    """Points: memory at the peak across, time of a step up; one series for each kind of attention."""
    figure, axes = canvas(3.1)
    said = []
    for attention, title, ink, marker in (
        ("standard", "standard attention", "limit", "s"),
        ("flash", "FlashAttention", "memory", "o"),
    ):
        points = []
        for policy in POLICIES:
            ledger = training_memory(
                MODEL,
                optimizer="adamw",
                precision=MODE,
                batch=BATCH,
                attention=attention,
                checkpointing=policy,
                update="fused",
            )
            step = step_time(
                MODEL, CHIP, BATCH, precision=MODE, checkpointing=policy, attention=attention, update="fused"
            )
            points.append((policy, ledger.device_total / GB, 1000 * step.total))
        axes.scatter([x for _, x, _ in points], [y for *_, y in points], color=INK[ink], marker=marker, label=title)
        for policy, x, y in points:
            offset = SHIFT[attention][policy]
            leader = {"arrowstyle": "-", "color": INK["control"], "linewidth": 0.7} if policy in LED else None
            axes.annotate(POLICIES[policy], (x, y), offset, textcoords="offset points", va="center", arrowprops=leader)
        places = (f"{POLICIES[policy]} {x:.0f} GB and {y:.0f} ms" for policy, x, y in points)
        said.append(f"{title}: {', '.join(places)}")
    axes.set_xlim(21, 125)
    axes.set_ylim(160, 690)
    axes.set_xlabel("GB at the peak")
    axes.set_ylabel("ms per step, predicted")
    axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=2, loc="outside upper left")
    return Drawing(figure, f"Points of memory and predicted step time. {'; '.join(said)}.")
