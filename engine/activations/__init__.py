"""Which tensors a framework keeps from forward to backward: one operation list per framework and model family."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from engine.activations import torch_gpt2, torch_llama
from engine.backends import Backend
from engine.backends import backend as backend_by_name
from engine.blocks import Section
from engine.errors import EngineError
from engine.models import Transformer
from engine.precision import Precision
from engine.units import Ratio

Attention = Literal["flash", "standard"]


@lru_cache(maxsize=512)
def sections(
    model: Transformer,
    precision: Precision,
    attention: Attention = "flash",
    dropout: Ratio = 0.0,
    backend: str | Backend = "cuda",
) -> tuple[Section, ...]:
    """The forward pass of one training step as sections of operations: embedding, block, norm, head.

    Args:
        model: The transformer.
        precision: The precision mode.
        attention: `"flash"` fuses attention, `"standard"` keeps the T x T probabilities.
        dropout: Probability of embedding, attention and residual dropout (Llama's family: of attention dropout).
        backend: Whose kernels run, `"cuda"` or `"cpu"`.

    Raises:
        EngineError: For an unknown attention or backend, a dropout outside [0, 1) or a model family without a list.
    """
    if attention not in ("flash", "standard"):
        raise EngineError(f"attention {attention!r} is unknown; allowed: flash, standard")
    if not 0 <= dropout < 1:
        raise EngineError(f"dropout {dropout!r} is not allowed; it must be at least 0 and below 1")
    kernels = backend_by_name(backend)
    if model.mlp == "swiglu":
        return (
            torch_llama.embedding(model, precision, kernels),
            torch_llama.block(model, precision, kernels, attention, dropout),
            torch_llama.norm(model, precision, kernels),
            torch_llama.head(model, precision, kernels),
        )
    return (
        torch_gpt2.embedding(model, precision, kernels, dropout),
        torch_gpt2.block(model, precision, kernels, attention, dropout),
        torch_gpt2.norm(model, precision, kernels),
        torch_gpt2.head(model, precision, kernels),
    )
