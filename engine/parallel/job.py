"""A parallel job's step: compute of the slowest stage, pipeline bubble, and what communication adds that nothing hides.

Devices are numbered as Megatron-LM does: tensor parallelism inside a node first, then data, then pipeline. What is
hidden: data parallelism's gradients under the last backward pass, ZeRO-3's parameters under forward and backward.
What is not, unless a job says so: tensor parallelism's collectives and the sends between stages, which the next kernel
waits for.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.config.layout import Layout, Stage, stages
from engine.config.optimizers import Optimizer, optimizer
from engine.core.arrays import maximum
from engine.core.errors import EngineError, require_positive
from engine.core.units import Count, Flops, FlopsPerSecond, PerSecond, Ratio, Seconds, Traffic
from engine.graph.blocks import Attention, Framework
from engine.graph.checkpointing import NONE, Checkpointing, checkpointing
from engine.graph.operations import flops_per_token
from engine.hardware.cluster import Cluster
from engine.memory.static import stage_parameters
from engine.models.transformer import Transformer
from engine.numerics.precision import Precision, precision
from engine.parallel import collectives, pipeline_parallel, tensor_parallel
from engine.parallel.data_parallel import BUCKET_BYTES
from engine.time.step import StepTime, stage_plan


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
        overlap: Whether data parallelism's and ZeRO's collectives run beside the work.
        overlap_tensor: Whether tensor parallelism's collectives are cut into pieces that run beside the products.
        paired_sends: Whether a stage sends and receives at the same time, as Megatron-LM's does. DeepSpeed's sends,
            receives, and gathers the hidden state in the tensor group one after another.
        metrics: Cross-entropies that the training loop computes from the logits besides the loss, in FP32 and without
            gradient. Composer computes two by default, of which one is the loss again and the other its exponential.
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
    overlap: bool = True
    overlap_tensor: bool = False
    paired_sends: bool = True
    metrics: Count = 0


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
    overlap: bool = True,
    overlap_tensor: bool = False,
    paired_sends: bool = True,
    metrics: Count = 0,
) -> Job:
    """A `Job` from names. Raises `EngineError` for an unknown one."""
    sequence = model.max_seq if sequence is None else sequence
    require_positive("sequence", sequence)
    policy = checkpointing(policy)
    return Job(
        model,
        sequence,
        precision(mode),
        optimizer(rule),
        attention,
        policy,
        framework,
        fused,
        dropout,
        overlap,
        overlap_tensor,
        paired_sends,
        metrics,
    )


@dataclass(frozen=True, slots=True)
class JobTime:
    """Seconds of one optimizer step of a parallel job; the parts add up to `total`.

    Attributes:
        compute: The slowest stage's forward, backward and recompute, over all its micro-batches.
        update: Its optimizer step, and adding up the gradients of its micro-batches.
        bubble: Waiting for the pipeline to fill and drain.
        tensor: Tensor parallelism's collectives.
        pipeline: Sends between stages.
        data: Data parallelism's and ZeRO's collectives that nothing hides, the copies into and out of their buffers,
            and what hidden collectives cost the work.
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
    times = [_busy(work, stage, layout, cluster, micro_batch, step) for stage, step in zip(ends, steps, strict=True)]
    busy = max(times)
    slowest = times.index(busy)
    stage, step = ends[slowest], steps[slowest]
    # The slowest stage works on m micro-batches; before its first and after its last it waits for the p - 1 others.
    others = sum(times) - busy
    middle = max(p - len(ends), 0) * _middle(work, layout, cluster, micro_batch, ends)
    bubble = (others + middle) / v
    units = cluster.chip.multiprocessors
    sent_tensor, exposed = _tensor_seconds(work, stage, layout, cluster, micro_batch, busy)
    # A hidden collective is not free: its kernels take multiprocessors from the work they hide under.
    tensor = m * (exposed + collectives.contention(sent_tensor - exposed, units))
    bubble = bubble + tensor / m * (p - 1) / v
    pipeline = _pipeline_seconds(work, layout, cluster, micro_batch)
    sent, exposed = _data_seconds(work, stage, layout, cluster, step, busy)
    hidden = sent - exposed
    exposed = exposed + collectives.contention(hidden, units) + _copies(work, stage, layout, cluster)
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
    return plan(micro_batch, work.sequence, layout.micro_batches)


def _busy(work: Job, stage: Stage, layout: Layout, cluster: Cluster, micro_batch: Count, step: StepTime) -> Seconds:
    """Seconds of one micro-batch: the device's, unless the host cannot keep up."""
    device = step.forward + step.backward + step.recompute
    return maximum(device, step.host) / layout.micro_batches + _metrics(work, stage, cluster, micro_batch)


def _metrics(work: Job, stage: Stage, cluster: Cluster, micro_batch: Count) -> Seconds:
    """Seconds per micro-batch of cross-entropies for metrics: cast to fp32, then log-softmax, both in memory."""
    if not stage.last:
        return 0.0
    logits = micro_batch * work.sequence * stage.model.vocab
    moved = logits * (work.mode.compute.bits // 8 + 3 * 4)
    return work.metrics * moved / cluster.chip.streaming


def _middle(work: Job, layout: Layout, cluster: Cluster, micro_batch: Count, ends: tuple[Stage, ...]) -> Seconds:
    """Seconds of one micro-batch on a stage with blocks only."""
    if len(ends) == 1:
        return 0.0
    first = ends[0]
    blocks = first.blocks + layout.balanced
    stage = Stage(first.model, blocks, first.kept_blocks, first.in_flight, first=False, last=False)
    step = _stage_step(work, stage, layout, cluster, micro_batch)
    return _busy(work, stage, layout, cluster, micro_batch, step)


def _tensor_seconds(
    work: Job, stage: Stage, layout: Layout, cluster: Cluster, micro_batch: Count, busy: Seconds
) -> tuple[Seconds, Seconds]:
    """Collectives of one micro-batch on one stage, and the part nothing hides.

    Two per block forward, two backward, two when blocks run again; one for the embedding and one for the head.
    """
    t = layout.tensor
    if t == 1:
        return 0.0, 0.0
    size = micro_batch * work.sequence * work.model.hidden * (work.mode.compute.bits // 8)
    each = collectives.all_reduce(size, t, *cluster.collective(size, within_node=t <= cluster.node_size))
    again = work.policy.kind == "full"
    extra = 2 * (stage.first + stage.last)
    sent = (tensor_parallel.all_reduces_per_layer(again) * stage.blocks + extra) * each
    # Cut into t pieces, the first cannot hide: nothing has been computed that it could send, or it is waited for.
    return sent, max(sent - busy, sent / t) if work.overlap_tensor else sent


def _pipeline_seconds(work: Job, layout: Layout, cluster: Cluster, micro_batch: Count) -> Seconds:
    """Sends of one stage over the step. With tensor parallelism each device sends its share of the hidden state.

    Source for DeepSpeed: its repository in March 2022, `runtime/pipe/schedule.py` and `runtime/pipe/engine.py`.
    """
    p = layout.pipeline
    if p == 1:
        return 0.0
    within = layout.devices <= cluster.node_size
    size = pipeline_parallel.boundary_bytes(micro_batch, work.sequence, work.model.hidden, work.mode.compute.bits // 8)
    each = collectives.point_to_point(
        size / layout.tensor, cluster.bandwidth(within_node=within), cluster.latency(within_node=within)
    )
    if not work.paired_sends:
        inside = layout.tensor <= cluster.node_size
        gathered = collectives.all_gather(size, layout.tensor, *cluster.collective(size, within_node=inside))
        each = 2 * each + gathered
    return pipeline_parallel.boundary_crossings(p, layout.micro_batches, layout.interleave) * each


def _data_seconds(
    work: Job, stage: Stage, layout: Layout, cluster: Cluster, step: StepTime, busy: Seconds
) -> tuple[Seconds, Seconds]:
    """Seconds of the data group's collectives per step, and the part nothing hides."""
    n, m = layout.data, layout.micro_batches
    if n == 1:
        return 0.0, 0.0
    elements = sum(p.elements * p.count for p in stage_parameters(stage))
    gradients, weights = work.mode.gradients.bytes(elements), work.mode.weights.bytes(elements)
    if layout.zero == 3:
        # Parameters are gathered for forward and backward of every micro-batch, gradients scattered after each, a
        # block at a time.
        gather, reduce = (_group(size, size / max(stage.blocks, 1), layout, cluster) for size in (weights, gradients))
        sent = 2 * gather + reduce
        exposed = max(sent - busy, (gather + reduce) / max(stage.blocks, 1)) if work.overlap else sent
        return m * sent, m * exposed
    # An all-reduce of gradients, or a reduce-scatter of gradients and an all-gather of updated weights. ZeRO-2 keeps
    # only its share of gradients, so it scatters those of every micro-batch; pipelines add them up first.
    bucket = BUCKET_BYTES if work.framework == "torch" else gradients
    reduce, gather = _group(gradients, bucket, layout, cluster), _group(weights, weights, layout, cluster)
    reducing = 2 * reduce if layout.zero == 0 else reduce
    times = _scatters(layout)
    gathering = 0.0 if layout.zero == 0 else gather
    sent = times * reducing + gathering
    if not work.overlap:
        return sent, sent
    passes = max(step.forward + step.backward + step.recompute, 1e-30)
    buckets = max(gradients / BUCKET_BYTES, 1.0)
    under = busy * (step.backward + step.recompute) / passes * (1 - 1 / buckets)
    # Weights are gathered block by block ahead of the next forward pass.
    ahead = max(gathering - busy * step.forward / passes, gathering / max(stage.blocks, 1))
    return sent, times * max(reducing - under, reducing / buckets) + ahead


def _scatters(layout: Layout) -> Count:
    """Times per step that gradients are summed over the replicas."""
    return layout.micro_batches if layout.zero >= 2 and layout.pipeline == 1 else 1


COPY_PASSES: Count = 4
"""Times that a ZeRO-2 or ZeRO-3 micro-batch passes over its parameters' gradients besides sending them.

They are copied into one flat buffer and divided by the number of devices, each a read and a write (PyTorch,
`torch/distributed/fsdp/_runtime_utils.py`; DeepSpeed's buckets do the same).
"""


def _copies(work: Job, stage: Stage, layout: Layout, cluster: Cluster) -> Seconds:
    """Seconds per step of the copies that dividing gradients needs."""
    if layout.data == 1 or layout.zero < 2:
        return 0.0
    elements = sum(p.elements * p.count for p in stage_parameters(stage))
    moved = COPY_PASSES * work.mode.gradients.bytes(elements) * _scatters(layout)
    return moved / cluster.chip.streaming


def _group(size: Traffic, message: Traffic, layout: Layout, cluster: Cluster) -> Seconds:
    """Seconds to scatter or gather `size` bytes in the data group, `message` bytes at a time.

    Links inside nodes and between them carry the same stream at the same time, so the slower of them sets the pace.
    """
    inside = max(min(layout.data, cluster.node_size // min(layout.tensor, cluster.node_size)), 1)
    if layout.data % inside:
        inside = 1
    nodes = layout.data // inside
    message = min(message, size)
    seconds = collectives.all_gather(size, inside, *cluster.collective(message, within_node=True))
    if nodes > 1:
        bandwidth, latency = cluster.collective(message, within_node=False)
        steps = latency * max(size / message, 1.0)
        seconds = max(seconds, collectives.all_gather(size / inside, nodes, bandwidth, steps))
    return seconds


def weak_scaling(work: Job, cluster: Cluster, micro_batch: Count, replicas: tuple[Count, ...]) -> tuple[JobTime, ...]:
    """The same work per device on more and more data-parallel devices: how efficiency falls as the network fills."""
    if not replicas:
        raise EngineError("replicas () is empty; allowed: at least one number of devices")
    return tuple(job_time(work, Layout(data=n), cluster, micro_batch) for n in replicas)
