"""Tiny Pioneer, part 3: two ears, and a radio that is busy with sound. The facts."""

from __future__ import annotations

from dataclasses import replace

from explorable import live

from .facts import Guess, Lever, Plan, Setting, Wall
from .tiny import RADIO, RADIO_RATE, WORK, network
from .tiny_race import FLASH
from .wall_levers import CLIP, RATE, guard
from .wall_small import Exchange, Update, small_plan

NET = network(100)
NORM = 0.15
"""Norm at which clipping begins here: that of a quiet room."""
SIZES = {"fp32": 4, "int8": 1}


def plan(setting: Setting) -> Plan:
    """Each ear writes what it learned to flash and sends it to the other, in both directions in turn."""
    scope = str(setting["scope"])
    sent = 2.0 * SIZES[str(setting["payload"])] * NET.scopes[scope].trained
    written = FLASH * NET.scopes[scope].trained / NET.scopes["gains"].trained
    return small_plan(
        NET,
        WORK,
        Exchange(sent, RADIO_RATE, 2 * RADIO.latency, written),
        guard(setting, half=False, norm=NORM),
        Update(
            scope=scope,
            precision=str(setting["precision"]),
            batch=int(setting["batch"]),
            accumulate=int(setting["accumulate"]),
            devices=2,
        ),
    )


WALL = Wall(
    situation="Two ears learn together over a twentieth of their radio, which carries the sound. The core waits while "
    "flash is written.",
    message='"60 % MFU, the radio under a quarter, or the charge ends."',
    levers=(
        Lever("scope", "What learns", {"gains": "Output layer", "last": "Last recurrent layer"}, "gains"),
        Lever("batch", "Micro-batch", {1: "1", 4: "4", 8: "8"}, 1, "Windows, each a second of sound."),
        Lever("accumulate", "Micro-batches for an update", {1: "1", 4: "4", 8: "8", 16: "16", 32: "32", 64: "64"}, 1),
        Lever("precision", "Precision", {"fp32": "FP32", "mixed": "16-bit storage"}, "fp32"),
        Lever("payload", "Sent in", {"fp32": "FP32", "int8": "INT8"}, "fp32"),
        replace(CLIP, help="No gradient is longer than an eighth of the first."),
        RATE,
    ),
    ask=Guess(
        "Micro-batches take four seconds, not one. What becomes of the memory an ear needs?",
        {"batch": 4},
        lambda plan: plan.need,
        (
            live.Option(1.0, "It stays about the same.", "It does where windows are accumulated, one by one."),
            live.Option(
                3.0,
                "It becomes about three times as much.",
                "Activations are kept for every window of the batch; weights, gradients and the optimizer's vector "
                "are there once.",
            ),
            live.Option(4.0, "It becomes four times as much.", "Not all of it grows with the batch."),
        ),
    ),
    plan=plan,
    target=0.6,
    ceiling=0.25,
    base=16,
    rate=0.25,
    noise=0.25,
    updates=64,
    loss=0.01,
    outliers=(),
    lesson="A larger micro-batch takes memory for each of its windows, and makes the core no faster. Accumulating "
    "spreads what flash and radio cost for an update over more windows. Too many, and few updates are left. No batch "
    "is strange here, so clipping saves nothing and shortens every long step.",
    sources="MFU is that of the core while it is awake. Flash and radio are data sheet and standard; efficiency is "
    "assumed. The loss is a toy, the noisy quadratic model.",
)
