"""How like the real updates the predicted ones are, one step ahead and farther."""

from book.runs import ahead
from explorable.figures.drawing import Drawing


def draw() -> Drawing:
    """The cosine between predicted and real update over the steps ahead, over all seeds."""
    return ahead("cosine", "cosine to the real update", "Cosine between predicted and real update")
