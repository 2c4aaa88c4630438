"""Which tensors a framework keeps from forward to backward: one operation list per framework and model family."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal, get_args

from engine.core.errors import EngineError, require_name
from engine.core.units import Count, Ratio
from engine.graph.backends import Backend
from engine.graph.backends import backend as backend_by_name
from engine.graph.blocks import megatron, parts, torch_gpt2, torch_llama
from engine.graph.ir import Section
from engine.graph.tape import Tape
from engine.models.transformer import Transformer
from engine.numerics.dtypes import FP32
from engine.numerics.precision import Precision

AttentionKernel = Literal["flash", "standard"]
FrameworkName = Literal["torch", "megatron"]


@lru_cache(maxsize=512)
def sections(
    model: Transformer,
    precision: Precision,
    attention: AttentionKernel = "flash",
    dropout: Ratio = 0.0,
    backend: str | Backend = "cuda",
    framework: FrameworkName = "torch",
    sequence_shards: Count = 1,
) -> tuple[Section, ...]:
    """The forward pass of one training step as sections of operations: embedding, block, norm, head.

    Args:
        model: The transformer.
        precision: The precision mode.
        attention: `"flash"` fuses attention, `"standard"` keeps the T x T probabilities.
        dropout: Probability of embedding, attention and residual dropout (Llama's family: of attention dropout).
        backend: Whose kernels run, `"cuda"` or `"cpu"`.
        framework: Whose operation list, `"torch"` (eager) or `"megatron"` (fused kernels, 16-bit).
        sequence_shards: Devices that divide norms and residuals along the sequence (sequence parallelism).

    Raises:
        EngineError: For an unknown attention, framework or backend, a dropout outside [0, 1).
    """
    require_name("attention", attention, get_args(AttentionKernel))
    require_name("framework", framework, get_args(FrameworkName))
    if not 0 <= dropout < 1:
        raise EngineError(f"dropout {dropout!r} is not allowed; it must be at least 0 and below 1")
    kernels, by_hand = backend_by_name(backend), framework == "megatron"

    def tape(prefix: str = "") -> Tape:
        return Tape(prefix, precision, kernels, sequence_shards, by_hand=by_hand)

    family = megatron if by_hand else torch_llama if model.mlp == "swiglu" else torch_gpt2
    return (
        parts.embedding(model, tape(), 0.0 if family is torch_llama else dropout),
        parts.block(model, tape("blocks.*."), family.attention, family.mlp, attention, dropout),
        parts.final_norm(model, tape()),
        parts.head(model, tape(), precision.weights if family is torch_gpt2 else FP32),
    )
