"""The boxes of one transformer block: what a forward pass makes, and which of it is kept."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from ironlaw import training_memory

from .configurations import Configuration, shape
from .counts import engine_count, training


@dataclass(frozen=True)
class Box:
    """A tensor that the forward pass of a block makes.

    Attributes:
        name: the toggle that says whether the reader thinks it is kept.
        branch: the half of the block in which it is made.
        label: what the picture calls it.
        kept_as: the engine's names of the tensors that are kept of it, where any are.
        width: numbers per token, in hidden sizes; 0 for the scores, which depend on the sequence.
    """

    name: str
    branch: str
    label: str
    kept_as: tuple[str, ...]
    width: int = 1

    @property
    def place(self) -> str:
        """The half of the block, as a reader calls it."""
        return "attention" if self.branch == "attention" else "MLP"


SCORES = ("softmax", "future", "dropout", "dropout.mask", "output.cast")
"""Names of the tensors with a number for each pair of tokens that attention keeps when it is not fused."""
BOXES = (
    Box("stream_1", "attention", "Residual", ("input",)),
    Box("norm_1", "attention", "After norm", ("ln_1", "attn.c_attn.cast")),
    Box("qkv", "attention", "Q, K, V", ("attn.c_attn", "attn.core.q", "attn.core.k", "attn.core.v"), 3),
    Box("scores", "attention", "Scores", tuple(f"attn.core.{name}" for name in SCORES), 0),
    Box("result", "attention", "Weighted sum", ("attn.core",)),
    Box("projection", "attention", "Projection", ()),
    Box("stream_2", "mlp", "Residual", ("residual_1",)),
    Box("norm_2", "mlp", "After norm", ("ln_2", "mlp.c_fc.cast")),
    Box("up", "mlp", "Before GELU", ("mlp.c_fc",), 4),
    Box("gelu", "mlp", "After GELU", ("mlp.gelu",), 4),
    Box("down", "mlp", "Second product", ()),
)
"""The boxes in the order in which a block makes them."""


@cache
def kept_of(configuration: Configuration) -> dict[str, int]:
    """Bytes that are kept of each box in all blocks, by the engine; 0 for what is dropped."""
    tensors = training_memory(training(configuration)).tensors
    found = {box.name: 0 for box in BOXES}
    for box in BOXES:
        names = {f"blocks.*.{name}" for name in box.kept_as}
        found[box.name] = sum(one.bytes for one in tensors if one.component == "activations" and one.name in names)
    return found


@cache
def sizes(configuration: Configuration) -> dict[str, int]:
    """Bytes of each box in all blocks: what is kept of it, or what it would take."""
    model, each = shape(configuration), 4 if configuration.precision in ("fp32", "tf32") else 2
    tokens = configuration.batch * configuration.sequence
    kept = kept_of(configuration)
    whole = {
        box.name: (box.width * model.hidden or model.heads * configuration.sequence) * tokens * model.layers * each
        for box in BOXES
    }
    return {name: kept[name] or whole[name] for name in whole}


def given(configuration: Configuration) -> int:
    """Bytes that are kept and have no box: the loss, the last norm, statistics."""
    return engine_count(configuration) - sum(kept_of(configuration).values())
