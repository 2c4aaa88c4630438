"""Four activation functions and their slopes."""

from typing import Any

from matplotlib.figure import Figure

from explorable.figures.drawing import WIDTH, Drawing
from explorable.shared.svg import INK
from ironlaw.training import activation_function

POINTS = sorted([*(step / 20 for step in range(-80, 81)), -1e-9, 1e-9])
"""Two of them hold zero between them, so that a step there is upright."""
STYLES = {"relu": ("memory", "-"), "gelu": ("compute", "--"), "tanh": ("data", "-."), "sigmoid": ("optimizer", ":")}


def draw() -> Drawing:
    """Values above, slopes below."""
    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    for name, (ink, line) in STYLES.items():
        function = activation_function(name)
        style: dict[str, Any] = {"color": INK[ink], "linestyle": line, "linewidth": 1.6}
        above.plot(POINTS, [function.value(x) for x in POINTS], label=function.title, **style)
        below.plot(POINTS, [function.slope(x) for x in POINTS], **style)
    above.set_ylim(-1.2, 2.2)
    above.set_ylabel("value")
    below.set_ylabel("slope")
    below.set_xlabel("input")
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color=INK["border"], linewidth=0.6)
    figure.legend(frameon=False, ncols=4, loc="outside upper left", handlelength=1.6, columnspacing=1.0)
    largest = {name: max(activation_function(name).slope(x) for x in POINTS) for name in STYLES}
    far = {name: activation_function(name).slope(-4.0) for name in STYLES}
    listed = "; ".join(
        f"{activation_function(name).title} at most {largest[name]:.2f}, and {far[name]:.3f} at -4" for name in STYLES
    )
    return Drawing(
        figure,
        "Values and slopes between -4 and 4. ReLU and GELU are near zero left of zero and near the input right of it; "
        f"tanh and sigmoid level off on both sides. Slopes: {listed}.",
    )
