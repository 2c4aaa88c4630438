"""The time of a step on many devices, put together from the engine's single-device plan and its collectives.

Every device works on a shard of the model. What it sends inside a node goes over the chip's fastest link, between nodes
over the published network. Which communication hides under work is a setting of the row, not a fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine import Accelerator, Transformer, accelerator
from engine.layout import tensor_shard
from engine.links import TYPICAL_EFFICIENCY, Link, link
from engine.parallelism import collectives, pipeline_parallel, tensor_parallel
from engine.precision import precision
from engine.time import StepPlan, step_plan
from tools.accuracy.rows import Row

DEVICES_PER_NODE = 8

ATTENTION_GENERATION_SPEEDUP = 2
"""FlashAttention-2 over FlashAttention. Source: Dao 2023, arXiv 2307.08691, abstract."""


@dataclass(frozen=True)
class Plan:
    """How a row divides its devices and its batch."""

    devices: int
    tensor: int
    pipeline: int
    data: int
    micro_batches: int

    @property
    def tokens_factor(self) -> int:
        """Micro-batches of all replicas per step."""
        return self.data * self.micro_batches


def plan_of(row: Row) -> Plan:
    """Devices, replicas and micro-batches of a row, from whichever of them the source prints."""
    tensor, pipeline = row.get("tensor", 1), row.get("pipeline", 1)
    data = row.get("data") or row.get("devices", 1) // (tensor * pipeline)
    micro = row.get("accumulate", 1)
    if "global_batch" in row.settings:
        micro = max(1, round(row.get("global_batch") / (data * row.get("batch"))))
    return Plan(data * tensor * pipeline, tensor, pipeline, data, micro)


def step_seconds(row: Row) -> float:
    """Seconds of one optimizer step of a row."""
    plan, chip = plan_of(row), accelerator(row.get("gpu"))
    assert row.shape is not None
    stage = _Stage.of(row, row.shape, plan)
    sent = _tensor_seconds(row, row.shape, plan, chip) + _boundary_seconds(row, row.shape, plan)
    work = stage.slowest + sent
    micro = _gathered(row, stage, plan, chip, work) if row.get("zero", 0) >= 2 and plan.pipeline == 1 else work
    bubble = (plan.pipeline - 1) / row.get("interleave", 1) * (stage.average + sent)
    steps = plan.micro_batches * micro + bubble
    return float(steps + stage.update + _gradient_seconds(row, stage, plan, chip, steps))


@dataclass(frozen=True)
class _Stage:
    """One device's part: seconds of a micro-batch on the slowest and the average stage, of the update, parameters."""

    slowest: float
    average: float
    update: float
    parameters: float
    blocks: float

    @classmethod
    def of(cls, row: Row, shape: Transformer, plan: Plan) -> _Stage:
        shard = tensor_shard(shape, plan.tensor)
        if plan.pipeline == 1:
            single = _step_plan(row, shard)
            time = single(row.get("batch"), row.get("sequence"))
            micro = max(time.device - time.update, time.host)
            share = plan.data if row.get("zero", 0) >= 1 else 1
            return cls(micro, micro, time.update / share, shard.parameters, shape.layers)
        # A step's time is a constant and so much per block: two plans give both.
        one, two = (_seconds(_step_plan(row, replace(shard, layers=n)), row) for n in (1, 2))
        block, update_block = two[0] - one[0], two[1] - one[1]
        ends = one[0] - block
        slots = (shape.layers + 2) / plan.pipeline
        blocks = shape.layers / plan.pipeline
        slowest = slots * block if row.get("balanced") else blocks * block + ends
        average = blocks * block + ends / plan.pipeline
        share = plan.data if row.get("zero", 0) >= 1 else 1
        parameters = shard.block_parameters * blocks + shard.vocab * shard.hidden
        return cls(slowest, average, (one[1] + update_block * (blocks - 1)) / share, parameters, blocks)


def _step_plan(row: Row, shape: Transformer) -> StepPlan:
    return step_plan(
        shape,
        _chip(row),
        mode=row.get("precision"),
        rule=row.get("optimizer", "adamw"),
        attention=row.get("attention"),
        policy=row.get("checkpointing", "none"),
        dropout=row.get("dropout", 0.0),
        fused=row.get("fused", False),
    )


def _chip(row: Row) -> Accelerator:
    chip = accelerator(row.get("gpu"))
    if row.get("attention_generation") != 1 or chip.attention is None:
        return chip
    forward, backward = (
        rate / ATTENTION_GENERATION_SPEEDUP for rate in (chip.attention.forward, chip.attention.backward)
    )
    return replace(chip, attention=replace(chip.attention, forward=forward, backward=backward))


def _seconds(plan: StepPlan, row: Row) -> tuple[float, float]:
    time = plan(row.get("batch"), row.get("sequence"))
    return max(time.device - time.update, time.host), time.update


def _node(chip: Accelerator) -> Link:
    return link(chip.links[0])


def _network(row: Row) -> float:
    """Bytes per second of one device's share of the network, one way."""
    return float(row.get("network_gbit", 0) * 1e9 / 8 * TYPICAL_EFFICIENCY)


def _tensor_seconds(row: Row, shape: Transformer, plan: Plan, chip: Accelerator) -> float:
    """All-reduces of the tensor group in one micro-batch, none of them hidden (Megatron-LM of 2021 and 2022)."""
    if plan.tensor == 1:
        return 0.0
    again = row.get("checkpointing") == "full"
    sent = tensor_parallel.bytes_sent_per_layer(
        row.get("batch"), row.get("sequence"), shape.hidden, plan.tensor, recompute=again
    )
    hops = tensor_parallel.all_reduces_per_layer(again) * 2 * (plan.tensor - 1) * _node(chip).latency
    return shape.layers / plan.pipeline * (sent / _node(chip).achievable + hops)


def _boundary_seconds(row: Row, shape: Transformer, plan: Plan) -> float:
    """What a stage sends to its neighbors per micro-batch: a tensor-th over each device's port, or all of it."""
    if plan.pipeline == 1:
        return 0.0
    size = pipeline_parallel.boundary_bytes(row.get("batch"), row.get("sequence"), shape.hidden, 2)
    share = 1 if row.get("whole_boundaries") else plan.tensor
    return float(2 * row.get("interleave", 1) * size / share / _network(row))


def _gathered(row: Row, stage: _Stage, plan: Plan, chip: Accelerator, work: float) -> float:
    """A micro-batch under FSDP: gathers and reduce-scatters run beside the work, but for the first gather."""
    passes = 3 if row.get("zero") == 3 else 2
    size = 2 * stage.parameters
    sent = passes * _spread(size, plan.data, plan.tensor, row, chip)
    if not row.get("overlap"):
        return work + sent
    return max(work, sent) + sent / (passes * stage.blocks)


def _spread(size: float, devices: int, tensor: int, row: Row, chip: Accelerator) -> float:
    """Seconds until every device of a data group holds `size` bytes, over NVLink inside and all ports between nodes."""
    if devices == 1:
        return 0.0
    inside = min(devices, DEVICES_PER_NODE // tensor)
    nodes = devices // inside
    within = collectives.all_gather(size, devices, _node(chip).achievable)
    between = collectives.all_gather(size, nodes, inside * _network(row)) if nodes > 1 else 0.0
    return max(within, between)


def _gradient_seconds(row: Row, stage: _Stage, plan: Plan, chip: Accelerator, steps: float) -> float:
    """Summing gradients over replicas once a step (data parallelism and ZeRO-1)."""
    if plan.data == 1 or (row.get("zero", 0) >= 2 and plan.pipeline == 1):
        return 0.0
    element = precision(row.get("precision")).gradients.bits // 8
    sent = 2 * _spread(element * stage.parameters, plan.data, plan.tensor, row, chip)
    if not row.get("overlap"):
        return sent
    # Hidden under the backward pass of the last micro-batch, two thirds of its time.
    return collectives.exposed(sent, 2 / 3 * steps / plan.micro_batches)
