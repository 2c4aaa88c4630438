"""What a setting's memory consists of, exactly and as the source counts it."""

from __future__ import annotations

from ironlaw import GB

from .settings import Setting, ledger

SOURCE_PARAMETERS, SOURCE_ACTIVATIONS, SOURCE_BATCH = 1.5e9, 65 * GB, 32
"""The source's GPT-2 XL: parameters, and activations in FP32 at its batch. With Adam they make its 89 GB."""
SOURCE_CHECKPOINTING = 4
"""The source divides activations by this when it checkpoints."""


def textbook(setting: Setting) -> float:
    """Bytes as the source counts them: bytes per parameter, and activations in proportion."""
    sixteen = setting.precision != "fp32"
    each = {"fp32": 8, "mixed": 8, "fp16": 4}[setting.precision]
    vectors = {"sgd": 0, "momentum": 1, "adam": 2}[setting.optimizer] * (2 if setting.precision == "fp16" else 4)
    activations = SOURCE_ACTIVATIONS * setting.batch / SOURCE_BATCH / (2 if sixteen else 1)
    return SOURCE_PARAMETERS * (each + vectors) + activations / (SOURCE_CHECKPOINTING if setting.checkpointing else 1)


NAMES = {
    "parameters": "Parameters",
    "gradients": "Gradients",
    "master": "Master copy",
    "optimizer": "Optimizer state",
    "activations": "Activations",
    "buffers": "Sharding buffers",
}


def parts(setting: Setting) -> dict[str, int]:
    """Bytes of every kind of tensor, each at its own fullest."""
    account = ledger(setting)
    sizes = {name: account.component(name) for name in ("parameters", "gradients", "master", "optimizer")}
    sizes["activations"] = account.saved_bytes
    sizes["buffers"] = account.component("buckets") + account.component("gathered")
    return {name: size for name, size in sizes.items() if size}
