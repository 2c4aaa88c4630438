"""`torch.compile` with the loss inside: the head's logits, the softmax and the loss become one graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu_bench.case import Compile
from gpu_bench.recipe import Recipe


@dataclass(frozen=True)
class Compiled:
    """Compile model and loss together.

    Modes: `default`; `max-autotune-no-cudagraphs` tries more kernels for each product; `reduce-overhead` replays the
    whole step as a CUDA graph, which helps where launching kernels takes longer than running them.
    """

    mode: Compile

    def apply(self, recipe: Recipe) -> Recipe:
        """Set the mode."""
        return replace(recipe, compile=self.mode)
