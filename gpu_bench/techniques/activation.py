"""The activation function inside the MLP."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu_bench.case import Activation
from gpu_bench.recipe import Recipe


@dataclass(frozen=True)
class WithActivation:
    """Use an activation function. ReLU keeps its result for the backward pass, the smooth ones their input."""

    function: Activation

    def apply(self, recipe: Recipe) -> Recipe:
        """Set it in the model."""
        return replace(recipe, config=replace(recipe.config, activation=self.function))
