"""The roofline explorer: the operations of one GPT-2 layer under the two roofs of an accelerator. An instrument."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from explorable import live
from ironlaw import Setup, accelerator, model, setup
from ironlaw.time import attainable, least_seconds, ridge_point, step_points

GPT2_XL = model("gpt2-xl")
GPUS = {"v100-32": "V100", "a100-80": "A100", "h100-sxm": "H100", "b200": "B200", "rtx-4090": "RTX 4090"}
STOPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Batches at which the point that can be dragged may rest."""
SEQUENCES = (64, 256, 1024)
HANDLED = "MLP products"
"""The operation whose point is dragged: its intensity tells most of the batch."""
GROUPS = (
    ("ln_", "Norms"),
    ("attn.c_attn", "Query, key, value"),
    ("attn.core.softmax", "Softmax"),
    ("attn.core.drop", "Softmax"),
    ("attn.core", "Attention"),
    ("attn.c_proj", "Projection"),
    ("residual", "Residual sums"),
    ("mlp.c_", "MLP products"),
    ("mlp.gelu", "GELU"),
)
"""How a kernel's name begins, and what it is called here; the first match counts."""
FRAME = {"left": 0.04, "right": 6000.0, "bottom": 0.05, "top": 120000.0}
"""Ends of both logarithmic axes, in FLOP/byte and TFLOP/s: wide enough for every setting."""
GAP = 0.34
"""Decades of rate that one line of text needs."""


@dataclass(frozen=True)
class Operation:
    """One kind of operation of a layer's forward pass, all its launches together."""

    name: str
    flops: float
    bytes: float
    seconds: float
    ridge: float

    @property
    def intensity(self) -> float:
        """FLOPs per byte moved."""
        return self.flops / self.bytes

    @property
    def rate(self) -> float:
        """TFLOP/s that no implementation can beat."""
        return self.flops / self.seconds / 1e12

    @property
    def bound(self) -> str:
        """Which roof it meets."""
        return "compute" if self.intensity >= self.ridge else "memory"


@dataclass(frozen=True)
class Setting:
    """What a state's controls say."""

    gpu: str
    batch: int
    sequence: int
    attention: str
    fused: bool

    @property
    def training(self) -> Setup:
        """The same for the engine."""
        return setup(
            GPT2_XL,
            self.gpu,
            self.batch,
            self.sequence,
            precision=form(self.gpu),
            attention=self.attention,
            execution="compiled" if self.fused else "eager",
        )


def setting_of(state: live.State) -> Setting:
    """Where the controls stand."""
    at = state.controls
    return Setting(str(at["gpu"]), int(at["batch"]), int(at["sequence"]), str(at["attention"]), bool(at["fused"]))


@dataclass(frozen=True)
class Launch:
    """A kernel that is linear in the batch: FLOPs and bytes for the first sequence, and for each further one."""

    name: str
    flops: tuple[float, float]
    bytes: tuple[float, float]
    ridge: float

    def at(self, batch: int) -> tuple[float, float]:
        """FLOPs and bytes at a batch."""
        return self.flops[0] + self.flops[1] * (batch - 1), self.bytes[0] + self.bytes[1] * (batch - 1)


@cache
def launches(setting: Setting) -> tuple[Launch, ...]:
    """The layer's kernels, from the engine's account of the smallest and the largest batch.

    Every kernel is linear in the batch: weights are read once, and everything else is proportional to it. So the engine
    is asked about two batches only, and dragging is fast; a test compares the batches between.
    """
    one, most = (
        [point for point in step_points(at.training) if point.phase == "forward" and point.count == GPT2_XL.layers]
        for at in (replace(setting, batch=STOPS[0]), replace(setting, batch=STOPS[-1]))
    )
    more = STOPS[-1] - STOPS[0]
    return tuple(
        Launch(
            name_of(small.name),
            (small.flops, (large.flops - small.flops) / more),
            (small.bytes, (large.bytes - small.bytes) / more),
            small.ridge,
        )
        for small, large in zip(one, most, strict=True)
    )


def operations(setting: Setting) -> tuple[Operation, ...]:
    """The layer's operations, each at its least time on the chip."""
    bandwidth = accelerator(setting.gpu).bandwidth
    found: dict[str, list[tuple[float, float, float]]] = {}
    for launch in launches(replace(setting, batch=STOPS[0])):
        found.setdefault(launch.name, []).append((*launch.at(setting.batch), launch.ridge))
    return tuple(
        Operation(
            name,
            sum(flops for flops, _, _ in group),
            sum(moved for _, moved, _ in group),
            sum(least_seconds(flops, moved, ridge * bandwidth, bandwidth) for flops, moved, ridge in group),
            max(ridge for _, _, ridge in group),
        )
        for name, group in found.items()
    )


def form(gpu: str) -> str:
    """The 16-bit format of a chip: a V100 has no BF16."""
    return "fp16" if gpu.startswith("v100") else "bf16"


def name_of(kernel: str) -> str:
    """What a kernel, or a chain of them, is called here. A chain is named after what it writes last."""
    last = kernel.rpartition("+")[2]
    return next(name for start, name in GROUPS if last.startswith(start))


def compute(state: live.State) -> live.View:
    """What the instrument shows."""
    setting = setting_of(state)
    asked = setting.training
    chip = asked.chip
    peak = chip.peak(asked.precision.product_format)
    ridge = ridge_point(peak, chip.bandwidth)
    found = operations(setting)
    total = sum(one.seconds for one in found)
    waiting = sum(one.seconds for one in found if one.bound == "memory") / total
    roof = [(x, attainable(x, peak, chip.bandwidth) / 1e12) for x in (FRAME["left"], ridge, FRAME["right"])]
    return live.View(
        data={
            "roof": tuple({"x": x, "y": max(y, FRAME["bottom"])} for x, y in roof),
            "points": tuple(
                {
                    "x": one.intensity,
                    "y": one.rate,
                    "bound": one.bound,
                    "share": one.seconds / total,
                    "operation": one.name,
                    "text": f"{one.name}: {one.intensity:.1f} FLOP/B, {100 * one.seconds / total:.0f} % of the time",
                }
                # The smaller of two circles at one place lies on the larger.
                for one in sorted(found, key=lambda one: -one.seconds)
            ),
            "labels": tuple(labels(found, peak / 1e12)),
            "path": tuple({"x": x, "y": y, "batch": batch} for batch, x, y in path(replace(setting, batch=1))),
            "handled": tuple(
                {"x": one.intensity, "y": one.rate, "share": one.seconds / total}
                for one in found
                if one.name == HANDLED
            ),
            "ridge": ({"text": f"{peak / 1e12:,.0f} TFLOP/s, {chip.bandwidth / 1e12:.2f} TB/s: ridge at {ridge:.0f}"},),
        },
        headline=live.Figure("Least time spent under the memory roof", f"{100 * waiting:.0f}", "%"),
        summary=f"One layer of GPT-2 XL on {chip.title}, batch {asked.batch} with {asked.sequence} tokens: "
        + ", ".join(f"{one.name} {one.intensity:.1f} FLOP per byte, {one.bound}-bound" for one in found)
        + f". The ridge lies at {ridge:.0f}.",
        tables={} if state.moving else {"roofline": table(found, total)},
    )


@cache
def path(setting: Setting) -> tuple[tuple[int, float, float], ...]:
    """Where the point that can be dragged stands at each batch: batch, intensity, rate."""
    stops = []
    for batch in STOPS:
        one = next(one for one in operations(replace(setting, batch=batch)) if one.name == HANDLED)
        stops.append((batch, one.intensity, one.rate))
    return tuple(stops)


def labels(found: tuple[Operation, ...], peak: float) -> Iterator[live.Row]:
    """A name for every point: right of the slope, and above the flat roof; pushed away where two would overlap."""
    # Close to the ridge a name would stand in the circles on the flat roof.
    edge = math.log10(peak) - 1.4 * GAP
    for one in sorted((one for one in found if one.bound == "memory"), key=lambda one: (-one.rate, -one.intensity)):
        at = min(math.log10(one.rate), edge)
        edge = at - GAP
        yield label(one, at)
    edge = -math.inf
    for one in sorted((one for one in found if one.bound == "compute"), key=lambda one: one.intensity):
        at = max(math.log10(one.rate) + 1.4 * GAP, edge)
        edge = at + GAP
        yield label(one, at)


def label(one: Operation, at: float) -> live.Row:
    """A point and its name, which stands at the rate 10^at."""
    place = {"x": one.intensity, "y": one.rate, "at": 10**at}
    return {**place, "bound": one.bound, "operation": one.name, "text": one.name}


def table(found: tuple[Operation, ...], total: float) -> live.Table:
    """The points' numbers."""
    rows = [
        {
            "a": one.name,
            "b": f"{one.flops / 1e9:,.2f}",
            "c": f"{one.bytes / 1e6:,.1f}",
            "d": f"{one.intensity:,.1f}",
            "e": one.bound,
            "f": f"{one.seconds * 1e6:,.1f}",
            "g": f"{100 * one.seconds / total:.1f}",
        }
        for one in found
    ]
    whole = {"a": "Layer", "b": f"{sum(one.flops for one in found) / 1e9:,.2f}", "d": "–", "e": "–", "g": "100.0"}
    whole |= {"c": f"{sum(one.bytes for one in found) / 1e6:,.1f}", "f": f"{total * 1e6:,.1f}"}
    return live.Table(
        "Forward pass of one layer of GPT-2 XL: the least time that arithmetic and memory allow",
        (
            live.Column("a", "Operation"),
            live.Column("b", "Work", "GFLOP", numeric=True),
            live.Column("c", "Traffic", "MB", numeric=True),
            live.Column("d", "Intensity", "FLOP/B", numeric=True),
            live.Column("e", "Bound by"),
            live.Column("f", "Least time", "µs", numeric=True),
            live.Column("g", "Share", "%", numeric=True),
        ),
        [*rows, whole],
    )


ACT = live.Act(
    name="roofline-explorer",
    title="Roofline explorer",
    minutes=5,
    situation="Drag the ringed point over the orange stops, up to 64 sequences: which operations change roofs?",
    contexts=(live.Context("layer", "One layer", "Forward pass of one layer of GPT-2 XL in 16 bits."),),
    question=None,
    controls=(
        live.Choice("gpu", "Accelerator", tuple(live.ControlOption(*one) for one in GPUS.items()), "a100-80"),
        live.Slider("batch", "Batch size", 1, 64, 4, scale="log", integer=True),
        live.Choice(
            "sequence", "Sequence", tuple(live.ControlOption(size, f"{size:,}") for size in SEQUENCES), 64, "Tokens."
        ),
        live.Choice(
            "attention",
            "Attention",
            (live.ControlOption("standard", "Written out"), live.ControlOption("flash", "Fused")),
            "flash",
            "Fused attention never writes the scores to memory.",
        ),
        live.Toggle("fused", "Fuse chains of small operations", False, help="What a compiler does with what is left."),
    ),
    compute=compute,
    reveal=None,
    charts={
        "roofline": "One layer under the roofline: a circle is as large as its share of the time, "
        "orange dots are the ringed one's other batches"
    },
    hands=(
        live.Handle("roofline", "handled", "batch", along="path", value="batch"),
        live.Segments("roofline", "points", "operation", "text"),
    ),
)
