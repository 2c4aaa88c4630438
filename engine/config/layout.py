"""Layouts: how a job's devices divide a model: data, tensor and pipeline parallelism, ZeRO."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

from engine.core.errors import EngineError, one_of, require_positive
from engine.core.units import Count
from engine.models.transformer import Transformer

ZeroStage = Literal[0, 1, 2, 3]
SCHEDULES = ("gpipe", "1f1b")


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
    """

    data: Count = 1
    tensor: Count = 1
    pipeline: Count = 1
    sequence_parallel: bool = False
    zero: ZeroStage = 0
    micro_batches: Count = 1
    interleave: Count = 1
    schedule: str = "1f1b"
    balanced: bool = False

    def __post_init__(self) -> None:
        for field in ("data", "tensor", "pipeline", "micro_batches", "interleave"):
            require_positive(field, getattr(self, field))
        if self.zero not in (0, 1, 2, 3) or isinstance(self.zero, bool):
            raise EngineError(f"zero {self.zero!r} is unknown; allowed: 0, 1, 2, 3")
        if self.schedule not in SCHEDULES:
            raise one_of("schedule", self.schedule, SCHEDULES)
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
    """The stages that can need the most memory: the first and the last.

    In flight: GPipe holds every micro-batch; 1F1B holds p on the first stage and one on the last; interleaving holds
    p v + p - 1 chunks of L/(p v) blocks on the first (Korthikanti et al. 2022, arXiv 2205.05198, section 4.2.3).

    Raises:
        EngineError: When there are more stages than blocks.
    """
    shard, p, m = tensor_shard(model, layout.tensor), layout.pipeline, layout.micro_batches
    # Balanced stages have as many slots each; the first and the last fill one with what is not a block.
    slots = model.layers + 2 * layout.balanced
    if p * layout.interleave > slots:
        raise EngineError(f"pipeline {p * layout.interleave} is not allowed; {model.name} has {model.layers} blocks")
    if p == 1:
        return (Stage(shard, model.layers, model.layers, 1, first=True, last=True),)
    blocks = -(-slots // p) - layout.balanced
    if blocks < 1:
        raise EngineError(f"pipeline {p} is not allowed; balanced stages of {model.name} would hold no block")
    flights = (m, m) if layout.schedule == "gpipe" else (min(p, m), 1)
    kept = [blocks * flight for flight in flights]
    if layout.interleave > 1:
        chunks, size = p * layout.interleave + p - 1, -(-slots // (p * layout.interleave))
        kept[0] = min(chunks * size, blocks * m)
        kept[1] = min(p * layout.interleave * size, blocks * m)
    return (
        Stage(shard, blocks, kept[0], flights[0], first=True, last=False),
        Stage(shard, blocks, kept[1], flights[1], first=False, last=True),
    )
