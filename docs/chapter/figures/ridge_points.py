"""The intensity from which on accelerators can keep their arithmetic units busy."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import accelerator
from ironlaw.time import ridge_point

CHIPS = (
    ("V100", "v100-32", "fp16"),
    ("A100 40 GB", "a100-40", "bf16"),
    ("A100 80 GB", "a100-80", "bf16"),
    ("H100 SXM", "h100-sxm", "bf16"),
    ("H200", "h200", "bf16"),
    ("B200", "b200", "bf16"),
    ("TPU v5p", "tpu-v5p", "bf16"),
    ("RTX 4090", "rtx-4090", "bf16"),
)
"""Name, record, and the chip's 16-bit format for training."""


def draw() -> Drawing:
    """Bars of FLOPs per byte, with the peak and the bandwidth that make them."""
    figure, axes = canvas(2.6)
    said = []
    for place, (name, key, form) in enumerate(CHIPS):
        chip = accelerator(key)
        peak, ridge = chip.peak(form) / 1e12, ridge_point(chip.peak(form), chip.bandwidth)
        axes.barh(place, ridge, color=INK["compute"], height=0.6)
        axes.text(ridge + 5, place, f"{ridge:.0f} = {peak:,.0f} / {chip.bandwidth / 1e12:.2f}", va="center")
        said.append(f"{name} {ridge:.0f}")
    axes.set_yticks(range(len(CHIPS)), [name for name, *_ in CHIPS])
    axes.set_xlim(0, 440)
    axes.set_xticks([0, 100, 200, 300])
    axes.set_xlabel("FLOP per byte = TFLOP/s over TB/s, 16 bits")
    axes.invert_yaxis()
    return Drawing(figure, f"Ridge points in FLOP per byte, from 16-bit peak and bandwidth: {', '.join(said)}.")
