"""How like the real updates the predicted ones are, one step ahead and farther."""

from plugins.book.drawing import Drawing
from plugins.book.runs import ahead


def draw() -> Drawing:
    """The cosine between predicted and real update over the steps ahead, over all seeds."""
    return ahead("cosine", "cosine to the real update", "Cosine between predicted and real update")
