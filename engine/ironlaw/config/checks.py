"""What a setup must not ask for: sizes out of range, formats that a chip lacks, choices that exclude each other."""

from __future__ import annotations

from typing import Any

from ironlaw.config.layout import require_divisible, tensor_ways
from ironlaw.config.resolved import Setup
from ironlaw.core.errors import EngineError, Instead, require_positive
from ironlaw.core.units import Count
from ironlaw.hardware.accelerators import Accelerator, accelerator, list_accelerators
from ironlaw.models.layers import Attention, LinearAttention
from ironlaw.models.transformer import Transformer
from ironlaw.numerics.dtypes import FP32
from ironlaw.numerics.precision import Precision, list_precisions
from ironlaw.numerics.precision import precision as precision_by_name

LONGEST_SEQUENCE: Count = 2**20
"""The longest sequence, in tokens, that is accepted for a model without learned positions and with no higher limit.

Nobody has trained on longer ones, so they are taken for a mistake.
"""


def require_possible(c: Setup) -> None:
    """Refuse choices that exclude each other: all that a choice excludes stands here and in what this calls.

    Raises:
        EngineError: The first pair of choices that does.
    """
    require_sequence(c.model, c.sequence)
    _require_layers(c)
    _require_layout(c)
    _require_device(c)
    _require_code(c)
    _require_update(c)
    if not c.adaptation.everything:
        from ironlaw.config.adaptations import require_adapted

        require_adapted(c)
    _require_loss(c)
    if hasattr(c.batch, "shape") or hasattr(c.sequence, "shape"):
        require_sweep(c, c.batch, c.sequence)


def _require_layers(c: Setup) -> None:
    """Refuse what is not known of layers that are not plain attention with a dense feed-forward part."""
    m, beside = c.model, {"model": c.model.name}
    if any(isinstance(layer.attention, LinearAttention) for layer, _ in m.kinds):
        because = "whose linear attention is counted in parameters only"
        raise EngineError("model", m.name, "one without linear attention", because=because)
    if c.framework.by_hand and not all(layer.plain for layer, _ in m.kinds):
        because = "which has layers that are not known there"
        raise EngineError("framework", c.framework.name, ("torch",), beside, because)
    if m.undivided and c.framework.compiled:
        because = f"whose {m.undivided} is known uncompiled only"
        raise EngineError("execution", c.framework.execution, ("eager",), beside, because)
    if m.undivided and c.precision.in_fp8:
        names = tuple(name for name in list_precisions() if not precision_by_name(name).in_fp8)
        raise EngineError("precision", c.precision.name, names, beside, f"whose {m.undivided} is not known in 8 bits")
    if len(m.kinds) > 1 and c.checkpointing.every > 1:
        because = "whose layers are of several kinds"
        raise EngineError("checkpointing", c.checkpointing.name, ("none", "selective", "full"), beside, because)
    if len(m.kinds) > 1 and c.framework.runtime == "deepspeed":
        because = "whose layers are of several kinds"
        raise EngineError("runtime", c.framework.runtime, ("none",), beside, because)


def _require_layout(c: Setup) -> None:
    layout = c.layout
    for what in ("tensor", "pipeline", "context", "expert"):
        ways = getattr(layout, what)
        if c.reference and ways > 1:
            raise EngineError("reference", c.reference.name, ("none",), {what: ways})
        if c.rollout and ways > 1:
            raise EngineError("rollout", c.rollout.name, ("none",), {what: ways})
    if layout.sequence_parallel and layout.tensor == 1:
        raise EngineError("sequence_parallel", True, (Instead("tensor", "of at least 2"),), {"tensor": 1})
    if layout.zero and layout.peers == 1:
        raise EngineError("zero", layout.zero, (0, Instead("data", "of at least 2")), {"data": 1})
    if layout.interleave > 1 and layout.pipeline == 1:
        raise EngineError("interleave", layout.interleave, (1, Instead("pipeline", "of at least 2")), {"pipeline": 1})
    if layout.interleave > 1 and layout.schedule == "gpipe":
        raise EngineError("interleave", layout.interleave, (1, Instead("schedule", "1f1b")), {"schedule": "gpipe"})
    if layout.context > 1:
        _require_context(c)
    if layout.expert > 1:
        _require_experts(c)
    if c.cluster and layout.tensor > 1:
        _require_tensor(c.model, layout.tensor, c.cluster.node_size)
    _ = c.stages  # what the model cannot be divided into


def _require_context(c: Setup) -> None:
    """Refuse what a ring of keys and values is not known with (`ironlaw.graph.ring`)."""
    context = {"context": c.layout.context}
    require_shared(c, c.sequence)
    for what, value, only in (
        ("attention", c.attention.kernel, "flash"),
        ("backend", c.framework.backend, "cuda"),
        ("runtime", c.framework.runtime, "none"),
    ):
        if value != only:
            raise EngineError(what, value, (only,), context)
    if "shifted" in (c.loss.logits or ""):
        raise EngineError("logits", c.loss.logits, ("16-bit", "fp32"), context)
    if because := unshared(c.model):
        raise EngineError("context", c.layout.context, (1,), {"model": c.model.name}, because)


def _require_experts(c: Setup) -> None:
    """Refuse what is not known of devices that share experts."""
    layout = c.layout
    if layout.peers % layout.expert:
        beside = {"data": layout.data} | ({"context": layout.context} if layout.context > 1 else {})
        ways = tuple(other for other in range(1, layout.peers + 1) if layout.peers % other == 0)
        raise EngineError("expert", layout.expert, ways, beside)
    if not c.adaptation.everything:
        raise EngineError("expert", layout.expert, (1,), because="where parts of a model are trained")
    for what, value, only in (("runtime", c.framework.runtime, "none"), ("offload", c.update.offload, "none")):
        if value != only:
            raise EngineError(what, value, (only,), {"expert": layout.expert})
    if c.update.buffers:
        raise EngineError("offload_sizes", c.update.buffers.name, ("none",), {"expert": layout.expert})


def unshared(model: Transformer) -> str:
    """Why devices cannot share a model's sequences here; empty where they can."""
    kinds = [layer.attention for layer, _ in model.kinds if isinstance(layer.attention, Attention)]
    parts = {
        "windows": any(a.window for a in kinds),
        "softcaps": any(a.softcap for a in kinds),
        "sinks": any(a.sinks for a in kinds),
        "a bias by distance": model.position == "alibi",
    }
    return next((f"whose attention has {what}" for what, there in parts.items() if there), "")


def require_shared(c: Setup, sequence: Count) -> None:
    """Refuse a sequence that devices cannot share evenly: each takes two parts of it, an early and a late one.

    Source: Megatron-LM, `training/arguments.py`: the sequence is a multiple of `2 * context_parallel_size`.
    """
    parts = 2 * c.layout.context
    uneven = sequence % parts != 0
    if c.layout.context > 1 and (uneven.any() if hasattr(uneven, "any") else uneven):
        raise EngineError("sequence", sequence, f"a multiple of {parts}", {"context": c.layout.context})


def _require_tensor(model: Transformer, ways: Count, node: Count) -> None:
    fitting = tuple(other for other in tensor_ways(model) if node % other == 0 or other % node == 0)
    require_divisible(model, ways, fitting)
    if ways not in fitting:
        allowed = (*fitting, Instead("node_size", f"of {ways}"))
        raise EngineError("tensor", ways, allowed, {"node_size": node}, "of which it must be a part or a multiple")


def _require_device(c: Setup) -> None:
    if c.framework.backend == "cuda" and can_be_timed(c.chip):
        require_formats(c.chip, c.precision)
    generations = (1, 2, *(other for other in (3, 4) if c.chip.fused_attention(f"flash-{other}")))
    if c.attention.generation not in generations:
        raise EngineError("attention_generation", c.attention.generation, generations, {"gpu": c.chip.name})
    for what, value, asked, instead in (
        ("offload", c.update.offload, c.update.offload != "none", "none"),
        ("checkpointing", c.checkpointing.name, c.checkpointing.away, "full"),
    ):
        if asked and c.host_link is None:
            because = "which has no link to a host on record"
            raise EngineError(what, value, (instead,), {"gpu": c.chip.name}, because)


def _require_code(c: Setup) -> None:
    code, precision = c.framework, c.precision
    if c.checkpointing.reentrant:
        for what, value, only in (("framework", code.name, "torch"), ("execution", code.execution, "eager")):
            if value != only:
                raise EngineError(what, value, (only,), {"checkpointing": c.checkpointing.name})
    if code.by_hand and precision.autocast:
        allowed = tuple(name for name in list_precisions() if not precision_by_name(name).autocast)
        because = "which keeps 16-bit weights"
        raise EngineError("precision", precision.name, allowed, {"framework": code.name}, because)
    if code.runtime == "deepspeed" and not _deepspeed_has(precision):
        allowed = tuple(name for name in list_precisions() if _deepspeed_has(precision_by_name(name)))
        raise EngineError("precision", precision.name, allowed, {"runtime": code.runtime})
    if code.runtime == "deepspeed" and c.layout.zero > 1:
        way_out = Instead("runtime", "none, for PyTorch's FSDP")
        raise EngineError("zero", c.layout.zero, (0, 1, way_out), {"runtime": code.runtime})
    if code.accumulation == "fused" and not code.by_hand:
        way_out = Instead("framework", "megatron")
        raise EngineError("accumulation", code.accumulation, ("separate", way_out), {"framework": code.name})
    if code.accumulation == "fused" and code.runtime != "none":
        way_out = Instead("runtime", "none")
        raise EngineError("accumulation", code.accumulation, ("separate", way_out), {"runtime": code.runtime})


def _deepspeed_has(precision: Precision) -> bool:
    return precision.master is not None and precision.gradients is not FP32


def _require_update(c: Setup) -> None:
    require_gradients_kept(c.update.in_backward, 1, c.micro_batches)
    offload, layout = c.update.offload, c.layout
    if c.update.in_backward and c.update.gradients_away:
        beside = {"optimizer_in_backward": True}
        raise EngineError("offload", offload, ("none", "optimizer"), beside, "which keeps no gradients")
    if c.update.buffers and offload in ("none", "optimizer") and not layout.divides_gradients:
        ways = tuple(Instead("offload", other) for other in ("gradients", "parameters"))
        raise EngineError("offload_sizes", c.update.buffers.name, ways, {"offload": offload})
    if offload == "shards" and not c.fully_sharded:
        elsewhere = ("none", "optimizer", "gradients", "parameters")
        because = "where FSDP does not divide the weights"
        raise EngineError("offload", offload, (*elsewhere, Instead("zero", "3")), {"zero": layout.zero}, because)
    if offload != "parameters":
        return
    others = ("none", "optimizer", "gradients")
    if layout.peers > 1 and layout.zero < 3:
        because = "with which every device has all of the weights"
        raise EngineError("offload", offload, (*others, Instead("zero", "3")), {"zero": layout.zero}, because)
    for what, value, only in (("framework", c.framework.name, "torch"), ("pipeline", layout.pipeline, 1)):
        if value != only:
            raise EngineError(what, value, (only,), {"offload": offload})


def require_gradients_kept(in_backward: bool, accumulate: Count, micro_batches: Count) -> None:
    """Refuse several micro-batches a step, whose gradients are summed, where none are kept.

    Args:
        in_backward: Whether each parameter is updated as soon as its gradient is known.
        accumulate: Times that a step repeats its micro-batches, if known apart.
        micro_batches: Micro-batches of a step, or of each of these times.
    """
    what, value = ("accumulate", accumulate) if accumulate > 1 else ("micro_batches", micro_batches)
    if in_backward is True and value > 1:
        raise EngineError(what, value, (1,), {"optimizer_in_backward": True}, "which keeps no gradients")


def _require_loss(c: Setup) -> None:
    if c.loss.kept and c.loss.name != "full":
        raise EngineError("keep_logits", True, (False, Instead("loss", "full")), {"loss": c.loss.name})
    if c.loss.form != "full":
        others: tuple[tuple[str, object, object], ...]
        others = (("framework", c.framework.name, "torch"), ("tp", c.layout.tensor, 1))
        for what, value, only in others:
            if value != only:
                raise EngineError(what, value, (only,), {"loss": c.loss.name})
    if c.loss.form == "fused-linear":
        why = "which has no logits to look at"
        if c.framework.execution != "eager":
            raise EngineError("execution", c.framework.execution, ("eager",), {"loss": c.loss.name}, why)
        if c.loss.metrics != 0:
            raise EngineError("metrics", c.loss.metrics, (0,), {"loss": c.loss.name}, why)
        if c.loss.logits is not None:
            raise EngineError("logits", c.loss.logits, (Instead("loss", "fused"),), {"loss": c.loss.name}, why)
    if c.loss.logits and c.framework.compiled:
        raise EngineError("execution", c.framework.execution, ("eager",), {"logits": c.loss.logits})
    if c.loss.chunks > 1 and "shifted" in (c.loss.logits or ""):
        raise EngineError("logits", c.loss.logits, ("16-bit", "fp32"), {"loss": c.loss.name})
    shortest = c.own_sequence.min() if hasattr(c.own_sequence, "min") else c.own_sequence
    if c.loss.chunks > shortest:
        allowed = ("full", f"chunked:K with K at most {shortest}")
        raise EngineError("loss", c.loss.name, allowed, {"sequence": shortest}, "which has fewer tokens")


def require_sweep(c: Setup, batch: Any, sequence: Any) -> None:
    """Refuse arrays that do not go together, or with which 64 bits would not hold a step's operations."""
    try:
        _ = batch + sequence
    except ValueError:
        shapes = " and ".join(str(getattr(value, "shape", ())) for value in (batch, sequence))
        because = f"as shapes {shapes} do not broadcast"
        raise EngineError("batch", batch, "of a shape that does", {"sequence": sequence}, because) from None
    most, longest = (int(value.max()) if hasattr(value, "max") else value for value in (batch, sequence))
    each = 6 * c.model.parameters + 12 * c.model.score_width * longest
    if 2 * each * most * longest * c.micro_batches >= 2**63:
        because = "as the 64 bits of arrays do not hold so many operations"
        raise EngineError("batch", most, "smaller, or not in an array", {"sequence": longest}, because)


def require_sequence(model: Transformer, sequence: Count) -> None:
    """Refuse a sequence that the model's positions do not reach."""
    require_positive("sequence", sequence)
    longest = model.max_seq if model.position == "learned" else max(LONGEST_SEQUENCE, model.max_seq)
    asked = sequence.max() if hasattr(sequence, "max") else sequence
    if asked > longest:
        raise EngineError("sequence", asked, f"at most {longest}", {"model": model.name})


def can_be_timed(chip: Accelerator) -> bool:
    """Whether the rate of fp32 is on record, in which everything but matrix products is computed."""
    return any(peak.dtype == "fp32" and peak.accumulate == "fp32" for peak in chip.peaks)


def require_timed(chip: Accelerator) -> None:
    """Refuse questions for the time of a chip whose fp32 rate nobody published."""
    if not can_be_timed(chip):
        allowed = tuple(name for name in list_accelerators() if can_be_timed(accelerator(name)))
        because = "as nobody published its fp32 rate: only training_memory and fits answer"
        raise EngineError("gpu", chip.name, allowed, because=because)


def require_formats(chip: Accelerator, precision: Precision) -> None:
    """Refuse a chip that lacks the format of the products, or the fp32 in which everything else is computed."""
    require_timed(chip)
    if lacking := _lacking(chip, precision):
        allowed = tuple(name for name in list_precisions() if not _lacking(chip, precision_by_name(name)))
        raise EngineError("precision", precision.name, allowed, {"gpu": chip.name}, f"which has no {lacking}")


def _lacking(chip: Accelerator, precision: Precision) -> str:
    """The first format of a precision that a chip has no rate of, or nothing."""
    formats = {peak.dtype for peak in chip.peaks if peak.accumulate == "fp32"}
    return next((name for name in (precision.compute.name, precision.product_format) if name not in formats), "")
