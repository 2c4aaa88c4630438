"""Which tensors a framework keeps from forward to backward: one operation list per framework and model family."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

from engine.activations import torch_gpt2
from engine.blocks import Section
from engine.errors import EngineError
from engine.models import Transformer
from engine.precision import Precision
from engine.units import Ratio

Attention = Literal["flash", "standard"]


@lru_cache(maxsize=512)
def sections(model: Transformer, precision: Precision, attention: Attention, dropout: Ratio) -> tuple[Section, ...]:
    """The forward pass of one training step as sections of operations: embedding, blocks, head with loss.

    Args:
        model: The transformer.
        precision: The precision mode.
        attention: `"flash"` fuses attention, `"standard"` keeps the T x T probabilities.
        dropout: Probability of embedding, attention and residual dropout.

    Raises:
        EngineError: For an unknown attention, a dropout outside [0, 1) or a model family without a list.
    """
    if attention not in ("flash", "standard"):
        raise EngineError(f"attention {attention!r} is unknown; allowed: flash, standard")
    if not 0 <= dropout < 1:
        raise EngineError(f"dropout {dropout!r} is not allowed; it must be at least 0 and below 1")
    if model.position != "learned" or model.norm != "layernorm" or model.mlp != "gelu":
        raise EngineError(f"model {model.name!r} has no operation list; allowed: learned positions, layernorm, gelu")
    return torch_gpt2.sections(model, precision, attention, dropout)
