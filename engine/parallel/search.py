"""Finding a layout: the rule of thumb for what to use when, and a search for the fastest configuration that fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from engine.config.layout import Layout
from engine.config.setup import DataShape, Setup
from engine.core.errors import EngineError, require_positive
from engine.core.units import Bytes, Count
from engine.graph.checkpointing import checkpointing
from engine.hardware.cluster import cluster
from engine.memory.ledger import training_memory
from engine.models.transformer import Transformer
from engine.parallel.job import JobTime, job_time
from engine.parallel.tensor_parallel import divides
from engine.parallel.zero import state_bytes_per_parameter

POLICIES = ("none", "selective", "full")


@dataclass(frozen=True, slots=True)
class Configuration:
    """A setup that was found, and what it costs.

    Attributes:
        setup: With its layout, micro-batch and checkpointing.
        time: The step.
        device_bytes: Memory the busiest device needs, context included.
    """

    setup: Setup
    time: JobTime
    device_bytes: Bytes


@dataclass(frozen=True, slots=True)
class Advice:
    """What to use, and why in one sentence."""

    strategy: str
    reason: str


def choose(parameters: Count, memory: Bytes, devices: Count, node_size: Count = 8) -> Advice:
    """The rule of thumb: the simplest strategy whose model states fit, leaving half of the memory for activations.

    Mixed-precision Adam takes 16 bytes per parameter. Data parallelism divides nothing; ZeRO divides over all devices
    but sends the more the more it divides; tensor parallelism stays inside a node because it sends most; pipeline
    parallelism crosses nodes because it sends least. Source: the decision order of Narayanan et al. 2021, arXiv
    2104.04473, takeaways 1 to 3, with Rajbhandari et al. 2020, arXiv 1910.02054.

    Args:
        parameters: Parameters of the model.
        memory: Bytes of one device.
        devices: Devices of the job.
        node_size: Devices joined by a fast link.
    """
    for what, value in (("parameters", parameters), ("devices", devices), ("node size", node_size)):
        require_positive(what, value)
    budget = memory / 2
    if parameters * state_bytes_per_parameter(0, 1) <= budget:
        strategy = "data parallelism" if devices > 1 else "one device"
        return Advice(strategy, "weights, gradients and optimizer states fit in half of one device's memory")
    for stage, divided in ((1, "optimizer states"), (2, "optimizer states and gradients")):
        if devices > 1 and parameters * state_bytes_per_parameter(stage, devices) <= budget:
            return Advice(f"data parallelism with ZeRO-{stage}", f"{divided} divided {devices} ways fit beside weights")
    inside = min(node_size, devices)
    if parameters * state_bytes_per_parameter(0, 1) / inside <= budget:
        return Advice("tensor parallelism inside a node", f"one model fits in {inside} devices joined by the fast link")
    if parameters * state_bytes_per_parameter(0, 1) / devices <= budget:
        return Advice(
            "tensor parallelism inside nodes, pipeline between them, data parallelism over the rest",
            f"one model needs more than {inside} devices",
        )
    if parameters * state_bytes_per_parameter(3, devices) <= memory:
        return Advice("ZeRO-3 with checkpointing", "states fit only when all of them are divided among all devices")
    return Advice("more devices or offloading", f"states do not fit in {devices} devices however they are divided")


def search(c: Setup, devices: Count, global_batch: Count, *, keep: Count = 5) -> tuple[Configuration, ...]:
    """The fastest configurations that fit, the fastest first.

    Tries every way to write `devices` as data x tensor x pipeline (tensor within a node), every power-of-two
    micro-batch, ZeRO stage and checkpointing policy that gives exactly `global_batch` sequences per step.

    Args:
        c: What is trained, and on what; its own layout, micro-batch and checkpointing are ignored.
        devices: How many.
        global_batch: Sequences per optimizer step.
        keep: How many configurations to return at most.

    Raises:
        EngineError: A number below one, or nothing fits.
    """
    for what, value in (("devices", devices), ("global batch", global_batch), ("keep", keep)):
        require_positive(what, value)
    timed = sorted(((job_time(tried), tried) for tried in _setups(c, devices, global_batch)), key=lambda t: t[0].total)
    found: list[Configuration] = []
    for time, tried in timed:
        needed = training_memory(tried).device_total
        if needed <= c.chip.usable_bytes:
            found.append(Configuration(tried, time, needed))
            if len(found) == keep:
                break
    if not found:
        raise EngineError(
            f"{c.model.name} with a batch of {global_batch} fits no layout of {devices} {c.chip.name}; "
            "allowed: more devices, a larger batch, or a smaller model"
        )
    return tuple(found)


def _setups(c: Setup, devices: Count, global_batch: Count) -> Iterator[Setup]:
    joined = c.cluster or cluster(c.chip)
    for layout, micro_batch in _layouts(c.model, joined.node_size, devices, global_batch):
        layout = replace(layout, overlap=c.layout.overlap, overlap_tensor=c.layout.overlap_tensor)
        for policy in POLICIES:
            yield replace(
                c,
                data=DataShape(micro_batch, c.sequence),
                checkpointing=checkpointing(policy),
                layout=layout,
                cluster=joined,
            )


def _layouts(
    model: Transformer, node_size: Count, devices: Count, global_batch: Count
) -> Iterator[tuple[Layout, Count]]:
    for tensor in _divisors(devices):
        if tensor > node_size or not divides(model.heads, model.kv_heads, model.ffn, tensor):
            continue
        if model.hidden % tensor:
            continue
        for pipeline in _divisors(devices // tensor):
            if model.layers % pipeline:
                continue
            data = devices // tensor // pipeline
            micro_batch = 1
            while global_batch % (data * micro_batch) == 0:
                micro_batches = global_batch // (data * micro_batch)
                for zero in (0, 1, 2, 3) if data > 1 and pipeline == 1 else (0, 1) if data > 1 else (0,):
                    layout = Layout(
                        data=data,
                        tensor=tensor,
                        pipeline=pipeline,
                        sequence_parallel=tensor > 1,
                        zero=zero,
                        micro_batches=micro_batches,
                    )
                    yield layout, micro_batch
                micro_batch *= 2


def _divisors(number: Count) -> tuple[Count, ...]:
    return tuple(k for k in range(1, number + 1) if number % k == 0)
