"""What PyTorch's FSDP2 has in memory besides the shards, and when.

`fully_shard` on every block and on the model makes one group of parameters of each block, and one, the root, of all
others. A block is gathered into a flat buffer and copied out of it; in the backward pass the buffer of the next block
is there already. The root stays gathered from the beginning of the forward pass to the end of the backward pass. A
group's gradients wait whole until its backward pass is over, and are copied to be reduced; the copy lives until the
next group's reduction begins. Frozen parameters are gathered with the others and have no gradients; scales of 4-bit
matrices are no parameters and stay whole, and their bytes are divided where they are stored in a floating format.

Source: PyTorch 2.13, `torch/distributed/fsdp/_fully_shard/` (`_fsdp_param_group.py`: `wait_for_unshard`,
`post_backward`; `_fsdp_collectives.py`; `_fsdp_state.py`: the root is not resharded after its forward pass). Tested
against it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from ironlaw.config.layout import Stage
from ironlaw.config.resolved import Setup
from ironlaw.core.units import Bytes
from ironlaw.graph.adaptation import Held
from ironlaw.memory.static import block_held, stage_held, stored_bytes
from ironlaw.memory.tensors import EVALUATION


@dataclass(frozen=True, slots=True)
class FullySharded:
    """Bytes of groups of parameters that are whole for a while. All zero where nothing is fully sharded.

    Attributes:
        root: The root's parameters.
        block: A block's parameters.
        block_reduction: A block's gradients, copied to be reduced.
        root_gradients: The root's gradients.
        head_gradient: Those of the output matrix alone, where it is not shared with the embedding.
        ahead: The last block's parameters, whose buffer is there before the loss runs backward; counted only where a
            model is trained in parts.
    """

    root: Bytes = 0
    block: Bytes = 0
    block_reduction: Bytes = 0
    root_gradients: Bytes = 0
    head_gradient: Bytes = 0
    ahead: Bytes = 0

    def at(self, moment: str) -> Bytes:
        """Bytes at a moment of the step (`ironlaw.memory.peak`), without gradients that its working set counts."""
        if moment == "optimizer step":
            return 0
        if moment.startswith(EVALUATION):
            return self.root + (3 if self.ahead else 2) * self.block * (moment == f"{EVALUATION}, block")
        if moment == "last reduction":
            return 2 * self.root_gradients
        if moment == "forward, last block":
            return self.root + 2 * self.block
        if moment == "forward, first gather":
            return 2 * self.root + 2 * self.block
        if moment == "forward, last gather":
            return self.root + 3 * self.block
        if moment == "backward, loss":
            return self.root + self.ahead
        if moment == "forward, loss":
            return self.root
        waiting = self.root + self.head_gradient
        if moment == "backward, final norm":
            return waiting
        if moment.startswith("backward, last"):  # no other block has been reduced
            return waiting + 2 * self.block
        gathered = {"embedding": 0, "first": 1}.get(moment.removeprefix("backward, ").split()[0], 2)
        return waiting + self.block_reduction + gathered * self.block


def fully_sharded(c: Setup, stage: Stage) -> FullySharded:
    """What a stage has gathered; nothing where its parameters are not divided, or not by PyTorch.

    Args:
        c: The setup.
        stage: One of its pipeline's stages.
    """
    # Whole groups do not depend on how many replicas divide them.
    return _fully_sharded(c.replica, stage.at_rest) if c.fully_sharded else FullySharded()


@lru_cache(maxsize=256)
def _fully_sharded(c: Setup, stage: Stage) -> FullySharded:
    outside, blocks = groups(c, stage)
    return FullySharded(
        root=stored_bytes(c, outside),
        block=stored_bytes(c, blocks),
        block_reduction=_gradients(c, blocks),
        root_gradients=_gradients(c, outside),
        head_gradient=_gradients(c, (h for h in outside if h.parameter.name.startswith("lm_head"))),
        ahead=0 if c.adaptation.everything else stored_bytes(c, blocks),
    )


def groups(c: Setup, stage: Stage) -> tuple[tuple[Held, ...], tuple[Held, ...]]:
    """The parameters of the root and of a block."""
    outside = (one for one in stage_held(c, stage) if not one.parameter.name.startswith("blocks."))
    return tuple(outside), block_held(c, stage)


def _gradients(c: Setup, kept: Iterable[Held]) -> Bytes:
    return c.gradients.bytes(sum(one.parameter.elements for one in kept if one.trained))
