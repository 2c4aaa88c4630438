"""Model parallelism in the papers' closed forms: what tensor parallelism sends, and a pipeline's bubble and boundaries.

Every transformer block ends two column-row pairs, attention and MLP. Each pair needs one all-reduce of b s h elements
in the forward pass (Megatron's g) and one in the backward pass (f). Sequence parallelism replaces each by a
reduce-scatter and an all-gather, which together send the same bytes, and divides the activations between the pairs.

A pipeline has p stages, m micro-batches per step, v model chunks per device. What is in flight:
`ironlaw.config.layout.stages`.

Sources: Shoeybi et al. 2019, arXiv 1909.08053, section 3; Korthikanti et al. 2022, arXiv 2205.05198, sections
4.2.1-4.2.2; Narayanan et al. 2021, arXiv 2104.04473, section 2.2; GPipe, arXiv 1811.06965; PipeDream, arXiv 1806.03377.
"""

from __future__ import annotations

from ironlaw.core.arrays import minimum, require_each
from ironlaw.core.errors import EngineError
from ironlaw.core.units import Bytes, Count, Ratio, Traffic
from ironlaw.models.transformer import Transformer
from ironlaw.parallel.collectives import all_reduce_factor


def all_reduces_per_layer(*, recompute: bool = False) -> Count:
    """All-reduces of b s h elements per layer and micro-batch: 2 forward, 2 backward, 2 when the forward reruns."""
    return 6 if recompute else 4


def bytes_sent_per_layer(
    micro_batch: Count,
    sequence: Count,
    hidden: Count,
    tensor_parallel: Count,
    *,
    recompute: bool = False,
) -> Traffic:
    """Bytes each device sends per layer and micro-batch in 16 bit, the same with and without sequence parallelism.

    `all_reduces_per_layer * 2 (t-1)/t * 2 b s h`. Arguments may be NumPy arrays.
    """
    require_each(1, {"micro-batch": micro_batch, "sequence": sequence, "hidden size": hidden})
    volume = 2 * micro_batch * sequence * hidden
    return all_reduces_per_layer(recompute=recompute) * all_reduce_factor(tensor_parallel) * volume


def activation_bytes_per_layer(
    sequence: Count,
    micro_batch: Count,
    hidden: Count,
    heads: Count,
    tensor_parallel: Count = 1,
    *,
    sequence_parallel: bool = False,
    checkpointing: str = "none",
) -> Traffic:
    """Activation bytes of one layer by the equations of Korthikanti et al., 16-bit with dropout.

    | technique | bytes |
    |---|---|
    | none | s b h (34 + 5 a s / h) |
    | tensor parallel | s b h (10 + 24/t + 5 a s / (h t)) |
    | tensor + sequence parallel | s b h (34/t + 5 a s / (h t)) |
    | tensor parallel, selective recompute | s b h (10 + 24/t) |
    | tensor + sequence parallel, selective | s b h (34/t) |
    | full recompute | 2 s b h |

    These are the paper's, for Megatron-LM's kernels of 2022; `ironlaw.memory.ledger` counts what PyTorch keeps.

    Args:
        sequence: s, tokens in a sequence.
        micro_batch: b, sequences.
        hidden: h.
        heads: a.
        tensor_parallel: t.
        sequence_parallel: Whether layer norms and dropouts are divided along the sequence.
        checkpointing: `"none"`, `"selective"` (attention core) or `"full"` (keep the layer's input only).

    Raises:
        EngineError: Unknown `checkpointing`, or a size below one.

    Source: arXiv 2205.05198, equations 1, 2 and 4 and table 2.
    """
    require_each(
        1,
        {
            "sequence": sequence,
            "micro-batch": micro_batch,
            "hidden size": hidden,
            "heads": heads,
            "tensor parallel size": tensor_parallel,
        },
    )
    if checkpointing not in ("none", "selective", "full"):
        raise EngineError("checkpointing", checkpointing, ("none", "selective", "full"))
    sbh = sequence * micro_batch * hidden
    if checkpointing == "full":
        return 2 * sbh
    linear = 34 / tensor_parallel if sequence_parallel else 10 + 24 / tensor_parallel
    core = 5 * heads * sequence / (hidden * tensor_parallel) if checkpointing == "none" else 0
    return sbh * (linear + core)


def divides(model: Transformer, ways: Count) -> bool:
    """Whether a model can be cut so many ways along its width, its heads and its feed-forward width.

    Fewer key/value heads than devices are replicated, so then their number must divide the devices instead. The
    vocabulary is no obstacle: frameworks pad it.
    """
    if model.undivided:
        return ways == 1
    kv_fits = model.kv_heads % ways == 0 or ways % model.kv_heads == 0
    return kv_fits and not (model.heads % ways or model.ffn % ways or model.hidden % ways)


def bubble_overhead(stages: Count, micro_batches: Count, interleave: Count = 1) -> Ratio:
    """Idle time over ideal compute time: `(p-1) / (v m)`.

    This is how much longer the step takes, not the share of the step that is idle: see `bubble_fraction`.
    """
    _check(stages, micro_batches, interleave)
    return (stages - 1) / (interleave * micro_batches)


def bubble_fraction(stages: Count, micro_batches: Count, interleave: Count = 1) -> Ratio:
    """Share of the step in which a device idles: `(p-1) / (v m + p - 1)`.

    Equal to overhead / (1 + overhead). GPipe's "18.75 %" for 4 stages and 16 micro-batches is the overhead, 3/16; the
    idle share is 3/19 = 15.8 %.
    """
    _check(stages, micro_batches, interleave)
    return (stages - 1) / (interleave * micro_batches + stages - 1)


def boundary_bytes(micro_batch: Count, sequence: Count, hidden: Count, element_bytes: Bytes) -> Traffic:
    """Bytes one stage sends to the next per micro-batch and direction: `b s h` elements of the residual stream."""
    require_each(1, {"micro-batch": micro_batch, "sequence": sequence, "hidden size": hidden})
    return micro_batch * sequence * hidden * element_bytes


def boundary_crossings(stages: Count, micro_batches: Count, interleave: Count = 1) -> Ratio:
    """Sends one device makes per step, forward and backward together: `2 m v`, or none with a single stage.

    Interleaving divides the bubble by v and multiplies this by v.
    """
    _check(stages, micro_batches, interleave)
    return minimum(stages - 1, 1) * 2 * micro_batches * interleave


def _check(stages: Count, micro_batches: Count, interleave: Count) -> None:
    require_each(1, {"pipeline stages": stages, "micro-batches": micro_batches, "interleave": interleave})
