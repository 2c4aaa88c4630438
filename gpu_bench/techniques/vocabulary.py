"""A padded vocabulary: 50,304 rows instead of 50,257, so that the head's matrix product fills whole tiles."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpu_bench.recipe import Recipe


@dataclass(frozen=True)
class PaddedVocabulary:
    """Round the vocabulary up to a multiple. The added rows are tokens that never occur."""

    multiple: int

    def apply(self, recipe: Recipe) -> Recipe:
        """Add the rows."""
        rows = -(-recipe.config.vocab // self.multiple) * self.multiple
        return replace(recipe, config=replace(recipe.config, vocab=rows))
