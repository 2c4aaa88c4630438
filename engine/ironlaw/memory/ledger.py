"""Training memory of one device: the ledger of named tensors and the peak, of a setup."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ironlaw.config.choices import Evaluation
from ironlaw.config.layout import Stage
from ironlaw.config.optimizers import is_hidden
from ironlaw.config.resolved import Setup, stage_sections
from ironlaw.config.setup import as_setup
from ironlaw.core.sizes import BATCH, NOTHING, TOKENS, Size, as_size, total
from ironlaw.core.units import Bytes, Count
from ironlaw.graph.adaptation import FULL
from ironlaw.graph.checkpointing import NONE
from ironlaw.graph.ir import Section
from ironlaw.graph.partitioner import compiled
from ironlaw.memory.blocks import EqualBlocks, MixedBlocks
from ironlaw.memory.deepspeed import overheads
from ironlaw.memory.evaluation import evaluated
from ironlaw.memory.fully_sharded import fully_sharded
from ironlaw.memory.linear_loss import linear_loss, ways
from ironlaw.memory.liveness import GradientFate, WorkingSet, kept_values, working_set
from ironlaw.memory.peak import StepMemory
from ironlaw.memory.static import holders, stage_held, static_tensors, stored_bytes, trained_parameters
from ironlaw.memory.tensors import EVALUATION, REFERENCE, ROLLOUT, Candidate, MemoryLedger, MemoryPlan, Place, Saved
from ironlaw.models.transformer import Transformer
from ironlaw.numerics.dtypes import BF16
from ironlaw.numerics.precision import precision

CUBLAS_WORKSPACE = 32 * 2**20
"""Scratch memory of the matrix library on Hopper, one handle; other NVIDIA generations take about 8 MiB."""
SUB_GROUP: Count = 1_000_000_000
"""Elements that DeepSpeed's ZeRO-3 updates at a time: its default, `sub_group_size` in `zero/config.py`."""
CUDA_CONTEXT = 512 * 2**20
"""Driver and kernels outside PyTorch's allocator: 0.3 to 0.9 GiB, by device and loaded libraries."""


def training_memory(asked: Setup | str | Transformer | None = None, *words: Any, **choices: Any) -> MemoryLedger:
    """Every tensor a training step keeps on its busiest device, and what is allocated at its peak.

    With pipeline parallelism the ledger is that of the stage whose peak is largest.

    Args:
        asked: A `Setup`, or the model of one. Batch and sequence may be NumPy arrays: sizes are arrays then.
        words: Further words of `ironlaw.setup`.
        choices: Further ones by name.

    Raises:
        EngineError: As `ironlaw.setup`.
    """
    c = as_setup(asked, *words, **choices)
    return busiest(memory_plans(c), c.batch, c.own_sequence)


def busiest(plans: tuple[MemoryPlan, ...], batch: Count, sequence: Count) -> MemoryLedger:
    """The ledger of the stage that needs the most memory; in a sweep, stages are compared at their largest point.

    Args:
        plans: Of a setup's stages.
        batch: Sequences in a micro-batch.
        sequence: Tokens of a sequence that one device has (`Setup.own`).
    """
    ledgers = [MemoryLedger(plan, batch, sequence) for plan in plans]
    return max(ledgers, key=lambda ledger: _scalar(ledger.device_total)) if len(ledgers) > 1 else ledgers[0]


def memory_plans(c: Setup) -> tuple[MemoryPlan, ...]:
    """The plan of each stage that can need the most memory, whatever the batch and the sequence."""
    return _plans(_as_many(c))


def _as_many(c: Setup) -> Setup:
    """The same with as few replicas and micro-batches as need the same memory: there their number says nothing.

    Replicas that divide nothing have buckets all the same, and gradients outlive a micro-batch that is not the last.
    """
    layout = c.layout
    if layout.pipeline > 1 or c.framework.runtime != "none":
        return c.anywhere
    # Logits that evaluation keeps are those of all replicas.
    replicas = layout.data if c.evaluation and c.evaluation.kept else layout.different_replicas
    layout = replace(layout, data=replicas, micro_batches=min(layout.micro_batches, 2))
    return replace(c.anywhere, layout=layout, cluster=None)


@lru_cache(maxsize=1024)
def _plans(c: Setup) -> tuple[MemoryPlan, ...]:
    every = c.stages
    # Later stages hold fewer micro-batches in flight and no more blocks; where embedding and head count as blocks, the
    # second stage has a block more than the first.
    hungry = dict.fromkeys((*every[:2], every[-1]))
    return tuple(_plan(c, stage) for stage in hungry)


def _plan(c: Setup, stage: Stage) -> MemoryPlan:
    parts = stage_sections(c, stage)
    if c.framework.compiled and not c.framework.by_hand:
        parts = tuple(compiled(part) for part in parts)
    static = static_tensors(c, stage)
    fate = _gradient_fate(c)
    on_device = [tensor for tensor in static if tensor.place == "device"]
    whole = fully_sharded(c, stage)
    if c.fully_sharded:  # what is gathered is there at some moments only
        on_device = [tensor for tensor in on_device if tensor.component not in ("gathered", "buckets")]
    gradients = sum(t.bytes for t in on_device if t.component == "gradients" and t.part != "sum")
    passing = 0 if fate == "present" and not _reduced_once(c) else gradients
    workspace, context = (CUBLAS_WORKSPACE, CUDA_CONTEXT) if c.framework.backend == "cuda" else (0, 0)
    sets = [_working_set(c, part, fate) for part in parts]
    # A table that is looked up and multiplied by has two gradients, where it is trained.
    tied = stage.model.tied and stage.first and stage.last and any(op.trains for op in parts[0].ops)
    step = StepMemory(
        stage=stage,
        chunks=c.loss.chunks,
        sets={part.name: one for part, one in zip(parts, sets, strict=True) if part.name != "block"},
        blocks=_blocks(
            c, stage, [(one, part.count) for part, one in zip(parts, sets, strict=True) if part.name == "block"]
        ),
        resident=sum(tensor.bytes for tensor in on_device) - passing + workspace,
        gradients=passing,
        update=_update_bytes(c, stage),
        head_gradient=c.gradients.bytes(sum(op.trains for op in parts[-1].ops)) if stage.last else 0,
        tied=tied,
        gradients_accrue=fate == "accrue",
        whole=whole,
        logits=_held_logits(c, parts) if stage.last else NOTHING,
        linear=linear_loss(c, parts[-1]) if stage.last else None,
        leaf=total(one.byte_size for one in _leaf(c, stage, parts)),
    )
    return MemoryPlan(
        static=static,
        saved=tuple(_saved_tensors(c, stage, parts)),
        candidates=(
            *step.candidates(),
            *_evaluation(c, stage, parts, sets, step),
            *_reference(c, stage, parts, step),
            *_rollout(c, stage, step),
        ),
        chunks=c.loss.chunks,
        workspace_bytes=workspace,
        context_bytes=context,
        runtime_bytes=(overheads(c).total if c.framework.runtime == "deepspeed" else 0) + beside(c),
        ways=ways(c),
    )


def _evaluation(
    c: Setup, stage: Stage, parts: tuple[Section, ...], sets: list[WorkingSet], step: StepMemory
) -> Iterator[Candidate]:
    """The moments of evaluation, where somebody says how it is done; nothing otherwise."""
    if c.evaluation is None:
        return
    # After an update all gradients are freed, but for those in buffers that stay.
    stay = c.framework.by_hand or (c.layout.peers > 1 and c.layout.zero >= 2)
    made = [t for t in static_tensors(c, stage) if t.component == "gradients" and t.place == "device"]
    there = sum(t.bytes for t in made if t.part != "sum") - step.gradients
    resident = step.resident - (0 if stay else there)
    yield from evaluated(c, tuple(zip(parts, sets, strict=True)), resident, step)


def _reference(c: Setup, stage: Stage, parts: tuple[Section, ...], step: StepMemory) -> Iterator[Candidate]:
    """The moments of a frozen reference's forward pass, beside all that the model keeps for its backward pass."""
    if c.reference is None:
        return
    there = total(one.byte_size for one in _saved_tensors(c, stage, parts) if one.place == "device")
    own = replace(c, evaluation=Evaluation())
    if not c.adaptation.quantization:
        kept = c.base.weights if c.adaptation.has_adapters else c.reference
        cast = kept.bits == 32 and (c.precision.autocast or c.fully_sharded)
        own = own if cast else replace(own, precision=precision(kept.name))
        own = replace(own, adaptation=replace(FULL, frozen=("*",)))
        parts = stage_sections(own, stage)
    sets = (_working_set(own, part, "accrue") for part in parts)
    for one in evaluated(own, tuple(zip(parts, sets, strict=True)), step.resident, step):
        yield Candidate(one.moment.replace(EVALUATION, REFERENCE), one.whole + there, one.chunk)


def beside(c: Setup) -> Bytes:
    """What another program that generates holds of the device all the time."""
    return int(c.rollout.share * c.chip.memory_bytes) if c.rollout and c.rollout.by == "beside" else 0


SAMPLED_BYTES = 12
"""Bytes of a token's scores in FP32 while the next token is drawn: logits, scores, probabilities.

Source: transformers, `generation/utils.py`, `_sample`.
"""


def _rollout(c: Setup, stage: Stage, step: StepMemory) -> Iterator[Candidate]:
    """The moment at which the last token of all texts of a step is drawn, or another program holds its share.

    The model's own cache has keys and values of all tokens, also of those outside of windows. Weights that devices
    divide are whole then: each device generates by itself.
    """
    if c.rollout is None or c.rollout.by == "beside":
        return
    size = as_size(step.resident)
    if c.rollout.by == "asleep":
        size += int(c.rollout.share * c.chip.memory_bytes)
    else:
        model, wide = stage.model, c.precision.compute.bits // 8
        cached = sum(count * layer.attention.cached for layer, count in model.stack)
        cached += max(getattr(layer.attention, "unfolded", 0) for layer, _ in model.stack)
        size += (TOKENS * (cached * wide) + BATCH * (model.vocab * (wide + SAMPLED_BYTES))) * c.micro_batches
        if c.layout.divides_weights:
            size += stored_bytes(c, stage_held(c, stage))
    yield Candidate(f"{ROLLOUT}, generation", size, NOTHING)


def _blocks(c: Setup, stage: Stage, sets: list[tuple[WorkingSet, Count]]) -> EqualBlocks | MixedBlocks:
    """What the stage's blocks keep and need; `sets` are those of its kinds, or in order where parts are frozen."""
    every, sharded = c.checkpointing.every, c.fully_sharded
    if len(sets) == 1:
        return EqualBlocks(sets[0][0], stage, every, sharded, c.checkpointing.away)
    if c.adaptation.everything:
        of_kind = dict(zip((layer for layer, _ in stage.model.kinds), (one for one, _ in sets), strict=True))
        sets = [(of_kind[layer], count) for layer, count in stage.model.stack]
    return MixedBlocks(tuple(sets), every, stage.in_flight, c.checkpointing.away)


def _held_logits(c: Setup, parts: tuple[Section, ...]) -> Size:
    """The logits that the training loop holds through the backward pass."""
    made = [op.outputs[0] for op in parts[-1].ops if op.kind == "matmul"]
    return made[0].byte_size if c.loss.kept else NOTHING


def _working_set(c: Setup, part: Section, fate: GradientFate) -> WorkingSet:
    policy = c.checkpointing if part.name == "block" else NONE
    part = replace(part, count=1)  # what one needs does not depend on how many there are
    if not c.fully_sharded:
        return working_set(part, c.gradients, fate, policy=policy)
    # All gradients of a group are kept until they are reduced to a shard; later micro-batches add to that shard.
    one = working_set(part, c.gradients, "accrue", policy=policy)
    if not _reduced_once(c):
        return replace(one, gradients=NOTHING)
    apart = sum(op.trains for op in part.ops if op.name.startswith("mlp.experts.")) if c.layout.expert > 1 else 0
    experts = c.gradients.bytes(apart)
    left = -(-(one.gradients(1, 1) - experts) // c.layout.peers) - (-experts // c.layout.expert_peers)
    return replace(one, gradients=as_size(left))


def _reduced_once(c: Setup) -> bool:
    return c.fully_sharded and _gradient_fate(c) == "present" and c.micro_batches == 1


def _gradient_fate(c: Setup) -> GradientFate:
    if c.update.in_backward or c.update.gradients_away:
        return "dropped"
    # Sharded and Megatron's gradients live in a buffer that is never freed; accumulated ones outlive the micro-batch.
    # Those that are summed apart stay until the next backward pass begins, through the forward pass before it.
    sharded = c.layout.peers > 1 and c.layout.zero >= 2
    outlive = sharded or c.framework.by_hand or c.micro_batches > 1 or c.precision.accumulation is not None
    return "present" if outlive else "accrue"


def _update_bytes(c: Setup, stage: Stage) -> Bytes:
    """Temporary tensors of the update: for every parameter (foreach), the largest (for-loop), or none (fused).

    DeepSpeed copies its share of the gradients to a flat tensor, and that to one in the format of the FP32 weights
    (`zero/stage_1_and_2.py`, `step`; `zero/stage3.py`, `_prepare_fp32_grad_for_sub_group`), when ZeRO-2's bucket or
    ZeRO-3's gathered weights are gone.
    """
    if c.update.offload != "none":
        return 0
    if not (c.update.buffers and c.precision.master):
        return _temporaries(c, stage)
    share = sum(-(-p.elements // c.layout.peers) * p.count for p in trained_parameters(c, stage))
    share = min(share, SUB_GROUP) if c.layout.zero == 3 else share
    summed, master = c.precision.accumulation or c.gradients, c.precision.master
    gone = "gathered" if c.layout.zero == 3 else "buckets"
    left = sum(tensor.bytes for tensor in static_tensors(c, stage) if tensor.component == gone)
    copies = master.bytes(share) + max(_temporaries(c, stage), summed.bytes(share) * (summed is not master))
    return max(copies - left, 0)


def _temporaries(c: Setup, stage: Stage) -> Bytes:
    """What PyTorch's optimizers themselves make."""
    if c.update.kind == "fused":
        return 0
    divided = c.layout.zero >= 1
    shards = [(-(-p.elements // (holders(c, p) if divided else 1)), p.count) for p in trained_parameters(c, stage)]
    if c.optimizer.by_matrix:
        hidden = max((p.elements for p in trained_parameters(c, stage) if is_hidden(p)), default=0)
        others = [p.elements * p.count for p in trained_parameters(c, stage) if not is_hidden(p)]
        whole = sum(others) if c.update.kind == "foreach" else max(others, default=0)
        matrix = c.gradients.bytes(hidden) + BF16.bytes(c.optimizer.loop_temporaries * hidden)
        return max(matrix, c.states.bytes(c.optimizer.temporaries * -(-whole // (c.layout.peers if divided else 1))))
    largest = max(elements for elements, _ in shards)
    if c.update.kind == "for-loop" or c.update.in_backward:
        elements = c.optimizer.loop_temporaries * largest
    else:
        elements = c.optimizer.temporaries * sum(elements * count for elements, count in shards)
    return c.states.bytes(elements)


def _saved_tensors(c: Setup, stage: Stage, parts: tuple[Section, ...]) -> Iterator[Saved]:
    """What is kept at the end of the forward pass, when the backward pass of the oldest micro-batch begins."""
    policy = c.checkpointing
    yield from _leaf(c, stage, parts)
    for part in parts:
        count = stage.in_flight
        if part.name == "head" and (linear := linear_loss(c, part)):
            yield from (replace(one, count=count) for one in linear.saved)
            continue
        if part.name == "block":
            count = stage.kept_blocks if part.count == stage.blocks else part.count * stage.in_flight
        kept = kept_values(part, selective=policy.kind == "selective")
        if part.name == "block" and policy.every and part.input:
            kept, count = (part.input,), -(-count // policy.every)
        elif part.name == "head" and c.loss.chunks > 1 and part.input:
            kept = (part.input,)
        place: Place = "host" if policy.away and part.name == "block" else "device"
        for value in kept:
            yield Saved(value.name, value.component, value.size, value.dtype, count, part.name, place)


def _leaf(c: Setup, stage: Stage, parts: tuple[Section, ...]) -> Iterator[Saved]:
    """The first block's input, where nothing before it is trained and others wait in the host's memory.

    It is made to have a gradient, for which PyTorch's graph holds the tensor itself.
    """
    block = next(part for part in parts if part.name == "block")
    if c.checkpointing.away and stage.first and block.input and not any(op.trains for op in parts[0].ops):
        yield Saved("embedded", "activations", block.input.size, block.input.dtype, stage.in_flight, "embedding")


def _scalar(value: Bytes) -> float:
    return float(value.max()) if hasattr(value, "max") else value
