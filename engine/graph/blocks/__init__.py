"""Which tensors a framework keeps from forward to backward: one operation list per framework and model family."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from engine.core.errors import EngineError
from engine.core.units import Count, Ratio
from engine.graph.backends import Backend
from engine.graph.backends import backend as backend_by_name
from engine.graph.blocks import megatron, parts, torch_gpt2, torch_llama
from engine.graph.ir import Section
from engine.models.transformer import Transformer
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
    if attention not in ("flash", "standard"):
        raise EngineError(f"attention {attention!r} is unknown; allowed: flash, standard")
    if not 0 <= dropout < 1:
        raise EngineError(f"dropout {dropout!r} is not allowed; it must be at least 0 and below 1")
    if framework not in ("torch", "megatron"):
        raise EngineError(f"framework {framework!r} is unknown; allowed: torch, megatron")
    kernels = backend_by_name(backend)
    if framework == "megatron":
        return megatron.sections(model, precision, kernels, attention, dropout, sequence_shards)
    family = torch_llama if model.mlp == "swiglu" else torch_gpt2
    return (
        parts.embedding(model, precision, kernels, 0.0 if family is torch_llama else dropout, sequence_shards),
        family.block(model, precision, kernels, attention, dropout, sequence_shards),
        parts.final_norm(model, precision, kernels, sequence_shards),
        family.head(model, precision, kernels, sequence_shards),
    )
