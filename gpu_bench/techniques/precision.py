"""Number formats: FP32, TF32, autocast to FP16 with loss scaling or to BF16, and everything in one 16-bit format."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from gpu_bench.case import Precision
from gpu_bench.recipe import Recipe


@dataclass(frozen=True)
class Formats:
    """What a mode sets.

    Attributes:
        weights: Format of parameters, gradients and optimizer state.
        autocast: Format of matrix products under autocast, or None.
        tf32: Whether FP32 products may use TF32.
        scaled: Whether the loss is scaled: FP16 gradients below 6e-8 would be zero.
    """

    weights: torch.dtype = torch.float32
    autocast: torch.dtype | None = None
    tf32: bool = False
    scaled: bool = False


FORMATS: dict[Precision, Formats] = {
    "fp32": Formats(),
    "tf32": Formats(tf32=True),
    "amp-fp16": Formats(autocast=torch.float16, scaled=True),
    "amp-bf16": Formats(autocast=torch.bfloat16),
    "bf16": Formats(weights=torch.bfloat16),
    # No loss scaling: PyTorch's scaler refuses FP16 gradients, because dividing them would underflow again.
    "fp16": Formats(weights=torch.float16),
    # Everything that `techniques.fp8` leaves in 16 bit.
    "fp8": Formats(autocast=torch.bfloat16),
}


@dataclass(frozen=True)
class InPrecision:
    """Train in a precision mode."""

    mode: Precision

    def apply(self, recipe: Recipe) -> Recipe:
        """Set the formats."""
        chosen = FORMATS[self.mode]
        return replace(recipe, weights=chosen.weights, autocast=chosen.autocast, tf32=chosen.tf32, scaled=chosen.scaled)
