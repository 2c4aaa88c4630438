"""The same training run on the electricity of four published runs."""

from explorable.figures.drawing import Drawing, canvas
from explorable.shared.svg import INK
from ironlaw import accelerator
from ironlaw.economics import NODE_OVERHEAD, carbon, energy

DEVICE_HOURS, PUE = 1_720_320, 1.1
"""Llama 2 70B on A100s, as published (arXiv 2307.09288, table 2), and the PUE that LLaMA's authors assume."""
GRIDS = (("BLOOM, France", 0.057), ("OPT", 0.231), ("Gopher", 0.330), ("GPT-3", 0.429))
"""Whose electricity, and kilograms of CO2 equivalent per kWh. Source: Luccioni, Viguier, Ligozat 2023."""


def draw() -> Drawing:
    """Bars of tonnes."""
    used = energy(DEVICE_HOURS, accelerator("a100-80").tdp, node_overhead=NODE_OVERHEAD, pue=PUE)
    tonnes = {name: carbon(used, intensity) for name, intensity in GRIDS}
    figure, axes = canvas(2.0)
    axes.barh([f"power of {name}" for name in tonnes], list(tonnes.values()), color=INK["memory"], height=0.6)
    for place, value in enumerate(tonnes.values()):
        axes.text(value + 8, place, f"{value:,.0f} t", va="center")
    axes.set_xlim(0, 1.18 * max(tonnes.values()))
    axes.set_xlabel("tonnes of CO₂ equivalent")
    axes.invert_yaxis()
    axes.grid(axis="x", color=INK["border"], linewidth=0.6)
    listed = ", ".join(f"of {name} {value:,.0f} tonnes" for name, value in tonnes.items())
    return Drawing(figure, f"One run of {used / 1e6:.2f} GWh causes, on the electricity {listed} of CO2 equivalent.")
