"""The limits of the missions' devices, each kind to one scale."""

from matplotlib.figure import Figure

from explorable.figures.drawing import WIDTH, Drawing
from explorable.shared.svg import INK
from ironlaw import accelerator, link

DEVICES = {
    "Cloud Titan": ("h100-sxm", "ethernet-100"),
    "Edge Guardian": ("orin", "lte-uplink"),
    "Mobile Nomad": ("glasses", "bluetooth-le-2m"),
    "Tiny Pioneer": ("microcontroller", "bluetooth-le-2m"),
}
"""A device of each mission, and the link over which it exchanges what it learned as part 3 begins."""
PREFIXES = {1e12: "T", 1e9: "G", 1e6: "M", 1e3: "k", 1.0: "", 1e-3: "m"}


def written(value: float, unit: str) -> str:
    """A value with at most three digits and a prefix: `65 GB`, `12.5 GB/s`, `16 mW`."""
    size = next((size for size in PREFIXES if value >= size), min(PREFIXES))
    return f"{float(f'{value / size:.3g}'):g} {PREFIXES[size]}{unit}"


def draw() -> Drawing:
    """A point for each device on a logarithmic axis, three axes; hollow where the record says that it is assumed."""
    chips = {title: accelerator(name) for title, (name, _) in DEVICES.items()}
    links = {title: link(name) for title, (_, name) in DEVICES.items()}
    panels = (
        ("Memory for programs", "B", "memory", {title: float(chip.usable_bytes) for title, chip in chips.items()}),
        ("Power", "W", "power", {title: chip.tdp for title, chip in chips.items()}),
        ("Link to the others", "B/s", "link", {title: one.bandwidth for title, one in links.items()}),
    )
    figure = Figure(figsize=(WIDTH, 4.9), layout="constrained")
    said = []
    for axes, (name, unit, kind, values) in zip(figure.subplots(3, 1), panels, strict=True):
        low = min(values.values()) / 4
        for place, (title, value) in enumerate(values.items()):
            assumed = kind in chips[title].assumed
            ground = INK["surface"] if assumed else INK["memory"]
            axes.plot(
                [low, value], [place, place], color=INK["memory"], linewidth=1.4, linestyle=":" if assumed else "-"
            )
            axes.plot(value, place, "o", markersize=7, markerfacecolor=ground, markeredgecolor=INK["memory"])
            axes.text(value * 1.9, place, f"{written(value, unit)}{', assumed' if assumed else ''}", va="center")
        axes.set_xscale("log")
        axes.set_xlim(low, max(values.values()) * 60)
        axes.set_yticks(range(len(values)), list(values))
        axes.set_ylim(len(values) - 0.5, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.xaxis.set_visible(False)
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        axes.set_title(f"{name}, logarithmic", loc="left")
        listed = (f"{title} {written(value, unit)}" for title, value in values.items())
        said.append(f"{name}: {', '.join(listed)}")
    return Drawing(figure, f"Three logarithmic scales with the missions' devices on each. {'. '.join(said)}.")
