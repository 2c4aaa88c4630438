"""Tiny Pioneer: an ear adapts to its noise, on a microcontroller. The facts."""

from __future__ import annotations

from ironlaw import accelerator, link
from ironlaw.networks import rnnoise

from .facts import Account, Ask, Audit, Lever, Setting
from .small import Network, Scope, Work, account

KIB = 1024
CHIP = accelerator("microcontroller")
NET = rnnoise()
RUNNING = 64 * KIB
"""SRAM that the running product keeps for sound and radio: the mission's."""
WORK = Work(efficiency=0.8, half=0)
"""A core has no lanes to fill: a batch does not help it. The share of the peak is an assumption."""
RADIO = link("bluetooth-le-2m")
RADIO_RATE = 0.05 * RADIO.achievable
"""Bytes a second that sound leaves of the radio, a twentieth: the mission's."""
LAYERS = {layer.name: layer for layer in NET.layers}
FRAMES = 100
"""Frames of 10 ms in the second of sound that one sample is, where nothing else is said."""
SHORTEST = 50
SHORT = (
    "A syllable lasts a quarter of a second: less than half a second of sound shows the recurrent layers no sentence."
)
# A gated unit keeps three gates, its state and its inputs; a dense layer its result.
KEPT = {name: (4 if layer.recurrent else 1) * layer.units for name, layer in LAYERS.items()}
GAINS, DENOISE = LAYERS["gains"].parameters, LAYERS["denoise"].parameters
FORWARD = float(NET.forward_flops)


def _flops(*learning: str) -> float:
    """A forward pass through everything and two more through the layers that learn, per frame."""
    return FORWARD + 4.0 * sum(LAYERS[name].weights for name in learning)


def network(frames: int) -> Network:
    """RNNoise with a window of so many frames as one sample. What does not learn is read from flash."""
    last = KEPT["denoise"] + LAYERS["denoise"].inputs + KEPT["gains"]
    return Network(
        NET.parameters,
        {
            "all": Scope(NET.parameters, float(frames * (sum(KEPT.values()) + 42)), 3 * FORWARD * frames, DENOISE),
            "last": Scope(GAINS + DENOISE, float(frames * last), _flops("denoise", "gains") * frames, DENOISE),
            "gains": Scope(
                GAINS, float(frames * (LAYERS["gains"].inputs + KEPT["gains"])), _flops("gains") * frames, GAINS
            ),
        },
        "microcontroller",
        float(CHIP.memory_bytes - RUNNING),
        frozen_in_flash=True,
    )


def audit(setting: Setting) -> Account:
    """The layers that learn, over one window of sound."""
    frames = int(setting["frames"])
    return account(
        network(frames),
        scope=str(setting["scope"]),
        optimizer=str(setting["optimizer"]),
        precision=str(setting["precision"]),
        batch=int(setting["batch"]),
        refused=SHORT if frames < SHORTEST else "",
    )


AUDIT = Audit(
    situation=f"A hearable learns its wearer's office with RNNoise, {NET.parameters:,} parameters, from a window "
    f"a second. Its Cortex-M4 has {CHIP.memory_bytes // KIB} KiB of SRAM; sound and radio keep "
    f"{RUNNING // KIB}.",
    ask=Ask(
        "Everything learns with Adam in FP32, from one second of sound: how many times the SRAM that is left?",
        {"optimizer": "adam", "precision": "fp32", "scope": "all", "frames": 100, "batch": 1},
        ("weights", "gradients", "optimizer", "activations"),
        14,
        0.1,
        ("times", 1.0, "the SRAM left"),
    ),
    levers=(
        Lever("optimizer", "Optimizer", {"sgd": "SGD", "momentum": "Momentum", "adam": "Adam"}, "adam"),
        Lever("precision", "Precision", {"fp32": "FP32", "mixed": "Mixed"}, "fp32", "Mixed stores in 16 bits."),
        Lever(
            "scope",
            "What learns",
            {"all": "Everything", "last": "Last recurrent layer", "gains": "Output layer"},
            "all",
            "Frozen layers stay in flash.",
        ),
        Lever("frames", "Window", {size: f"{size / 100:g} s" for size in (25, 50, 100, 200)}, 100, "Frames of 10 ms."),
        Lever("batch", "Batch size", {size: str(size) for size in (1, 2, 4, 8)}, 1),
    ),
    account=audit,
    unit=("KiB", float(KIB)),
    tops=(300, 600, 1500, 4000, 8000),
    limit_name="SRAM left",
    sample="windows per second at most",
    lesson="The weights do not fit even as FP32 numbers alone, so most layers stay in flash and never learn. Of what "
    "remains, activations of a window are the largest part, and every further window of a batch is as large again.",
    sources="Sizes are counted from RNNoise's layers; speed is the data sheet's 64 MHz, one operation a cycle.",
    target=1.0,
)
