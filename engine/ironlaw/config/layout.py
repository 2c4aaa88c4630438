"""Layouts: how a job's devices divide a model: data, tensor, pipeline, context and expert parallelism, ZeRO."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, gcd

from ironlaw.core.arrays import require_number
from ironlaw.core.errors import EngineError, Instead, settle_fields, whole_number
from ironlaw.core.units import Count, Ratio
from ironlaw.models.layers import Experts, Layer
from ironlaw.models.transformer import Transformer

_COUNTS = dict.fromkeys(("data", "tensor", "pipeline", "context", "expert", "micro_batches", "interleave"), 1)
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
        zero: What devices with the same parameters divide (`peers`): 0 nothing, 1 optimizer states, 2 also gradients,
            3 also parameters.
        micro_batches: Micro-batches a stage works through per step, m.
        interleave: Model chunks per stage, v.
        schedule: Order of the pipeline's work, `"1f1b"` or `"gpipe"`.
        balanced: Whether embedding and head count as a block each when a pipeline divides the model.
        overlap: Whether data parallelism's collectives run beside the work where they can.
        overlap_tensor: Whether tensor parallelism's collectives run beside the work, piece by piece.
        context: Devices that share every sequence, c.
        expert: Devices, of those with the same other parameters, that share the experts of every layer, e.
        imbalance: Tokens of the fullest of these devices over their mean.
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
    context: Count = 1
    expert: Count = 1
    imbalance: Ratio = 1.0

    def __post_init__(self) -> None:
        settle_fields(self, _COUNTS, {}, ())
        require_number("imbalance", self.imbalance)
        if getattr(self.imbalance, "shape", ()) or not 1 <= self.imbalance <= self.expert:
            raise EngineError("imbalance", self.imbalance, f"from 1 to {self.expert}", {"expert": self.expert})
        object.__setattr__(self, "zero", zero_stage(self.zero))
        settle_fields(self, {}, _NAMES, _SWITCHES)

    @property
    def devices(self) -> Count:
        """All devices of the job."""
        return self.data * self.together

    @property
    def together(self) -> Count:
        """Devices that hold one replica and work on its sequences together."""
        return self.tensor * self.pipeline * self.context

    @property
    def model_parallel(self) -> bool:
        """Whether devices run different parts of a model or of a sequence, for which a script must be written."""
        return self.together > 1 or self.expert > 1

    @property
    def peers(self) -> Count:
        """Devices with the same parameters, which sum gradients and among which ZeRO divides: data times context.

        Source: Megatron-LM, `core/parallel_state.py`, the data-parallel group with context parallelism.
        """
        return self.data * self.context

    @property
    def expert_peers(self) -> Count:
        """Devices with the same experts, among which ZeRO divides these."""
        return max(self.peers // self.expert, 1)

    @property
    def divides_weights(self) -> bool:
        """Whether replicas divide the weights: FSDP's full sharding, ZeRO-3."""
        return self.peers > 1 and self.zero == 3

    @property
    def divides_gradients(self) -> bool:
        """Whether replicas divide the gradients: ZeRO-2, and what divides weights too."""
        return self.peers > 1 and self.zero >= 2

    @property
    def different_replicas(self) -> Count:
        """Replicas as far as a device's memory tells: where they divide nothing, any number of several is as two."""
        return self.data if self.zero else min(self.data, 2)

    @property
    def sequence_shards(self) -> Count:
        """Ways in which norms and residuals are divided along the sequence."""
        return self.tensor if self.sequence_parallel else 1


def zero_stage(stage: object) -> int:
    """A stage of ZeRO as Python's own whole number. Raises `EngineError` for anything but 0 to 3."""
    try:
        return whole_number("zero", stage, 0, 3)
    except EngineError:
        raise EngineError("zero", stage, (0, 1, 2, 3)) from None


@lru_cache(maxsize=256)
def tensor_shard(model: Transformer, ways: Count) -> Transformer:
    """What one of `ways` tensor-parallel devices holds, itself a transformer with fewer heads and narrower MLP.

    The vocabulary is padded to a multiple; key/value heads fewer than `ways` are repeated (Megatron-LM).

    Raises:
        EngineError: When `ways` does not divide heads, feed-forward or hidden size.
    """
    if ways == 1:
        return model
    require_divisible(model, ways, tensor_ways(model))
    return replace(
        model,
        heads=model.heads // ways,
        kv_heads=max(1, model.kv_heads // ways),
        head_size=model.head_size,
        ffn=model.ffn // ways,
        vocab=-(-model.vocab // ways),
        runs=tuple((layer.divided(ways), count) for layer, count in model.runs),
    )


@lru_cache(maxsize=256)
def expert_shard(model: Transformer, ways: Count, imbalance: Ratio = 1.0) -> Transformer:
    """What one of `ways` devices that share the experts holds: the fullest of them, as it gets most tokens.

    Its pairs of a token and an expert are rounded up to whole ones per token.

    Raises:
        EngineError: A model without experts, or a number of them that `ways` does not divide.
    """
    if ways == 1:
        return model
    parts = [layer.feed_forward for layer, _ in model.kinds if isinstance(layer.feed_forward, Experts)]
    fewest = gcd(*(part.count for part in parts))
    if not parts or fewest % ways:
        allowed = tuple(other for other in range(1, fewest + 1) if fewest % other == 0) or (1,)
        raise EngineError("expert", ways, allowed, {"model": model.name}, f"which has {fewest or 'no'} experts a layer")

    def shared(layer: Layer) -> Layer:
        part = layer.feed_forward
        if not isinstance(part, Experts):
            return layer
        return replace(layer, feed_forward=replace(part, ways=ways, taken=ceil(part.chosen * imbalance)))

    return replace(model, runs=tuple((shared(layer), count) for layer, count in model.runs))


@lru_cache(maxsize=256)
def tensor_ways(model: Transformer) -> tuple[Count, ...]:
    """Into how many devices' shares a model's matrices can be divided, ascending."""
    if model.undivided:
        return (1,)
    most = gcd(*(size for _, size in _divisors(model)))
    return tuple(ways for ways in range(1, most + 1) if most % ways == 0)


def require_divisible(model: Transformer, ways: Count, allowed: tuple[Count, ...]) -> None:
    """Refuse to divide a model's matrices so many ways that heads, feed-forward or hidden size are not divided."""
    if ways > 1 and model.undivided:
        raise EngineError("tensor", ways, (1,), {"model": model.name}, f"whose {model.undivided} is not divided here")
    for what, size in _divisors(model):
        if size % ways:
            raise EngineError("tensor", ways, allowed, {"model": model.name}, f"which has {size} {what}")


def _divisors(model: Transformer) -> tuple[tuple[str, Count], ...]:
    """What a tensor-parallel group divides: heads and columns of each kind of layer, and the hidden state's."""
    divided = [pair for layer, _ in model.kinds for pair in layer.divisors]
    return (*dict.fromkeys(divided), ("columns", model.hidden))


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
        start: The number of its first block.
    """

    model: Transformer
    blocks: Count
    kept_blocks: Count
    in_flight: Count
    first: bool
    last: bool
    start: Count = 0

    @property
    def at_rest(self) -> Stage:
        """The same without micro-batches in flight: what it holds and runs does not depend on them."""
        return replace(self, kept_blocks=0, in_flight=0)

    @property
    def layers(self) -> range:
        """The numbers of its blocks, where they follow each other: not with an interleaved schedule."""
        return range(self.start, self.start + self.blocks)


@lru_cache(maxsize=256)
def stages(model: Transformer, layout: Layout) -> tuple[Stage, ...]:
    """Every stage of the pipeline, in order. Blocks that do not divide evenly go one more to each of the first stages.

    In flight: GPipe holds every micro-batch; 1F1B holds p on the first stage, one less on each after it; interleaving
    holds p v + p - 1 chunks of L/(p v) blocks on the first and p v on the last (Korthikanti et al. 2022, arXiv
    2205.05198, section 4.2.3). Uneven division: DeepSpeed, `runtime/utils.py`, `partition_uniform`.

    Raises:
        EngineError: More stages than blocks, or an interleaving that blocks or micro-batches cannot have.
    """
    shard, p = expert_shard(tensor_shard(model, layout.tensor), layout.expert, layout.imbalance), layout.pipeline
    # Balanced stages have equally many slots; embedding and head take one slot of the first and of the last stage.
    slots = model.layers + 2 * layout.balanced
    blocks = f"which has {model.layers} blocks"
    # Beside embedding and head, the first and the last of balanced stages hold a block each.
    most = max(1, slots // 2) if layout.balanced else model.layers
    if p > most:
        beside = {"balanced": True, "model": model.name} if layout.balanced else {"model": model.name}
        raise EngineError("pipeline", p, f"at most {most}", beside, blocks)
    if p * layout.interleave > slots:
        beside = {"pipeline": p, "model": model.name}
        raise EngineError("interleave", layout.interleave, f"at most {slots // p}", beside, blocks)
    if p == 1:
        return (Stage(shard, model.layers, model.layers, 1, first=True, last=True),)
    if len(model.kinds) > 1:
        raise EngineError("pipeline", p, (1,), {"model": model.name}, "whose layers are of several kinds")
    if layout.interleave > 1:
        _require_chunks(model, layout, slots)
    sizes = [slots // p + (i < slots % p) for i in range(p)]
    sizes[0] -= layout.balanced
    sizes[-1] -= layout.balanced
    return tuple(
        Stage(shard, size, _kept(i, size, slots, layout), _flight(i, layout), i == 0, i == p - 1, sum(sizes[:i]))
        for i, size in enumerate(sizes)
    )


def _require_chunks(model: Transformer, layout: Layout, slots: Count) -> None:
    p, v = layout.pipeline, layout.interleave
    if slots % (p * v):
        allowed = (1, *(other for other in range(2, slots // p + 1) if slots % (p * other) == 0))
        beside = {"pipeline": p, "model": model.name}
        raise EngineError("interleave", v, allowed, beside, f"which has {slots} blocks to divide")
    if layout.micro_batches % p:
        raise EngineError(
            "interleave",
            v,
            (1, Instead("micro_batches", f"in multiples of {p}")),
            {"pipeline": p},
            f"which must divide the number of micro-batches in a step, {layout.micro_batches}",
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
