"""Layouts: how a job's devices divide a model: data, tensor and pipeline parallelism, ZeRO."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from engine.core.errors import EngineError, settle_fields, show, whole_number
from engine.core.units import Count
from engine.models.transformer import Transformer

_COUNTS = dict.fromkeys(("data", "tensor", "pipeline", "micro_batches", "interleave"), 1)
_NAMES = {"schedule": ("gpipe", "1f1b")}
_SWITCHES = ("sequence_parallel", "balanced", "overlap", "overlap_tensor")


@dataclass(frozen=True, slots=True)
class Layout:
    """How the devices of a job divide the work. The default is a single device.

    Attributes:
        data: Replicas that see different sequences, n.
        tensor: Devices that share every matrix, t.
        pipeline: Stages of consecutive blocks, p.
        sequence_parallel: Whether the tensor group also divides norms and residuals along the sequence.
        zero: What the data group divides: 0 nothing, 1 optimizer states, 2 also gradients, 3 also parameters.
        micro_batches: Micro-batches a stage works through per step, m.
        interleave: Model chunks per stage, v.
        schedule: Order of the pipeline's work, `"1f1b"` or `"gpipe"`.
        balanced: Whether embedding and head count as a block each when a pipeline divides the model.
        overlap: Whether data parallelism's collectives run beside the work where they can.
        overlap_tensor: Whether tensor parallelism's collectives run beside the work, piece by piece.
    """

    data: Count = 1
    tensor: Count = 1
    pipeline: Count = 1
    sequence_parallel: bool = False
    zero: Count = 0
    micro_batches: Count = 1
    interleave: Count = 1
    schedule: str = "1f1b"
    balanced: bool = False
    overlap: bool = True
    overlap_tensor: bool = False

    def __post_init__(self) -> None:
        settle_fields(self, _COUNTS, {}, ())
        object.__setattr__(self, "zero", zero_stage(self.zero))
        settle_fields(self, {}, _NAMES, _SWITCHES)
        if self.sequence_parallel and self.tensor == 1:
            raise EngineError("sequence_parallel True is not allowed with tensor 1; allowed: tensor of at least 2")
        if self.interleave > 1 and (self.pipeline == 1 or self.schedule == "gpipe"):
            raise EngineError(
                f"interleave {self.interleave} is not allowed; it needs pipeline above 1 and schedule 1f1b"
            )

    @property
    def devices(self) -> Count:
        """All devices of the job."""
        return self.data * self.tensor * self.pipeline

    @property
    def sequence_shards(self) -> Count:
        """Ways in which norms and residuals are divided along the sequence."""
        return self.tensor if self.sequence_parallel else 1


def zero_stage(stage: object) -> int:
    """A stage of ZeRO as Python's own whole number. Raises `EngineError` for anything but 0 to 3."""
    try:
        return whole_number("zero", stage, 0, 3)
    except EngineError:
        raise EngineError(f"zero {show(stage)} is unknown; allowed: 0, 1, 2, 3") from None


@lru_cache(maxsize=256)
def tensor_shard(model: Transformer, ways: Count) -> Transformer:
    """What one of `ways` tensor-parallel devices holds, itself a transformer with fewer heads and narrower MLP.

    The vocabulary is padded to a multiple; key/value heads fewer than `ways` are repeated (Megatron-LM).

    Raises:
        EngineError: When `ways` does not divide heads, feed-forward or hidden size.
    """
    if ways == 1:
        return model
    for what, size in (("heads", model.heads), ("ffn", model.ffn), ("hidden", model.hidden)):
        if size % ways:
            raise EngineError(f"tensor {ways} is not allowed; it must divide {what} {size} of {model.name}")
    return replace(
        model,
        heads=model.heads // ways,
        kv_heads=max(1, model.kv_heads // ways),
        head_size=model.head_size,
        ffn=model.ffn // ways,
        vocab=-(-model.vocab // ways),
    )


@dataclass(frozen=True, slots=True)
class Stage:
    """One pipeline stage of a tensor shard.

    Attributes:
        model: The tensor shard.
        blocks: Blocks whose parameters the stage holds.
        kept_blocks: Blocks whose activations are in flight at the worst moment, over all micro-batches.
        in_flight: Micro-batches in flight, for what occurs once per micro-batch.
        first: Whether it holds the embedding.
        last: Whether it holds the final norm and the head.
    """

    model: Transformer
    blocks: Count
    kept_blocks: Count
    in_flight: Count
    first: bool
    last: bool


@lru_cache(maxsize=256)
def stages(model: Transformer, layout: Layout) -> tuple[Stage, ...]:
    """Every stage of the pipeline, in order. Blocks that do not divide evenly go one more to each of the first stages.

    In flight: GPipe holds every micro-batch; 1F1B holds p on the first stage, one less on each after it; interleaving
    holds p v + p - 1 chunks of L/(p v) blocks on the first and p v on the last (Korthikanti et al. 2022, arXiv
    2205.05198, section 4.2.3). Uneven division: DeepSpeed, `runtime/utils.py`, `partition_uniform`.

    Raises:
        EngineError: More stages than blocks, or an interleaving that blocks or micro-batches cannot have.
    """
    shard, p = tensor_shard(model, layout.tensor), layout.pipeline
    # Balanced stages have equally many slots; embedding and head take one slot of the first and of the last stage.
    slots = model.layers + 2 * layout.balanced
    if p * layout.interleave > slots:
        if layout.interleave > 1:
            raise EngineError(
                f"interleave {layout.interleave} is not allowed; pipeline {p} x interleave is more than the "
                f"{model.layers} blocks of {model.name}"
            )
        raise EngineError(f"pipeline {p} is not allowed; {model.name} has {model.layers} blocks")
    if p == 1:
        return (Stage(shard, model.layers, model.layers, 1, first=True, last=True),)
    if layout.interleave > 1:
        _require_chunks(model, layout, slots)
    sizes = [slots // p + (i < slots % p) for i in range(p)]
    sizes[0] -= layout.balanced
    sizes[-1] -= layout.balanced
    if min(sizes) < 1:
        raise EngineError(f"pipeline {p} is not allowed; balanced stages of {model.name} would hold no block")
    return tuple(
        Stage(shard, size, _kept(i, size, slots, layout), _flight(i, layout), first=i == 0, last=i == p - 1)
        for i, size in enumerate(sizes)
    )


def _require_chunks(model: Transformer, layout: Layout, slots: Count) -> None:
    chunks = layout.pipeline * layout.interleave
    if slots % chunks:
        raise EngineError(
            f"interleave {layout.interleave} is not allowed; pipeline {layout.pipeline} x interleave must divide the "
            f"{slots} blocks of {model.name}"
        )
    if layout.micro_batches % layout.pipeline:
        raise EngineError(
            f"interleave {layout.interleave} is not allowed; pipeline {layout.pipeline} must divide the "
            f"{layout.micro_batches} micro-batches of a step"
        )


def _flight(index: Count, layout: Layout) -> Count:
    m = layout.micro_batches
    return m if layout.schedule == "gpipe" else min(layout.pipeline - index, m)


def _kept(index: Count, blocks: Count, slots: Count, layout: Layout) -> Count:
    """Blocks whose activations are in flight at the worst moment of a stage."""
    p, m, v = layout.pipeline, layout.micro_batches, layout.interleave
    if v == 1:
        return blocks * _flight(index, layout)
    return min((p * v + p - 1 - index) * (slots // (p * v)), blocks * m)
