"""Finding a layout: the rule of thumb for what to use when, and a search for the fastest configuration that fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from engine.config.layout import Layout
from engine.core.errors import EngineError, require_positive
from engine.core.units import Bytes, Count
from engine.graph.checkpointing import checkpointing
from engine.hardware.cluster import Cluster
from engine.memory.ledger import training_memory
from engine.models.transformer import Transformer
from engine.parallel.job import Job, JobTime, job_time
from engine.parallel.tensor_parallel import divides
from engine.parallel.zero import state_bytes_per_parameter

POLICIES = ("none", "selective", "full")


@dataclass(frozen=True, slots=True)
class Configuration:
    """A layout with its micro-batch and checkpointing, and what it costs.

    Attributes:
        layout: How devices divide the work.
        micro_batch: Sequences in a micro-batch of one replica.
        policy: Activation checkpointing.
        time: The step.
        device_bytes: Memory the busiest device needs, context included.
    """

    layout: Layout
    micro_batch: Count
    policy: str
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


def search(
    work: Job, cluster: Cluster, devices: Count, global_batch: Count, *, keep: Count = 5
) -> tuple[Configuration, ...]:
    """The fastest configurations that fit, the fastest first.

    Tries every way to write `devices` as data x tensor x pipeline (tensor within a node), every power-of-two
    micro-batch, ZeRO stage and checkpointing policy that gives exactly `global_batch` sequences per step.

    Args:
        work: What is trained; its own policy is ignored.
        cluster: The devices.
        devices: How many.
        global_batch: Sequences per optimizer step.
        keep: How many configurations to return at most.

    Raises:
        EngineError: A number below one, or nothing fits.
    """
    for what, value in (("devices", devices), ("global batch", global_batch), ("keep", keep)):
        require_positive(what, value)
    timed = sorted(_timed(work, cluster, devices, global_batch), key=lambda entry: entry[0].total)
    found: list[Configuration] = []
    for time, layout, micro_batch, policy in timed:
        needed = device_bytes(replace(work, policy=checkpointing(policy)), layout, micro_batch)
        if needed <= cluster.chip.usable_bytes:
            found.append(Configuration(layout, micro_batch, policy, time, needed))
            if len(found) == keep:
                break
    if not found:
        raise EngineError(
            f"{work.model.name} with a batch of {global_batch} fits no layout of {devices} {cluster.chip.name}; "
            "allowed: more devices, a larger batch, or a smaller model"
        )
    return tuple(found)


@lru_cache(maxsize=4096)
def device_bytes(work: Job, layout: Layout, micro_batch: Count) -> Bytes:
    """Memory of the busiest device, context included."""
    ledger = training_memory(
        work.model,
        optimizer=work.rule,
        precision=work.mode,
        batch=micro_batch,
        sequence=work.sequence,
        attention=work.attention,
        dropout=work.dropout,
        checkpointing=work.policy,
        framework=work.framework,
        layout=layout,
        # Without a pipeline, micro-batches after the first add to gradients that are already there.
        accumulate=layout.micro_batches if layout.pipeline == 1 else 1,
    )
    return ledger.device_total


def _timed(
    work: Job, cluster: Cluster, devices: Count, global_batch: Count
) -> Iterator[tuple[JobTime, Layout, Count, str]]:
    for layout, micro_batch in _layouts(work.model, cluster, devices, global_batch):
        for policy in POLICIES:
            job = replace(work, policy=checkpointing(policy))
            yield job_time(job, layout, cluster, micro_batch), layout, micro_batch, policy


def _layouts(
    model: Transformer, cluster: Cluster, devices: Count, global_batch: Count
) -> Iterator[tuple[Layout, Count]]:
    for tensor in _divisors(devices):
        if tensor > cluster.node_size or not divides(model.heads, model.kv_heads, model.ffn, tensor):
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
