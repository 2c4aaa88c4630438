"""The Laptop Challenge: texts, controls and questions. The other modules here compute, charts.py draws."""

from __future__ import annotations

from explorable import live
from ironlaw import GB

from .parts import textbook
from .recipes import WinningRecipe, wins
from .reflections import REFLECTIONS
from .settings import BATCHES, BUDGET, LAPTOPS, OPTIMIZERS, UPDATES, Setting, fits, gb, setting_of
from .verdict import SOURCE_FLOORS, reveal, stable_floor
from .view import compute


def decisions(state: live.State) -> dict[str, live.Value]:
    """What the reader's ledger keeps of this act."""
    setting = setting_of(state)
    return {
        "optimizer_chosen": setting.optimizer,
        "precision_chosen": setting.precision,
        "gradient_checkpointing": setting.checkpointing,
        "laptop_fit_achieved": fits(setting) and setting.trains,
        "laptop_minimum_memory_gb": stable_floor(),
    }


def score(state: live.State) -> float | None:
    """Tokens per second of a recipe that wins."""
    setting = setting_of(state)
    return WinningRecipe(setting).speed if wins(setting) else None


ACT = live.Act(
    name="laptop-challenge",
    title="The Laptop Challenge",
    minutes=10,
    situation=f"GPT-2 XL, Adam, FP32, batch 32: the textbook counts {textbook(Setting()) / GB:.0f} GB. Your "
    f"laptop gives {gb(BUDGET)} GB and five levers.",
    contexts=(
        live.Context(
            "laptop",
            "Laptop, 8 GB",
            f"One GPU that can give {gb(BUDGET)} GB; sequences of 1,024 tokens. "
            "The weights change by PyTorch's fused update, which makes no temporary tensors.",
        ),
    ),
    question=live.NumberQuestion(
        prompt="Pull every lever as far as training can bear. How much memory is still needed?",
        unit="GB",
        minimum=1,
        maximum=40,
        step=0.1,
        answer=stable_floor,
        beliefs=lambda: (BUDGET / GB, *SOURCE_FLOORS),
    ),
    controls=(
        live.Choice(
            "precision",
            "Precision",
            (
                live.ControlOption("fp32", "FP32"),
                live.ControlOption("mixed", "Mixed"),
                live.ControlOption("fp16", "FP16"),
            ),
            "fp32",
        ),
        live.Choice("optimizer", "Optimizer", tuple(live.ControlOption(*one) for one in OPTIMIZERS.items()), "adam"),
        live.Choice("batch", "Batch size", tuple(live.ControlOption(size, str(size)) for size in BATCHES), BATCHES[0]),
        live.Toggle("checkpointing", "Gradient checkpointing", False, group="Trade time for memory"),
        live.Toggle("chunked", "Loss in chunks", False, group="Trade time for memory"),
        live.Toggle("in_backward", "Update during backward", False, group="Beyond the textbook", after_reveal=True),
        live.Toggle("eight_bit", "8-bit Adam states", False, group="Beyond the textbook", after_reveal=True),
        live.Choice(
            "offload",
            "Keep in host memory",
            (
                live.ControlOption("none", "Nothing"),
                live.ControlOption("optimizer", "States"),
                live.ControlOption("gradients", "States + gradients"),
            ),
            "none",
            "States include the master copy. Each step then crosses the bus.",
            after_reveal=True,
        ),
        live.Choice(
            "laptops",
            "Laptops",
            tuple(live.ControlOption(count, str(count)) for count in LAPTOPS),
            LAPTOPS[0],
            "Everything divided among them (ZeRO-3), the batch for each.",
            after_reveal=True,
        ),
    ),
    compute=compute,
    reveal=reveal,
    charts={
        "memory": "A step's tensors (exact), the textbook's count (◇), and what the peak needs, driver included",
        "floors": "The three floors",
        "weight": f"One weight under {UPDATES:,} equal updates",
    },
    reflections=REFLECTIONS,
    hands=(live.Segments("memory", "stack", "part", "label"),),
    staging=live.Staging("memory", (live.Beat(("floor", "floor_text")), live.Beat(("gap", "gap_text")))),
    can_fail=True,
    moves=True,
    ledger=decisions,
    score=score,
)
