"""How long the error of a predicted update is, beside the update itself."""

from plugins.book.drawing import Drawing
from plugins.book.runs import ahead


def draw() -> Drawing:
    """The error over the steps ahead, over all seeds; 1 is what predicting nothing gives."""
    return ahead(
        "error",
        "error / length of the update",
        "Error of the predicted update beside the length of the real one",
        log=True,
    )
