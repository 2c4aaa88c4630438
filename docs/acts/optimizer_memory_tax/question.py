"""The locked question of Act 1. Its right option is the one nearest to the engine's answer."""

from __future__ import annotations

from engine import GB
from plugins import live

from .settings import Setting, adam_tax, gb, ledger

ADAM = ledger(Setting("adam", "fp32", 1))
VECTOR = gb(ADAM.bytes_by_part("optimizer")["exp_avg"])
# --8<-- [start:question]
QUESTION = live.ChoiceQuestion(
    prompt="You train GPT-2 XL in FP32 and switch from SGD to Adam. How much more GPU memory does training need?",
    unit="GB",
    answer=lambda: adam_tax() / GB,
    options=(
        live.Option(
            0,
            "About 0 GB: an optimizer is a rule and stores nothing of the model's size",
            "Plain SGD is only a rule. Adam is a rule with a memory: it remembers past gradients of every parameter.",
        ),
        live.Option(
            3,
            "About 3 GB: it stores one extra vector",
            f"One vector with an FP32 number per parameter is already {VECTOR} GB, and Adam keeps two.",
        ),
        live.Option(
            12,
            "About 12 GB: it stores two extra vectors",
            f"Two vectors, each as large as the parameters: 2 × {VECTOR} GB.",
        ),
        live.Option(
            24,
            "About 24 GB: it keeps a full copy of the training state",
            f"{gb(ADAM.static_bytes)} GB is all that training with Adam keeps before activations. Parameters and "
            "gradients are part of it, and SGD needs those too.",
        ),
    ),
)


# --8<-- [end:question]
