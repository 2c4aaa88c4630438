"""Dense peak rates of four generations of accelerators, by number format."""

from typing import Any

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import accelerator

CHIPS = {"v100-32": "V100", "a100-80": "A100", "h100-sxm": "H100", "b200": "B200"}
FORMATS = {
    "fp32": ("FP32", INK["surface"], "o"),
    "tf32": ("TF32", INK["surface"], "s"),
    "fp16": ("FP16, BF16", INK["compute"], "o"),
    "fp8": ("FP8", INK["surface"], "D"),
}


def written(rate: float) -> str:
    """A rate with three digits."""
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.1f}"


def draw() -> Drawing:
    """A group of marks for each chip, on a logarithmic axis."""
    figure, axes = canvas(3.7)
    place, said = 0.0, []
    middles: list[float] = []
    bars: dict[str, Any] = {}
    for chip, title in CHIPS.items():
        if middles:
            axes.axhline(place - 0.85, color=INK["border"], linewidth=0.8)
        rates = {peak.dtype: peak.flops_per_second / 1e12 for peak in accelerator(chip).peaks}
        have = [name for name in FORMATS if name in rates]
        middles.append(place + (len(have) - 1) / 2)
        for name in have:
            label, ground, marker = FORMATS[name]
            style: dict[str, Any] = {"markerfacecolor": ground, "markeredgecolor": INK["compute"], "linestyle": "none"}
            bars[label] = axes.plot(rates[name], place, marker=marker, markersize=7, **style)[0]
            axes.text(rates[name] * 1.25, place, written(rates[name]), va="center")
            place += 1
        place += 0.7
        listed = ", ".join(
            f"{'FP16' if name == 'fp16' and 'bf16' not in rates else FORMATS[name][0]} {written(rates[name])}"
            for name in have
        )
        said.append(f"{title}: {listed}")
    axes.set_xscale("log")
    axes.set_xlim(8, 14_000)
    axes.set_xticks([10, 100, 1000, 10_000], ["10", "100", "1,000", "10,000"])
    axes.minorticks_off()
    axes.set_yticks(middles, list(CHIPS.values()))
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlabel("TFLOP/s, dense")
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    order = [label for label, *_ in FORMATS.values()]
    handles = [bars[label] for label in order]
    figure.legend(handles, order, frameon=False, ncols=4, loc="outside upper center", columnspacing=1.0)
    return Drawing(figure, f"Peak rates in TFLOP/s. {'; '.join(said)}.")
