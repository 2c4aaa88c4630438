"""Gradient accumulation: several small batches per step, whose gradients add up to those of one large batch."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu_bench.recipe import Recipe


@dataclass(frozen=True)
class Accumulated:
    """Run several forward and backward passes before each update."""

    passes: int

    def apply(self, recipe: Recipe) -> Recipe:
        """Set the number of passes."""
        return replace(recipe, accumulate=self.passes)
