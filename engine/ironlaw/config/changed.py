"""A setup with some of its words changed, without being made anew: what a search turns is a word each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import Any

from ironlaw.config.choices import loss
from ironlaw.config.optimizers import optimizer
from ironlaw.config.resolved import Setup
from ironlaw.graph.adaptation import Adaptation
from ironlaw.graph.checkpointing import checkpointing
from ironlaw.numerics.precision import precision

_PLACES = {
    "adapter_format": ("adaptation", "adapters"), "attention": ("attention", "kernel"),
    "base_format": ("adaptation", "base"), "batch": ("data", "batch"), "cp": ("layout", "context"),
    "dp": ("layout", "data"), "ep": ("layout", "expert"), "eval_batch": ("evaluation", "batch"),
    "execution": ("framework", "execution"),
    "keep_logits": ("loss", "kept"), "offload": ("update", "offload"), "offload_sizes": ("update", "buffers"),
    "optimizer_in_backward": ("update", "in_backward"), "overlap": ("layout", "overlap"),
    "pp": ("layout", "pipeline"), "rms_norm": ("framework", "rms_norm"), "sequence": ("data", "sequence"),
    "sequence_parallel": ("layout", "sequence_parallel"), "tp": ("layout", "tensor"), "update": ("update", "kind"),
    "zero": ("layout", "zero"),
}  # fmt: skip
"""Where a setup keeps a word's value: the part, and its field."""
_BY_NAME: Mapping[str, Callable[[str], object]] = {
    "checkpointing": checkpointing,
    "optimizer": optimizer,
    "precision": precision,
}
_PASSES = ("accumulate", "micro_batches")


def changed(c: Setup, words: Mapping[str, Any]) -> Setup:
    """The setup that `ironlaw.setup` makes of a setup's words with these in their place.

    Whether its choices go together is not checked: `ironlaw.config.checks.require_possible` does. A word on which
    others' defaults depend has to come with them; more devices than one get the chip's usual nodes.

    Args:
        c: The setup.
        words: Some of `ironlaw.setup`'s, by name: those that changes use. Of `accumulate` and `micro_batches` both or
            none.

    Raises:
        KeyError: A word that no change uses.
    """
    parts: dict[str, Any] = {}
    for word, value in words.items():
        if word in _PLACES:
            part, field = _PLACES[word]
            parts.setdefault(part, {})[field] = value
        elif word in _BY_NAME:
            parts[word] = _BY_NAME[word](value)
        elif word == "loss":
            pieces = loss(value)
            parts.setdefault("loss", {}).update(chunks=pieces.chunks, form=pieces.form)
        elif word not in (*_PASSES, "method"):
            raise KeyError(word)
    if "accumulate" in words:
        parts.setdefault("layout", {})["micro_batches"] = prod(words[word] for word in _PASSES)
    if ("dp" in words or "cp" in words) and c.cluster is None:
        from ironlaw.hardware.cluster import cluster

        parts["cluster"] = cluster(c.chip)
    if "method" in words:
        parts["adaptation"] = replace(_method(c, words["method"]), **parts.get("adaptation", {}))
    found = {
        part: replace(getattr(c, part), **value) if isinstance(value, dict) else value for part, value in parts.items()
    }
    made: Setup = replace(c, **found)
    if c.update.buffers and made.update.offload in ("none", "optimizer") and not made.layout.divides_gradients:
        made = replace(made, update=replace(made.update, buffers=None))  # DeepSpeed has them no more
    if c.adaptation.quantization and made.layout.divides_weights != c.layout.divides_weights:
        return made if "base_format" in words else _rebased(c, made)
    return made


def _rebased(c: Setup, made: Setup) -> Setup:
    """The same with the usual format of what is not quantized, where it was the usual one before."""
    from ironlaw.config.adaptations import base_format

    usual, then = (base_format(one.precision, quantized=True, divided=one.layout.divides_weights) for one in (c, made))
    return replace(made, adaptation=replace(made.adaptation, base=then)) if c.adaptation.base == usual else made


def _method(c: Setup, method: str) -> Adaptation:
    from ironlaw.config.adaptations import adaptation

    plain = adaptation(method, c.precision, {}, divided=c.layout.divides_weights)
    if not c.adaptation.has_adapters:
        return plain
    return replace(c.adaptation, method=plain.method, base=plain.base, quantization=plain.quantization)
