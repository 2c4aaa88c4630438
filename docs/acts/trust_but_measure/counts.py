"""Two counts of the same tensors: the textbook's and the engine's."""

from __future__ import annotations

from functools import cache

from explorable import live
from ironlaw import GB, Setup, setup, training_memory
from ironlaw.memory import chapter_activation_bytes
from ironlaw.numerics.dtypes import FP16, FP32

from .configurations import SOURCE_BATCH, Configuration, shape


def textbook(configuration: Configuration) -> int:
    """The textbook's bytes: four tensors of the hidden size, one of the MLP's, and 10 MB for norms per layer."""
    dtype = FP32 if configuration.precision in ("fp32", "tf32") else FP16
    return chapter_activation_bytes(shape(configuration), configuration.batch, configuration.sequence, dtype)


GROUPS = {
    "counted": "Query, key, value, attention's result, MLP",
    "residual": "Residual stream, before each norm",
    "norms": "Inputs of the products, after each norm",
    "gelu": "The MLP's second tensor, after GELU",
    "scores": "Scores and masks of attention",
    "loss": "Log-probabilities of the loss",
    "rest": "Statistics, indices, masks",
}
"""Kinds of kept tensors. The textbook counts the first; of the others it allows for statistics only."""


def group(name: str, component: str) -> str:
    """The kind of a kept tensor."""
    part = name.removeprefix("blocks.*.")
    if component == "logits":
        return "loss"
    if part in ("attn.c_attn", "attn.core", "attn.core.q", "attn.core.k", "attn.core.v", "mlp.c_fc"):
        return "counted"
    if part in ("input", "residual_1", "ln_f.input"):
        return "residual"
    if part in ("ln_1", "ln_2", "lm_head.input") or part.endswith(".cast"):
        return "norms"
    if part == "mlp.gelu":
        return "gelu"
    return "scores" if part in ("attn.core.softmax", "attn.core.future") or "drop" in part else "rest"


def training(configuration: Configuration) -> Setup:
    """The same for the engine."""
    return setup(
        shape(configuration),
        batch=configuration.batch,
        sequence=configuration.sequence,
        precision=configuration.precision,
        attention="standard" if configuration.attention == "standard" else "flash",
        dropout=configuration.dropout,
        backend="cpu" if configuration.device == "cpu" else "cuda",
    )


@cache
def kept(configuration: Configuration) -> dict[str, int]:
    """The engine's bytes by kind of tensor: what autograd saves, 16-bit casts of weights left out as in the record."""
    ledger = training_memory(training(configuration))
    sizes = dict.fromkeys(GROUPS, 0)
    for tensor in ledger.tensors:
        if tensor.component in ("activations", "logits"):
            sizes[group(tensor.name, tensor.component)] += tensor.bytes
    return {name: size for name, size in sizes.items() if size}


def engine_count(configuration: Configuration) -> int:
    """The engine's bytes."""
    return sum(kept(configuration).values())


def written(configuration: Configuration) -> dict[str, str]:
    """The bytes of each kind as they are shown; what is shown adds up to their sum."""
    exact, whole = kept(configuration), engine_count(configuration)
    unit = GB if whole >= 0.1 * GB else 1e6
    shown = live.adding_up({name: amount / unit for name, amount in exact.items()}, whole / unit)
    # What is shown in a smaller unit than the sum is shown to more digits than it.
    return {name: size(shown[name] * unit if amount >= 0.1 * unit else amount) for name, amount in exact.items()}


def shares(configuration: Configuration) -> dict[str, float]:
    """The share of each kind in percent. Each is rounded for itself, so that a reader who divides finds it again."""
    whole = engine_count(configuration)
    return {name: 100 * amount / whole for name, amount in kept(configuration).items()}


def gap_factor(configuration: Configuration) -> float:
    """How many times the textbook's count is really kept, by the engine."""
    return engine_count(configuration) / textbook(configuration)


EXAMPLE = Configuration("gpt2-xl", "amp-bf16", SOURCE_BATCH, 1024)
"""The question's configuration: the textbook's example under autocast."""


def size(value: float) -> str:
    """Bytes as GB, or MB where GB would be all zeros."""
    return f"{value / GB:,.2f} GB" if value >= 0.1 * GB else f"{value / 1e6:,.2f} MB"
