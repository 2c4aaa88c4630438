"""Mobile Nomad, part 3: glasses share what they learned, beside the video on the same radio. The facts."""

from __future__ import annotations

from dataclasses import replace

from explorable import live
from ironlaw import link
from ironlaw.training.noisy_quadratic import Outlier

from .facts import Guess, Lever, Plan, Setting, Wall
from .mobile import LEARNER, WORK
from .wall_levers import CHECKPOINTING, CLIP, RATE, SCALING, guard
from .wall_small import Exchange, Update, small_plan

LINKS = {"bluetooth": link("bluetooth-le-2m"), "wifi": link("wifi-6")}
LEFT = {"bluetooth": 1.0, "wifi": 0.05}
"""Share of a link that translation and video leave: the mission's."""
TRANSLATION = 190e6
"""Bytes that the running translation keeps meanwhile, a filter in 16 bits among them: the mission's."""
NET = replace(LEARNER, limit=LEARNER.limit - TRANSLATION)


def plan(setting: Setting) -> Plan:
    """Every pair of glasses sends what learns to the phone and gets the average back, in turn on one radio."""
    scope, half, pairs = str(setting["scope"]), setting["precision"] == "fp16", int(setting["devices"])
    radio = str(setting["link"])
    sent = 2.0 * pairs * (2 if half else 4) * NET.scopes[scope].trained
    rate = LINKS[radio].achievable * LEFT[radio]
    return small_plan(
        NET,
        WORK,
        Exchange(sent, rate, 2 * pairs * LINKS[radio].latency),
        guard(setting, half=half),
        Update(
            scope=scope,
            precision="mixed" if half else "fp32",
            batch=int(setting["batch"]),
            accumulate=int(setting["accumulate"]),
            devices=pairs,
            checkpointing=bool(setting["checkpointing"]),
        ),
    )


WALL = Wall(
    situation=f"Two blocks learn on every pair of glasses, beside a translation that keeps {TRANSLATION / 1e6:g} MB; a "
    "phone averages them over its radio.",
    message='"People hear gaps. I want 50 % MFU, and the radio under a tenth."',
    levers=(
        Lever("devices", "Glasses", {2: "2", 8: "8"}, 8),
        Lever("scope", "What learns", {"last": "Last 2 blocks", "adapters": "Adapters"}, "last"),
        Lever("batch", "Micro-batch", {1: "1", 4: "4", 8: "8", 16: "16", 32: "32"}, 16),
        Lever("accumulate", "Micro-batches for an update", {1: "1", 4: "4", 16: "16", 64: "64"}, 1),
        Lever("precision", "Precision", {"fp32": "FP32", "fp16": "FP16"}, "fp32", "FP16 keeps an FP32 master copy."),
        Lever("link", "Radio", {"bluetooth": "Bluetooth", "wifi": "Wi-Fi, a twentieth"}, "bluetooth"),
        CHECKPOINTING,
        SCALING,
        CLIP,
        RATE,
    ),
    ask=Guess(
        "Adapters learn in place of two blocks. What becomes of the radio's time per update?",
        {"scope": "adapters"},
        lambda plan: plan.step["network"],
        (
            live.Option(1.0, "It stays about the same.", "It would if the radio carried samples."),
            live.Option(0.25, "It falls to about a quarter.", "Adapters stand in every block, but they are thin."),
            live.Option(
                0.02,
                "It falls to about a fiftieth.",
                "What is sent is what learns, and two blocks have "
                f"{LEARNER.scopes['last'].trained / LEARNER.scopes['adapters'].trained:.0f} times as many numbers.",
            ),
        ),
    ),
    plan=plan,
    target=0.5,
    ceiling=0.1,
    base=64,
    rate=0.25,
    noise=0.7,
    updates=64,
    loss=0.009,
    outliers=(Outlier(50_000.0, 0.1),),
    lesson="What learns is sent, there and back for every pair: adapters are fifty times smaller than two blocks, and "
    "the radio is quiet, so that few frames make an update, and there are many updates. Adapters keep the activations "
    "of every block, and beside the translation there is room for few frames'. Checkpointing computes most of the "
    "forward pass again, for adapters a third of their work, and makes room for a batch that keeps the GPU at work: "
    "that is worth it.",
    sources="Wi-Fi and Bluetooth are their standards'; the glasses' rates are a phone's at one watt; efficiency, "
    "Wi-Fi's latency, and what translation leaves of radio and memory are assumed. The loss is a toy, the noisy "
    "quadratic model.",
)
