"""The locked question of Act 1. The answer is the engine's."""

from __future__ import annotations

from explorable import live
from ironlaw import GB

from .settings import Setting, adam_tax, gb, ledger

ADAM = ledger(Setting("adam", "fp32", 1))
VECTOR = ADAM.bytes_by_part("optimizer")["exp_avg"]
TOLERANCE = 0.1
"""Share of the answer by which a prediction may miss it and be right."""
# --8<-- [start:question]
QUESTION = live.NumberQuestion(
    prompt="You switch from SGD to Adam, in FP32, with PyTorch's fused update. How much more memory does "
    "training need?",
    unit="GB",
    minimum=0,
    maximum=40,
    step=0.5,
    answer=lambda: adam_tax() / GB,
    beliefs=lambda: (0.0, VECTOR / GB, ADAM.static_bytes / GB),
)


# --8<-- [end:question]


def right(predicted: float) -> bool:
    """Whether a prediction is near enough."""
    return abs(predicted - adam_tax() / GB) <= TOLERANCE * adam_tax() / GB


def belief(predicted: float) -> str:
    """The sentence about the belief behind a prediction: that of the nearest of four well-known answers."""
    everything = gb(ADAM.static_bytes)
    beliefs = {
        0.0: "Plain SGD is only a rule and stores nothing of the model's size. Adam is a rule with a memory: it "
        "remembers past gradients of every parameter.",
        VECTOR / GB: f"One vector with an FP32 number per parameter is {gb(VECTOR)} GB, and Adam keeps two.",
        adam_tax() / GB: f"Two vectors, each as large as the parameters: 2 × {gb(VECTOR)} GB.",
        ADAM.static_bytes / GB: f"Perhaps you counted more than Adam adds: {everything} GB is all that training with "
        "Adam keeps before activations. Parameters and gradients are part of it, and SGD needs those too.",
    }
    return beliefs[min(beliefs, key=lambda size: abs(size - predicted))]
