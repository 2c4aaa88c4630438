"""Memory of the smallest GPT-2, moment by moment through one training step. Every byte comes from the engine."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import ironlaw
from ironlaw import GB, Setup, accelerator, model, setup, training_memory
from ironlaw.memory import MemoryLedger

GPT2, CARD = model("gpt2"), accelerator("rtx-4060")
BATCHES = (1, 2, 4, 8)
PARTS = {
    "driver": "Driver and libraries",
    "parameters": "Parameters",
    "gradients": "Gradients",
    "activations": "Activations",
    "passing": "Passing tensors",
}
"""From bottom to top."""


@dataclass(frozen=True)
class Point:
    """A moment of the step: what happens, and the bytes of every part then."""

    title: str
    sizes: dict[str, int]

    @property
    def total(self) -> int:
        """Bytes the card must have at this moment."""
        return sum(self.sizes.values())


def training(batch: int) -> Setup:
    """What is trained: FP32 and plain SGD, which keeps nothing from step to step but the weights."""
    return setup(GPT2, CARD, batch, optimizer="sgd", precision="fp32", update="fused")


@cache
def ledger(batch: int) -> MemoryLedger:
    """The engine's account."""
    return training_memory(training(batch))


def needed(batch: int) -> int:
    """Bytes the card must have: the highest of all moments."""
    return ledger(batch).device_total


def fits(batch: int) -> bool:
    """Whether the peak is within what the card can give."""
    return ironlaw.fits(training(batch))


@cache
def timeline(batch: int) -> tuple[Point, ...]:
    """The step from its beginning to its end, block by block.

    The engine gives what is allocated at each moment that may be the peak, and says that memory changes evenly from
    block to block between them. Tensors that are alive then and are not among the kept ones are the part `passing`.
    """
    account, layers = ledger(batch), GPT2.layers
    at = {moment.name: moment.bytes for moment in account.moments}
    kept = {part: size for name in ("activations", "logits") for part, size in account.bytes_by_part(name).items()}
    kept["head"] = sum(account.bytes_by_part(name).get("head", 0) for name in ("activations", "logits"))
    weights, gradients = account.component("parameters"), account.component("gradients")
    driver = account.device_total - account.allocated_peak + account.workspace_bytes
    block, before, saved = kept["block"] // layers, kept["embedding"], account.saved_bytes

    def point(title: str, allocated: float, activations: int, gradients: int) -> Point:
        passing = round(allocated) - account.workspace_bytes - weights - activations - gradients
        sizes = {"driver": driver, "parameters": weights, "gradients": gradients, "activations": activations}
        return Point(title, {**sizes, "passing": passing})

    rest = account.workspace_bytes + weights
    points = [point("Before the step", rest, 0, 0)]
    for done in range(1, layers + 1):
        allocated = at["forward, last block"] - block * (layers - done)
        points.append(point(f"Forward, block {done}", allocated, before + block * (done - 1), 0))
    points.append(point("Forward, the loss", at["forward, loss"], before + block * layers, 0))
    points.append(point("Backward, the loss", at["backward, loss"], saved, 0))
    last, first = at["backward, last block"], at["backward, first block"]
    table = GPT2.vocab * GPT2.hidden * 4
    for left in range(layers, 0, -1):
        share = (layers - left) / (layers - 1)
        made = table + round((gradients - table) * (layers - left) / layers)
        points.append(
            point(f"Backward, block {left}", last + (first - last) * share, before + block * (left - 1), made)
        )
    points.append(point("Backward, the embedding", at["backward, embedding"], before, gradients))
    points.append(point("The update", at["optimizer step"], 0, gradients))
    points.append(point("After the step", rest, 0, 0))
    return tuple(points)


def peak_index(batch: int) -> int:
    """Where the timeline is highest."""
    points = timeline(batch)
    return max(range(len(points)), key=lambda index: points[index].total)


def gb(size: float) -> str:
    """Bytes as GB with two decimals."""
    return f"{size / GB:,.2f}"
