"""Tensor parallelism: what each layer sends, with and without sequence parallelism, in the papers' closed forms.

Every transformer block ends two column-row pairs, attention and MLP. Each pair needs one all-reduce of b s h elements
in the forward pass (Megatron's g) and one in the backward pass (f). Sequence parallelism replaces each by a
reduce-scatter and an all-gather, which together send the same bytes, and divides the activations between the pairs.

Sources: Shoeybi et al. 2019, arXiv 1909.08053, section 3; Korthikanti et al. 2022, arXiv 2205.05198, sections
4.2.1-4.2.2.
"""

from __future__ import annotations

from ironlaw.core.arrays import require_each
from ironlaw.core.errors import EngineError
from ironlaw.core.units import Count, Traffic
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
