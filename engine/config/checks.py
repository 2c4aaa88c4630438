"""What a setup must not ask for: sizes out of range, formats that a chip lacks, choices that exclude each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.core.arrays import require_number
from engine.core.errors import EngineError, require_positive, show
from engine.core.units import Count
from engine.hardware.accelerators import Accelerator
from engine.models.transformer import Transformer
from engine.numerics.dtypes import FP32
from engine.numerics.precision import Precision, list_precisions
from engine.numerics.precision import precision as precision_by_name

if TYPE_CHECKING:
    from engine.config.setup import Setup

LONGEST_SEQUENCE: Count = 2**20
"""The longest sequence, in tokens, that is accepted for a model without learned positions and with no higher limit.

Nobody has trained on longer ones, so they are taken for a mistake.
"""


def require_possible(c: Setup) -> None:
    """Refuse choices that exclude each other.

    Raises:
        EngineError: The first pair of choices that does.
    """
    require_sequence(c.model, c.sequence)
    if c.framework.backend == "cuda" and can_be_timed(c.chip):
        require_formats(c.chip, c.precision)
    if (generation := c.attention.generation) > 2 and c.chip.fused_attention(f"flash-{generation}") is None:
        raise EngineError(f"attention_generation {generation} is not allowed on {c.chip.name}; allowed: 1, 2")
    if c.framework.by_hand and c.precision.autocast:
        raise EngineError(
            f"precision {c.precision.name!r} is not allowed with framework megatron, which keeps 16-bit weights; "
            f"allowed: {', '.join(name for name in list_precisions() if not precision_by_name(name).autocast)}"
        )
    if c.framework.runtime == "deepspeed":
        if c.precision.master is None or c.precision.gradients is FP32:
            raise EngineError(
                f"precision {c.precision.name!r} is not allowed with runtime deepspeed; allowed: deepspeed, mixed"
            )
        if c.layout.zero > 1:
            raise EngineError(f"zero {c.layout.zero} is not allowed with runtime deepspeed; allowed: 0, 1")
    if c.framework.accumulation == "fused" and not (c.framework.by_hand and c.framework.runtime == "none"):
        raise EngineError("accumulation 'fused' is not allowed here; allowed: framework megatron with runtime none")
    shortest = c.sequence.min() if hasattr(c.sequence, "min") else c.sequence
    if c.loss.chunks > shortest:
        raise EngineError(f"loss 'chunked:{c.loss.chunks}' is not allowed; a sequence of {shortest} has fewer tokens")
    if c.layout.zero and c.layout.data == 1:
        raise EngineError(f"zero {c.layout.zero} is not allowed with data 1; allowed: 0, or data of at least 2")
    if c.update.in_backward and c.micro_batches > 1:
        raise EngineError(
            f"accumulate {c.micro_batches} is not allowed with optimizer_in_backward, which keeps no gradients"
        )
    if c.update.offload != "none" and c.host_link is None:
        raise EngineError(
            f"offload {c.update.offload!r} is not allowed on {c.chip.name}, which has no link to a host on record"
        )
    _ = c.stages
    if c.cluster and c.layout.tensor > 1 and c.layout.tensor % (n := c.cluster.node_size) and n % c.layout.tensor:
        raise EngineError(f"node_size {n} is not allowed with tensor {c.layout.tensor}; one must divide the other")


def require_dropout(dropout: object) -> None:
    """Refuse a dropout that is no probability, or that drops everything."""
    require_number("dropout", dropout)
    if getattr(dropout, "shape", ()) or not 0 <= dropout < 1:  # type: ignore[operator]
        raise EngineError(f"dropout {show(dropout)} is not allowed; it must be at least 0 and below 1")


def require_sweep(c: Setup, batch: Any, sequence: Any) -> None:
    """Refuse arrays that do not go together, or with which 64 bits would not hold a step's operations."""
    try:
        _ = batch + sequence
    except ValueError:
        shapes = " and ".join(str(getattr(value, "shape", ())) for value in (batch, sequence))
        raise EngineError(f"batch and sequence of shapes {shapes} are not allowed; they must broadcast") from None
    most, longest = (int(value.max()) if hasattr(value, "max") else value for value in (batch, sequence))
    each = 6 * c.model.parameters + 12 * c.model.layers * c.model.query_width * longest
    if 2 * each * most * longest * c.micro_batches >= 2**63:
        raise EngineError(
            f"batch {most} with sequence {longest} is not allowed in arrays, whose 64 bits do not hold so many "
            "operations; allowed: smaller numbers"
        )


def require_sequence(model: Transformer, sequence: Count) -> None:
    """Refuse a sequence that the model's positions do not reach."""
    require_positive("sequence", sequence)
    longest = model.max_seq if model.position == "learned" else max(LONGEST_SEQUENCE, model.max_seq)
    asked = sequence.max() if hasattr(sequence, "max") else sequence
    if asked > longest:
        raise EngineError(f"sequence {asked} is too long; {model.name} allows at most {longest}")


def can_be_timed(chip: Accelerator) -> bool:
    """Whether the rate of fp32 is on record, in which everything but matrix products is computed."""
    return any(peak.dtype == "fp32" and peak.accumulate == "fp32" for peak in chip.peaks)


def require_timed(chip: Accelerator) -> None:
    """Refuse questions for the time of a chip whose fp32 rate nobody published."""
    if not can_be_timed(chip):
        raise EngineError(
            f"gpu {chip.name!r} cannot be timed: no fp32 rate of it is published; training_memory and fits work; "
            "allowed for time: any other, such as a100-80, h100-sxm, h200"
        )


def require_formats(chip: Accelerator, precision: Precision) -> None:
    """Refuse a chip that lacks the format of the products, or the fp32 in which everything else is computed."""
    require_timed(chip)
    formats = {peak.dtype for peak in chip.peaks if peak.accumulate == "fp32"}
    for name in dict.fromkeys((precision.compute.name, precision.product_format)):
        if name not in formats:
            raise EngineError(
                f"precision {precision.name!r} is not allowed on {chip.name}, which has no {name}; "
                f"its formats: {', '.join(sorted(formats))}"
            )
