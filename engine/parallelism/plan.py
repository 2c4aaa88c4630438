"""A parallel job's step: compute of the slowest stage, pipeline bubble, and what communication adds that nothing hides.

Devices are numbered as Megatron-LM does: tensor parallelism inside a node first, then data, then pipeline. What is
hidden: data parallelism's gradients under the last backward pass, ZeRO-3's parameters under forward and backward.
What is not: tensor parallelism's collectives and the sends between stages, which the next kernel waits for.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.activations import Attention, Framework
from engine.arrays import maximum
from engine.checkpointing import NONE, Checkpointing, checkpointing
from engine.errors import EngineError, require_positive
from engine.layout import Layout, Stage, stages
from engine.models import Transformer
from engine.operations import flops_per_token
from engine.optimizers import Optimizer, optimizer
from engine.parallelism import collectives, pipeline_parallel, tensor_parallel
from engine.parallelism.cluster import Cluster
from engine.parallelism.data_parallel import BUCKET_BYTES
from engine.precision import Precision, precision
from engine.static import stage_parameters
from engine.time import StepTime, stage_plan
from engine.units import Bytes, Count, Flops, FlopsPerSecond, PerSecond, Ratio, Seconds


@dataclass(frozen=True, slots=True)
class Job:
    """What is trained and how, apart from the layout.

    Attributes:
        model: The transformer.
        sequence: Tokens in a sequence.
        mode: Precision.
        rule: Optimizer.
        attention: `"flash"` or `"standard"`.
        policy: Activation checkpointing.
        framework: `"torch"` or `"megatron"`.
        fused: Compiled or hand-fused kernels.
        dropout: Probability of dropout.
    """

    model: Transformer
    sequence: Count
    mode: Precision
    rule: Optimizer
    attention: Attention = "flash"
    policy: Checkpointing = NONE
    framework: Framework = "megatron"
    fused: bool = True
    dropout: Ratio = 0.0


def job(
    model: Transformer,
    *,
    sequence: Count | None = None,
    mode: str | Precision = "megatron",
    rule: str | Optimizer = "adamw",
    attention: Attention = "flash",
    policy: str | Checkpointing = "none",
    framework: Framework = "megatron",
    fused: bool = True,
    dropout: Ratio = 0.0,
) -> Job:
    """A `Job` from names. Raises `EngineError` for an unknown one."""
    sequence = model.max_seq if sequence is None else sequence
    require_positive("sequence", sequence)
    policy = checkpointing(policy)
    return Job(model, sequence, precision(mode), optimizer(rule), attention, policy, framework, fused, dropout)


@dataclass(frozen=True, slots=True)
class JobTime:
    """Seconds of one optimizer step of a parallel job; the parts add up to `total`.

    Attributes:
        compute: The slowest stage's forward, backward and recompute, over all its micro-batches.
        update: Its optimizer step.
        bubble: Waiting for the pipeline to fill and drain.
        tensor: Tensor parallelism's collectives.
        pipeline: Sends between stages.
        data: Data parallelism's and ZeRO's collectives that nothing hides, and what hidden ones cost the work.
        hidden: Communication that runs beside compute (not part of the total).
        tokens: Tokens of the step, all devices together.
        devices: Devices of the job.
        convention_flops: Model FLOPs of the step by the rule `6 N + 12 L h T`.
        hardware_flops: FLOPs all devices do.
        peak: Dense peak of one device.
    """

    compute: Seconds
    update: Seconds
    bubble: Seconds
    tensor: Seconds
    pipeline: Seconds
    data: Seconds
    hidden: Seconds
    tokens: Count
    devices: Count
    convention_flops: Flops
    hardware_flops: Flops
    peak: FlopsPerSecond

    @property
    def communication(self) -> Seconds:
        """Communication that the step waits for."""
        return self.tensor + self.pipeline + self.data

    @property
    def total(self) -> Seconds:
        """Seconds of the step."""
        return self.compute + self.update + self.bubble + self.communication

    @property
    def tokens_per_second(self) -> PerSecond:
        """Tokens per second of the whole job."""
        return self.tokens / self.total

    @property
    def mfu(self) -> Ratio:
        """Model FLOPs utilization of all devices by the convention `6 N + 12 L h T`."""
        return self.convention_flops / (self.total * self.peak * self.devices)

    @property
    def hfu(self) -> Ratio:
        """Hardware FLOPs utilization of all devices."""
        return self.hardware_flops / (self.total * self.peak * self.devices)

    @property
    def scaling_efficiency(self) -> Ratio:
        """Share of the step that devices would also need if they were alone: compute and update over total."""
        return (self.compute + self.update) / self.total

    @property
    def network_saturation(self) -> Ratio:
        """Share of the step in which links carry traffic, hidden or not, at most 1."""
        return min((self.communication + self.hidden) / self.total, 1.0)

    @property
    def bound_by(self) -> str:
        """The largest part: `"compute"`, `"bubble"` or `"communication"`."""
        parts = {
            "compute": self.compute + self.update,
            "bubble": self.bubble,
            "communication": self.communication,
        }
        return max(parts, key=lambda part: parts[part])


def job_time(work: Job, layout: Layout, cluster: Cluster, micro_batch: Count) -> JobTime:
    """One optimizer step of a job.

    Args:
        work: What is trained.
        layout: How devices divide it.
        cluster: The devices and their links.
        micro_batch: Sequences in a micro-batch of one replica; a step has `layout.micro_batches` of them per replica.

    Raises:
        EngineError: A layout that does not fit the model.
    """
    require_positive("micro-batch", micro_batch)
    m, p, v = layout.micro_batches, layout.pipeline, layout.interleave
    ends = stages(work.model, layout)
    steps = [_stage_step(work, stage, layout, cluster, micro_batch) for stage in ends]
    slowest = max(range(len(ends)), key=lambda i: _busy(steps[i]))
    stage, step = ends[slowest], steps[slowest]
    busy = _busy(step)
    # The slowest stage works on m micro-batches; before its first and after its last it waits for the p - 1 others.
    others = sum(_busy(steps[i]) for i in range(len(ends)) if i != slowest)
    middle = max(p - len(ends), 0) * _middle(work, layout, cluster, micro_batch, ends)
    bubble = (others + middle) / v
    tensor = m * _tensor_seconds(work, stage, layout, cluster, micro_batch)
    bubble = bubble + tensor / m * (p - 1) / v
    pipeline = _pipeline_seconds(work, layout, cluster, micro_batch)
    sent, exposed = _data_seconds(work, stage, layout, cluster, step, busy)
    hidden = sent - exposed
    # A hidden collective is not free: its kernels take multiprocessors from the work they hide under.
    exposed = exposed + collectives.contention(hidden, cluster.chip.multiprocessors)
    tokens = micro_batch * work.sequence * m * layout.data
    convention = flops_per_token(work.model, work.sequence) * tokens
    return JobTime(
        compute=m * busy,
        update=step.update,
        bubble=bubble,
        tensor=tensor,
        pipeline=pipeline,
        data=exposed,
        hidden=hidden,
        tokens=tokens,
        devices=layout.devices,
        convention_flops=convention,
        hardware_flops=convention * step.hardware_flops / step.model_flops,
        peak=step.peak,
    )


def _stage_step(work: Job, stage: Stage, layout: Layout, cluster: Cluster, micro_batch: Count) -> StepTime:
    plan = stage_plan(
        stage,
        layout,
        cluster.chip,
        work.mode,
        work.rule,
        work.attention,
        work.policy,
        work.dropout,
        work.fused,
        False,
        work.framework,
    )
    return plan(micro_batch, work.sequence)


def _busy(step: StepTime) -> Seconds:
    """Seconds of one micro-batch: the device's, unless the host cannot keep up."""
    return maximum(step.forward + step.backward + step.recompute, step.host)


def _middle(work: Job, layout: Layout, cluster: Cluster, micro_batch: Count, ends: tuple[Stage, ...]) -> Seconds:
    """Seconds of one micro-batch on a stage with blocks only."""
    if len(ends) == 1:
        return 0.0
    first = ends[0]
    stage = Stage(first.model, first.blocks, first.kept_blocks, first.in_flight, first=False, last=False)
    return _busy(_stage_step(work, stage, layout, cluster, micro_batch))


def _tensor_seconds(work: Job, stage: Stage, layout: Layout, cluster: Cluster, micro_batch: Count) -> Seconds:
    """Collectives of one micro-batch on one stage: two per block forward, two backward, two when blocks run again."""
    t = layout.tensor
    if t == 1:
        return 0.0
    within = t <= cluster.node_size
    size = micro_batch * work.sequence * work.model.hidden * (work.mode.compute.bits // 8)
    each = collectives.all_reduce(size, t, cluster.bandwidth(within_node=within), cluster.latency(within_node=within))
    again = work.policy.kind == "full"
    # The embedding and the head need one each, where they are.
    extra = 2 * (stage.first + stage.last)
    return (tensor_parallel.all_reduces_per_layer(again) * stage.blocks + extra) * each


def _pipeline_seconds(work: Job, layout: Layout, cluster: Cluster, micro_batch: Count) -> Seconds:
    """Sends of one stage over the step. With tensor parallelism each device sends its share of the hidden state."""
    p = layout.pipeline
    if p == 1:
        return 0.0
    within = layout.devices <= cluster.node_size
    size = pipeline_parallel.boundary_bytes(micro_batch, work.sequence, work.model.hidden, work.mode.compute.bits // 8)
    each = collectives.point_to_point(
        size / layout.tensor, cluster.bandwidth(within_node=within), cluster.latency(within_node=within)
    )
    return pipeline_parallel.boundary_crossings(p, layout.micro_batches, layout.interleave) * each


def _data_seconds(
    work: Job, stage: Stage, layout: Layout, cluster: Cluster, step: StepTime, busy: Seconds
) -> tuple[Seconds, Seconds]:
    """Seconds of the data group's collectives per step, and the part nothing hides."""
    n = layout.data
    if n == 1:
        return 0.0, 0.0
    elements = sum(p.elements * p.count for p in stage_parameters(stage))
    gradients, weights = work.mode.gradients.bytes(elements), work.mode.weights.bytes(elements)
    reduce, gather = (_group(size, layout, cluster) for size in (gradients, weights))
    last_backward = busy * step.backward / max(step.forward + step.backward + step.recompute, 1e-30)
    if layout.zero < 3:
        # An all-reduce of gradients, or a reduce-scatter of gradients and an all-gather of updated weights.
        sent = 2 * reduce if layout.zero == 0 else reduce + gather
        buckets = max(gradients / BUCKET_BYTES, 1.0)
        reducing = 2 * reduce if layout.zero == 0 else reduce
        exposed = max(reducing - last_backward * (1 - 1 / buckets), reducing / buckets)
        return sent, exposed + (sent - reducing)
    # Parameters are gathered for forward and backward of every micro-batch, gradients scattered after each.
    per_micro_batch = 2 * gather + reduce
    first_layer = gather / max(stage.blocks, 1)
    exposed = max(per_micro_batch - busy, first_layer)
    return layout.micro_batches * per_micro_batch, layout.micro_batches * exposed


def _group(size: Bytes, layout: Layout, cluster: Cluster) -> Seconds:
    """Seconds to scatter or gather `size` bytes in the data group, first inside nodes, then between them."""
    inside = max(min(layout.data, cluster.node_size // min(layout.tensor, cluster.node_size)), 1)
    if layout.data % inside:
        inside = 1
    nodes = layout.data // inside
    seconds = collectives.all_gather(
        size, inside, cluster.bandwidth(within_node=True), cluster.latency(within_node=True)
    )
    if nodes > 1:
        seconds = seconds + collectives.all_gather(
            size / inside, nodes, cluster.bandwidth(within_node=False), cluster.latency(within_node=False)
        )
    return seconds


def weak_scaling(work: Job, cluster: Cluster, micro_batch: Count, replicas: tuple[Count, ...]) -> tuple[JobTime, ...]:
    """The same work per device on more and more data-parallel devices: how efficiency falls as the network fills."""
    if not replicas:
        raise EngineError("replicas () is empty; allowed: at least one number of devices")
    return tuple(job_time(work, Layout(data=n), cluster, micro_batch) for n in replicas)
