"""From the smallest to the largest number of each format."""

import math

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw.numerics import float_format

TITLES = {
    "fp32": "FP32",
    "tf32": "TF32",
    "bf16": "BF16",
    "fp16": "FP16",
    "fp8-e5m2": "FP8 E5M2",
    "fp8-e4m3": "FP8 E4M3",
}


def draw() -> Drawing:
    """Bars on a logarithmic axis: normal numbers filled, subnormal ones hatched."""
    figure, axes = canvas(2.7)
    said = []
    for name, title in TITLES.items():
        form = float_format(name)
        tiny, least, most = (
            math.log10(value) for value in (form.smallest_subnormal, form.smallest_normal, form.maximum)
        )
        style = {"facecolor": INK["surface"], "edgecolor": INK["memory"], "hatch": "////"}
        axes.barh(title, least - tiny, left=tiny, height=0.55, **style)  # type: ignore[arg-type]
        axes.barh(title, most - least, left=least, height=0.55, color=INK["memory"], edgecolor=INK["memory"])
        said.append(f"{title} from {form.smallest_normal:.1e} to {form.maximum:.1e}")
    axes.set_xticks([-40, -20, 0, 20, 40], ["10⁻⁴⁰", "10⁻²⁰", "1", "10²⁰", "10⁴⁰"])
    axes.set_xlim(-47, 43)
    axes.invert_yaxis()
    axes.set_xlabel("magnitude; hatched: subnormal numbers")
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    return Drawing(figure, f"Bars of the normal numbers of six formats on a logarithmic axis: {', '.join(said)}.")
