"""What DeepSpeed holds besides the step's tensors: staging copies of its optimizers, and communicators of its groups.

PyTorch's allocator gives a contiguous request a cached block only if one block is large enough; otherwise it asks the
driver for a new segment, which the process then keeps. A step frees its activations in many small blocks, so copies of
whole buckets or partitions get segments of their own. The driver reports them until the process ends.

Sources: DeepSpeed at commit 56c5223, April 2022 (`bf16_optimizer.py`, `zero/stage_1_and_2.py`, `engine.py`,
`pipe/engine.py`, `pipe/topology.py`, `utils.py`); Megatron-DeepSpeed of BigScience (`mpu/initialize.py`); PyTorch 1.11
(`ProcessGroupNCCL.cpp`: gathered lists are flattened; `CUDACachingAllocator.cpp`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ironlaw.config.layout import Layout, Stage
from ironlaw.config.resolved import Setup
from ironlaw.core.units import Bytes, Count
from ironlaw.memory.static import stage_parameters
from ironlaw.models.transformer import Transformer
from ironlaw.numerics.precision import Precision

BUCKET_ELEMENTS = 500_000_000
"""Elements of a bucket to reduce or to gather: DeepSpeed's defaults, `zero/constants.py`."""
PAIR_COMMUNICATOR = 544 * 2**20
"""Device memory of an NCCL communicator of two A100 joined by NVLink. Measured: NVIDIA/nccl issue 964."""
GROUP_COMMUNICATOR = 688 * 2**20
"""The same for more than two devices. Beyond two nodes it does not grow (NVIDIA/nccl issue 864)."""


@dataclass(frozen=True, slots=True)
class Overheads:
    """Bytes on the busiest device that no tensor of the step's ledger accounts for.

    Attributes:
        staging: Segments that the optimizer's contiguous copies leave with the allocator.
        communicators: NCCL's buffers.
    """

    staging: Bytes
    communicators: Bytes

    @property
    def total(self) -> Bytes:
        """Both."""
        return self.staging + self.communicators


def overheads(c: Setup) -> Overheads:
    """What DeepSpeed's engine adds on the first pipeline stage of a setup whose runtime it is, under ZeRO stage 1."""
    mode, layout, stage = c.precision, c.layout, c.stages[0]
    phases = _summed_apart(stage, mode, layout) if mode.accumulation else _summed_in_place(stage, mode, layout)
    buffers = sum(PAIR_COMMUNICATOR if size == 2 else GROUP_COMMUNICATOR for size in communicators(c.model, layout))
    return Overheads(new_segments(phases), buffers)


def communicators(model: Transformer, layout: Layout) -> tuple[Count, ...]:
    """Sizes of the groups in which a device of the first stage has communicated after one step."""
    tensor, pipeline = layout.tensor, layout.pipeline
    groups = [
        layout.devices,  # barriers
        tensor,  # Megatron's own group: sums inside a block
        layout.data,  # gradients and updated weights
        tensor * pipeline,  # the replica: parameter count, overflow, norm
    ]
    if pipeline > 1:
        groups += [pipeline, 2]  # the loss, broadcast; sends to the next stage, whose pair has a communicator
        groups += [tensor]  # DeepSpeed's own tensor group: gathers what the next stage sends back in parts
        groups += [2] if model.tied else []  # the embedding's two copies
    return tuple(size for size in groups if size > 1)


def new_segments(phases: Iterable[Sequence[Bytes]]) -> Bytes:
    """Bytes of the segments that contiguous requests leave behind, if no block of other tensors can serve them.

    Args:
        phases: Requests in order; those of one phase are alive together and all freed at its end.
    """
    segments: list[Bytes] = []
    for phase in phases:
        free = list(segments)
        for size in phase:
            fitting = [block for block in free if block >= size]
            if fitting:
                # The smallest block that fits is split; its rest stays free.
                block = min(fitting)
                free.remove(block)
                free.append(block - size)
            else:
                segments.append(size)
    return sum(segments)


def _summed_apart(stage: Stage, mode: Precision, layout: Layout) -> Iterator[tuple[Bytes, ...]]:
    """`BF16_Optimizer`: the gradient of each parameter cast to be added; all sums cast to be reduced; the gather."""
    assert mode.accumulation
    sizes = list(_elements(stage))
    yield (mode.accumulation.bytes(max(sizes)),)
    if layout.data > 1:
        # One flat tensor holds all sums. If it is larger than a bucket, it is reduced whole, in the 16-bit format.
        yield (mode.gradients.bytes(sum(sizes)),)
        yield _gathered(sum(sizes), mode)


def _summed_in_place(stage: Stage, mode: Precision, layout: Layout) -> Iterator[tuple[Bytes, ...]]:
    """`DeepSpeedZeroOptimizer`, stage 1: buckets to reduce; the share's gradients, flat, then in FP32; the gather."""
    assert mode.master
    sizes = list(_elements(stage))
    if layout.data > 1:
        for bucket in _buckets(sizes):
            yield (mode.gradients.bytes(bucket),)
    share = -(-sum(sizes) // layout.data)
    yield mode.gradients.bytes(share), mode.master.bytes(share)
    if layout.data > 1:
        yield _gathered(sum(sizes), mode)


def _elements(stage: Stage) -> Iterator[Count]:
    """Elements of each parameter in the order of the model: the embedding, then block by block."""
    parameters = stage_parameters(stage)
    blocks = [p.elements for p in parameters if p.name.startswith("blocks.")]
    yield from (p.elements for p in parameters if not p.name.startswith("blocks."))
    for _ in range(stage.blocks):
        yield from blocks


def _buckets(sizes: Iterable[Count]) -> Iterator[Count]:
    """Elements of each bucket that is copied: a single tensor is reduced where it is."""
    filled, tensors = 0, 0
    for size in sizes:
        if filled + size > BUCKET_ELEMENTS:
            if tensors > 1:
                yield filled
            filled, tensors = 0, 0
        filled, tensors = filled + size, tensors + 1
    if tensors > 1:
        yield filled


def _gathered(elements: Count, mode: Precision) -> tuple[Bytes, ...]:
    """The flat copy into which one piece of the updated weights is gathered."""
    return (mode.weights.bytes(-(-elements // max(1, elements // BUCKET_ELEMENTS))),)
