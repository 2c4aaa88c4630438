"""How long the error of a predicted update is, beside the update itself."""

from book.runs import ahead
from explorable.figures.drawing import Drawing


def draw() -> Drawing:
    """The error over the steps ahead, over all seeds; 1 is what predicting nothing gives."""
    return ahead(
        "error",
        "error / length of the update",
        "Error of the predicted update beside the length of the real one",
        log=True,
    )
