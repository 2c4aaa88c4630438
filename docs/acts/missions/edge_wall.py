"""Edge Guardian, part 3: a fleet learns together, over the cars' uplink. The facts."""

from __future__ import annotations

from explorable import live
from ironlaw import link
from ironlaw.training.noisy_quadratic import Outlier

from .edge import LEARNER, NET, ORIN, WORK
from .facts import Guess, Lever, Plan, Setting, Wall
from .wall_levers import CHECKPOINTING, CLIP, RATE, SCALING, guard
from .wall_small import Exchange, Update, small_plan

UPLINK = link("lte-uplink")


def plan(setting: Setting) -> Plan:
    """Each car sends its gradients to the fleet's server."""
    size = 4 if setting["payload"] == "fp32" else 2
    half = setting["precision"] == "fp16"
    return small_plan(
        LEARNER,
        WORK,
        Exchange(size * NET.parameters, UPLINK.achievable, UPLINK.latency),
        guard(setting, half=half),
        Update(
            scope="all",
            precision="mixed" if half else "fp32",
            batch=int(setting["batch"]),
            accumulate=int(setting["accumulate"]),
            devices=int(setting["devices"]),
            checkpointing=bool(setting["checkpointing"]),
        ),
    )


WALL = Wall(
    situation="A fleet learns over LTE. At 3 AM a headlight in one camera made its loss NaN.",
    message='"40 % MFU, the uplink under a quarter, no NaN for the certifier."',
    levers=(
        Lever("devices", "Cars", {4: "4", 16: "16", 64: "64"}, 16),
        Lever("batch", "Micro-batch", {8: "8", 16: "16", 32: "32", 64: "64", 256: "256"}, 64),
        Lever("accumulate", "Micro-batches for an update", {4: "4", 16: "16", 32: "32", 128: "128", 512: "512"}, 128),
        Lever("precision", "Precision", {"fp32": "FP32", "fp16": "FP16"}, "fp16", "FP16 keeps an FP32 master copy."),
        Lever("payload", "Gradients are sent in", {"fp32": "FP32", "fp16": "FP16"}, "fp32"),
        CHECKPOINTING,
        SCALING,
        CLIP,
        RATE,
    ),
    ask=Guess(
        "All cars change to FP32. What becomes of their MFU, still against the 16-bit peak?",
        {"precision": "fp32"},
        lambda plan: plan.mfu,
        (
            live.Option(1.0, "It stays about the same.", "MFU counts operations against the peak of 16-bit ones."),
            live.Option(0.5, "It falls to about a half.", "Numbers are twice as large. Arithmetic is the limit here."),
            live.Option(
                1 / 7,
                "It falls to about a seventh.",
                f"Orin's tensor cores do {ORIN.peak('fp16') / ORIN.peak('fp32'):.0f} times as many 16-bit operations "
                "as its other cores do in FP32; the exchange over the uplink takes as long as before.",
            ),
        ),
    ),
    plan=plan,
    target=0.4,
    ceiling=0.25,
    base=8192,
    rate=0.25,
    noise=4.0,
    updates=64,
    loss=0.005,
    outliers=(Outlier(5000.0, 0.1), Outlier(1e9, 0.3)),
    lesson="FP32 is stable and never fast enough: it reaches an eighth of the 16-bit peak at best. FP16 survives the "
    "headlight with a loss scale that adapts, for clipping comes too late once a gradient is infinite, and with "
    "clipping, for an update that is finite and huge ruins the weights. Few cars with much work each beat a large "
    "fleet, whose updates are too few. So few updates as these need the rate in proportion to the batch.",
    sources="Rates of Orin and LTE are their data sheets'; efficiency and LTE's latency are assumed. The loss is "
    "a toy, the noisy quadratic model.",
)
