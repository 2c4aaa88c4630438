"""Operations of a training step: exact matrix products, recomputation, and the papers' closed forms and conventions.

Model FLOPs are what the mathematics needs: one forward pass and twice that for the backward pass, whatever the hardware
does. Hardware FLOPs add what checkpointing and fused attention compute again. Utilization of either over the peak gives
MFU and HFU (Chowdhery et al. 2022, PaLM, arXiv 2204.02311, appendix B).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from ironlaw.core.arrays import require_above_zero, require_at_least, require_each
from ironlaw.core.sizes import NOTHING, Size, scaled, total
from ironlaw.core.units import Count, Flops, FlopsPerSecond, Ratio, Unit
from ironlaw.graph.blocks import AttentionKernel, sections
from ironlaw.graph.checkpointing import Checkpointing
from ironlaw.graph.checkpointing import checkpointing as checkpointing_by_name
from ironlaw.graph.ir import Op, Section
from ironlaw.graph.kernels import ATTENTION_BACKWARD_PRODUCTS, PRODUCTS, recomputed
from ironlaw.models.transformer import Transformer
from ironlaw.numerics.precision import precision

FlopsPerToken = Annotated[float, Unit("FLOP")]


@dataclass(frozen=True, slots=True)
class OperationCount:
    """Matrix-product FLOPs of one step on one micro-batch, by phase.

    Attributes:
        forward: The forward pass.
        backward: The backward pass, without what it computes again.
        recompute: What checkpointing and fused attention compute again.
    """

    forward: Flops
    backward: Flops
    recompute: Flops

    @property
    def model(self) -> Flops:
        """FLOPs the mathematics needs."""
        return self.forward + self.backward

    @property
    def hardware(self) -> Flops:
        """FLOPs the hardware does."""
        return self.model + self.recompute


def count_operations(
    model: Transformer,
    batch: Count,
    sequence: Count,
    *,
    attention: AttentionKernel = "flash",
    checkpointing: str | Checkpointing = "none",
    causal: bool = False,
) -> OperationCount:
    """Exact matrix-product FLOPs of a step, summed over the operation list.

    Equals PyTorch's `FlopCounterMode`, which counts attention in full. Arguments may be NumPy arrays.

    Args:
        model: The transformer.
        batch: Sequences in the micro-batch.
        sequence: Tokens in a sequence.
        attention: `"flash"` computes the scores again in the backward pass, `"standard"` keeps them.
        checkpointing: Activation checkpointing, as `ironlaw.graph.checkpointing` writes it.
        causal: Count only the half of attention that a causal mask leaves (the convention of `6 L h T`).

    Raises:
        EngineError: An unknown name, or a size below one.
    """
    require_each(1, {"batch": batch, "sequence": sequence})
    linear, core = _phases(sections(model, precision("bf16"), attention), checkpointing_by_name(checkpointing))
    share = 0.5 if causal else 1.0
    forward, backward, recompute = (
        a(batch, sequence) + share * b(batch, sequence) for a, b in zip(linear, core, strict=True)
    )
    return OperationCount(forward, backward, recompute)


@lru_cache(maxsize=512)
def _phases(
    parts: tuple[Section, ...], policy: Checkpointing
) -> tuple[tuple[Size, Size, Size], tuple[Size, Size, Size]]:
    """Forward, backward and recomputed FLOPs, first without and then only attention's own products."""
    linear, core = [NOTHING] * 3, [NOTHING] * 3
    for section in parts:
        for op in section.ops:
            if op.kind not in PRODUCTS:
                continue
            flops, group = product_flops(op) * section.count, core if op.weights == 0 else linear
            group[0] = group[0] + flops
            group[1] = group[1] + op.backward_products * flops
            if op.kind == "attention" and op.backward_products:
                group[2] = group[2] + scaled(flops, ATTENTION_BACKWARD_PRODUCTS - 2)
        for ops, count in recomputation(section, policy):
            for op in ops:
                if op.kind in PRODUCTS:
                    group = core if op.weights == 0 else linear
                    group[2] = group[2] + product_flops(op) * count
    return (linear[0], linear[1], linear[2]), (core[0], core[1], core[2])


def operation_sizes(parts: tuple[Section, ...], policy: Checkpointing) -> tuple[Size, Size]:
    """Model and hardware FLOPs of a micro-batch as polynomials in batch and sequence, attention counted in full."""
    linear, core = _phases(parts, policy)
    needed = linear[0] + linear[1] + core[0] + core[1]
    return needed, needed + linear[2] + core[2]


def recomputation(section: Section, policy: Checkpointing) -> tuple[tuple[tuple[Op, ...], Count], ...]:
    """What checkpointing runs again of a section: groups of operations and how often each runs."""
    if section.name != "block" or policy.kind == "none":
        return ()
    if policy.kind == "selective":
        return ((tuple(op for op in section.ops if op.region == "attention"), section.count),)
    if policy.reentrant:
        return ((section.ops, section.count),)
    if not (again := recomputed(section)):
        return ()  # a backward pass reaches nothing of it
    segments = -(-section.count // policy.every)
    return ((recomputed(section, segment_ends=False), section.count - segments), (again, segments))


def product_flops(op: Op) -> Size:
    """Multiplications and additions of an operation's matrix products in the forward pass."""
    return total(product.flops for product in op.matmuls)


def product_parameters(model: Transformer) -> Count:
    """Parameters that take part in a product with every token: N in `6 N`.

    Tables that are only looked up are left out; a tied table stays, because the output head multiplies by it. Of routed
    experts those count that a token goes to.
    """
    looked_up = sum(
        p.elements
        for p in model.parameter_tensors
        if p.role == "embedding" and not (model.tied and p.name == "wte.weight")
    )
    return model.parameters - looked_up - model.idle_parameters


def flops_per_token(model: Transformer, sequence: Count, *, causal: bool = False) -> FlopsPerToken:
    """Model FLOPs per token by the common rule: `6 N + 12 L h T`, or `6 N + 6 L h T` when attention is counted causal.

    h is the width of all query heads. Source: PaLM, arXiv 2204.02311, appendix B (12); Dao 2023, FlashAttention-2,
    arXiv 2307.08691, section 4 (6).
    """
    require_at_least("sequence", sequence, 1)
    attention = (6 if causal else 12) * model.score_width * sequence
    return 6 * product_parameters(model) + attention


def utilization(flops_per_step: Flops, seconds: float, peak: FlopsPerSecond, devices: Count = 1) -> Ratio:
    """FLOPs of a step over what the devices could do in its time: MFU for model FLOPs, HFU for hardware FLOPs.

    Raises:
        EngineError: A time, peak or number of devices that is not positive.
    """
    require_above_zero("seconds", seconds)
    require_above_zero("peak", peak)
    require_at_least("devices", devices, 1)
    return flops_per_step / (seconds * peak * devices)


def megatron_flops(batch: Count, sequence: Count, layers: Count, hidden: Count, vocab: Count) -> Flops:
    """Hardware FLOPs of a GPT step with full recomputation: `96 B s L h^2 (1 + s/(6 h) + V/(16 L h))`.

    Source: arXiv 2104.04473, equation 3 and appendix.
    """
    return 96 * batch * sequence * layers * hidden**2 * (1 + sequence / (6 * hidden) + vocab / (16 * layers * hidden))


def korthikanti_model_flops(batch: Count, sequence: Count, layers: Count, hidden: Count, vocab: Count) -> Flops:
    """Model FLOPs of a GPT step: `72 B L s h^2 (1 + s/(6 h) + V/(12 h L))`. Source: arXiv 2205.05198, equation 7."""
    return 72 * batch * layers * sequence * hidden**2 * (1 + sequence / (6 * hidden) + vocab / (12 * hidden * layers))


def total_flops(parameters: float, tokens: float) -> Flops:
    """FLOPs of a whole training run by the rule `6 N D`, attention left out.

    Source: Kaplan et al. 2020, arXiv 2001.08361, section 2.1.
    """
    require_each(0, {"parameters": parameters, "tokens": tokens})
    return 6 * parameters * tokens
