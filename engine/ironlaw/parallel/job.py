"""A parallel job's step: compute of the slowest stage, pipeline bubble, and what communication adds that nothing hides.

Devices are numbered as Megatron-LM does: tensor parallelism inside a node first, then context, data, pipeline. What is
hidden: data parallelism's gradients under the last backward pass, ZeRO-3's parameters under forward and backward, the
keys and values of a ring under attention.
What is not, unless a job says so: tensor parallelism's collectives and the sends between stages, which the next kernel
waits for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ironlaw.config.layout import Layout, Stage
from ironlaw.config.resolved import Setup, alike, require_no_arrays
from ironlaw.config.setup import as_setup
from ironlaw.core.arrays import maximum
from ironlaw.core.sizes import Size
from ironlaw.core.units import Count, Ratio, Seconds, Traffic
from ironlaw.graph.adaptation import Held
from ironlaw.graph.operations import flops_per_token
from ironlaw.hardware.cluster import Cluster
from ironlaw.memory.deepspeed import BUCKET_ELEMENTS
from ironlaw.memory.static import is_expert, stage_held, stored_bytes
from ironlaw.models.transformer import Transformer
from ironlaw.parallel import collectives, model_parallel
from ironlaw.parallel.collectives import group_all_reduce
from ironlaw.parallel.data_parallel import BUCKET_BYTES
from ironlaw.time.step import Achieved, StepPlan, StepTime, step_plan, whole_flops


@dataclass(frozen=True, slots=True, kw_only=True)
class JobTime(Achieved):
    """Seconds of one optimizer step of a parallel job; the parts add up to `total`.

    Attributes:
        compute: The slowest stage's forward, backward and recompute, over all its micro-batches.
        update: Its optimizer step, and adding up the gradients of its micro-batches.
        bubble: Waiting for the pipeline to fill and drain.
        tensor: Tensor parallelism's collectives.
        context: Context parallelism's sends that nothing hides, and what hidden ones cost the work.
        pipeline: Sends between stages.
        expert: Sending tokens to the devices of their experts, and back.
        data: Data parallelism's and ZeRO's collectives that nothing hides, the copies into and out of their buffers,
            and what hidden collectives cost the work.
        hidden: Communication that runs beside compute (not part of the total).
        offload: Waiting for the optimizer's step in host memory.
        device_bound_by: What the slowest stage's own work is bound by.
    """

    compute: Seconds
    update: Seconds
    bubble: Seconds
    tensor: Seconds
    pipeline: Seconds
    data: Seconds
    hidden: Seconds
    offload: Seconds
    device_bound_by: str
    context: Seconds = 0.0
    expert: Seconds = 0.0

    @property
    def communication(self) -> Seconds:
        """Communication that the step waits for."""
        return self.tensor + self.pipeline + self.data + self.context + self.expert

    @property
    def total(self) -> Seconds:
        """Seconds of the step."""
        return self.compute + self.update + self.bubble + self.communication + self.offload

    @property
    def scaling_efficiency(self) -> Ratio:
        """Share of the step that devices would also need if they were alone: compute and update over total."""
        return (self.compute + self.update) / self.total

    @property
    def bound_by(self) -> str:
        """The largest part: `"bubble"`, `"communication"`, `"offload"`, or what bounds the slowest stage's own work."""
        parts = {
            self.device_bound_by: self.compute + self.update,
            "bubble": self.bubble,
            "communication": self.communication,
            "offload": self.offload,
        }
        return max(parts, key=lambda part: parts[part])


@dataclass(frozen=True)
class JobPlan:
    """The step of a whole job made ready; call it with a micro-batch and a sequence length.

    Attributes:
        setup: What is trained, how, and on what.
        stages: The plan of every kind of stage, with how many of it there are.
        recomputed_flops: Of one micro-batch of one replica of the whole model.
    """

    setup: Setup
    stages: tuple[tuple[StepPlan, Count], ...]
    recomputed_flops: Size

    def __call__(self, batch: Count, sequence: Count) -> JobTime:
        """The step's time.

        Args:
            batch: Sequences in a micro-batch of one replica.
            sequence: Tokens in a sequence.
        """
        c = self.setup.at(batch, sequence)
        m, p, v = c.micro_batches, c.layout.pipeline, c.layout.interleave
        # Stages that run the same share a plan, which is asked once.
        plans = {id(plan): plan for plan, _ in self.stages}
        steps = {key: plan(batch, sequence) for key, plan in plans.items()}
        own = {key: _busy(c, plan.stage, steps[key]) for key, plan in plans.items()}
        busy = max(own.values())
        slowest = next(key for key, time in own.items() if time == busy)
        stage, step = plans[slowest].stage, steps[slowest]
        # The slowest stage works on m micro-batches; before its first and after its last it waits for the others.
        others = sum(own[id(plan)] * count for plan, count in self.stages) - busy
        sent_tensor, exposed = _tensor_seconds(c, stage, busy)
        # A hidden collective is not free: its kernels take multiprocessors from the work they hide under.
        units = c.chip.multiprocessors
        tensor = m * (exposed + collectives.contention(sent_tensor - exposed, units))
        around, waited = _context_seconds(c, plans[slowest])
        context = m * (waited + collectives.contention(around - waited, units))
        expert = m * _expert_seconds(c, plans[slowest])
        sent, exposed = _data_seconds(c, stage, step, busy)
        hidden = sent - exposed
        tokens = c.tokens
        return JobTime(
            compute=m * busy,
            update=step.update,
            bubble=others / v + (tensor + context + expert) / m * (p - 1) / v,
            tensor=tensor,
            pipeline=_pipeline_seconds(c),
            data=exposed + collectives.contention(hidden, units) + _copies(c, stage),
            hidden=hidden,
            offload=max(step.offload for step in steps.values()),
            device_bound_by=step.bound_by,
            context=context,
            expert=expert,
            tokens=tokens,
            devices=c.devices,
            convention_flops=_convention(c, step) * tokens,
            recomputed_flops=self.recomputed_flops(batch, sequence) * m * c.replicas,
            peak=step.peak,
        )


def job_time(asked: Setup | str | Transformer | None = None, *words: Any, **choices: Any) -> JobTime:
    """One optimizer step of a whole job, with everything its devices wait for.

    Args:
        asked: A `Setup`, or the model of one.
        words: Further words of `ironlaw.setup`.
        choices: Further ones by name.

    Raises:
        EngineError: As `ironlaw.setup`.
    """
    c = as_setup(asked, *words, **choices)
    if c.cluster is not None:
        require_no_arrays(c)
    return job_plan(c)(c.batch, c.sequence)


def job_plan(c: Setup) -> JobPlan:
    """The step of a job made ready for repeated evaluation. The setup's batch and sequence do not matter."""
    return _job_plan(c.anywhere)


@lru_cache(maxsize=2048)
def _job_plan(c: Setup) -> JobPlan:
    # Stages alike but for their place are one kind, unless what is trained depends on the layer.
    everything = c.adaptation.everything
    kinds = Counter(
        replace(stage, kept_blocks=0, in_flight=0, start=0 if everything else stage.start) for stage in c.stages
    )
    _, again = whole_flops(c)
    return JobPlan(c, tuple((step_plan(c, alike(c, stage)), count) for stage, count in kinds.items()), again)


def _convention(c: Setup, step: StepTime) -> float:
    """FLOPs of a token by the rule of utilization; of a model that is trained in parts, those of its one stage."""
    if c.adaptation.everything:
        return flops_per_token(c.model, c.sequence)
    return step.convention_flops / step.tokens


HOST_COLLECTIVE: Seconds = 70e-6
"""Seconds the host needs to issue one collective through PyTorch: streams that wait for each other, and NCCL's call.

Measured on the processor for an all-reduce of 20 MB; 35 microseconds where NCCL runs on the stream of the work, which
hides nothing. Source: github.com/pytorch/pytorch, pull request 147820.
"""


def _busy(c: Setup, stage: Stage, step: StepTime) -> Seconds:
    """Seconds of one micro-batch: the device's, unless the host cannot keep up, which also issues the collectives."""
    m = c.micro_batches
    host = step.host / m + _calls(c, stage) * HOST_COLLECTIVE
    return maximum((step.forward + step.backward + step.recompute) / m, host)


def _calls(c: Setup, stage: Stage) -> Count:
    """Collectives and sends that the host issues for a micro-batch; those of a step's end are few and not counted."""
    layout = c.layout
    sharded = (3 + c.reference_passes) * max(stage.blocks, 1) if layout.peers > 1 and layout.zero == 3 else 0
    sends = 4 * layout.interleave if layout.pipeline > 1 else 0
    again = c.checkpointing.kind != "none"
    passes = (2 + again) * (layout.context - 1) + 1 if layout.context > 1 else 0  # one call for all that a step sends
    exchanges = (8 if again else 5) * stage.blocks if layout.expert > 1 else 0
    return _tensor_calls(c, stage) + sharded + sends + passes * stage.blocks + exchanges


def _cluster(c: Setup) -> Cluster:
    assert c.cluster is not None
    return c.cluster


def _tensor_seconds(c: Setup, stage: Stage, busy: Seconds) -> tuple[Seconds, Seconds]:
    """Collectives of one micro-batch on one stage, and the part nothing hides.

    Two per block forward, two backward, two when blocks run again; one for the embedding and one for the head.
    """
    t = c.layout.tensor
    if t == 1:
        return 0.0, 0.0
    size = c.batch * c.own_sequence * c.model.hidden * (c.precision.compute.bits // 8)
    sent = _tensor_calls(c, stage) * group_all_reduce(size, t, _cluster(c))
    # Of t pieces, one cannot be hidden: there is nothing to compute before the first has come, or after the last has.
    return sent, max(sent - busy, sent / t) if c.layout.overlap_tensor else sent


def _context_seconds(c: Setup, plan: StepPlan) -> tuple[Seconds, Seconds]:
    """Sends of keys and values of one micro-batch on one stage, and the part nothing hides.

    A ring lies inside a node where a node holds whole groups that share sequences and matrices; any other one crosses
    the network, at whose pace all of it goes.
    """
    sent = exposed = 0.0
    ways = c.layout.context
    if ways == 1:
        return sent, exposed
    cluster = _cluster(c)
    within = cluster.node_size % (c.layout.tensor * ways) == 0
    link = cluster.bandwidth(within_node=within), cluster.latency(within_node=within)
    for phase, count, size, attention in plan.rings(c.batch, c.sequence):
        each, twice = (collectives.point_to_point(times * size, *link) for times in (1, 2))
        one = collectives.ring_seconds(each, twice, attention, ways, backward=phase == "backward")
        sent, exposed = sent + count * one[0], exposed + count * one[1]
    return sent, exposed


def _expert_seconds(c: Setup, plan: StepPlan) -> Seconds:
    """Seconds in which tokens of one micro-batch go to their experts' devices and back; what comes next waits for all.

    Before tokens go, devices tell each other how many will come.
    """
    ways = c.layout.expert
    if ways == 1:
        return 0.0
    cluster = _cluster(c)
    tensor = c.layout.tensor
    inside = max(cluster.filled(ways * tensor, tensor) // tensor, 1)
    return sum(
        count * collectives.all_to_all(size, ways, inside, cluster)
        for count, size in plan.exchanges(c.batch, c.sequence)
    )


def _tensor_calls(c: Setup, stage: Stage) -> Count:
    """All-reduces of a micro-batch in a tensor group."""
    if c.layout.tensor == 1:
        return 0
    again = c.checkpointing.kind == "full"
    extra = 2 * (stage.first + stage.last)
    return model_parallel.all_reduces_per_layer(recompute=again) * stage.blocks + extra


def _pipeline_seconds(c: Setup) -> Seconds:
    """Sends of one stage over the step. With tensor parallelism each device sends its share of the hidden state.

    DeepSpeed sends, receives, and gathers the hidden state in the tensor group one after another. Source: its
    repository in March 2022, `runtime/pipe/schedule.py` and `runtime/pipe/engine.py`.
    """
    layout = c.layout
    if layout.pipeline == 1:
        return 0.0
    cluster = _cluster(c)
    within = c.devices <= cluster.node_size
    size = model_parallel.boundary_bytes(c.batch, c.own_sequence, c.model.hidden, c.precision.compute.bits // 8)
    each = collectives.point_to_point(
        size / layout.tensor, cluster.bandwidth(within_node=within), cluster.latency(within_node=within)
    )
    if c.framework.runtime == "deepspeed":
        inside = layout.tensor <= cluster.node_size
        gathered = collectives.all_gather(size, layout.tensor, *cluster.collective(size, within_node=inside))
        each = 2 * each + gathered
    return model_parallel.boundary_crossings(layout.pipeline, layout.micro_batches, layout.interleave) * each


def _data_seconds(c: Setup, stage: Stage, step: StepTime, busy: Seconds) -> tuple[Seconds, Seconds]:
    """Seconds of the collectives of devices with the same parameters per step, and the part nothing hides."""
    layout, m = c.layout, c.micro_batches
    if layout.peers == 1:
        return 0.0, 0.0
    groups = tuple(_groups(c, stage))
    blocks = max(stage.blocks, 1)
    if layout.zero == 3:
        # Parameters, frozen ones too, are gathered for forward and backward of every micro-batch, gradients scattered
        # after each, a block at a time; a reference's for its forward pass.
        stored = ((stored_bytes(c, g.held), g.stride) for g in groups)
        gather = sum(_group(c, size, size / blocks, stride) for size, stride in stored)
        reduce = sum(_group(c, g.gradients, g.gradients / blocks, g.stride) for g in groups)
        sent = (2 + c.reference_passes) * gather + reduce
        exposed = max(sent - busy, (gather + reduce) / blocks) if layout.overlap else sent
        return m * sent, m * exposed
    # An all-reduce of gradients, or a reduce-scatter of gradients and an all-gather of updated weights. ZeRO-2 keeps
    # only its share of gradients, so it scatters those of every micro-batch; pipelines add them up first.
    reducing = gathering = ready = 0.0
    for g in groups:
        bucket = _bucket(c, g.gradients, g.elements, blocks)
        ready += g.gradients / bucket
        if layout.zero == 0:
            message = min(bucket, g.gradients)
            inside = _inside(layout, _cluster(c), g.stride)
            every = group_all_reduce(message, layout.peers // g.stride, _cluster(c), inside=inside)
            reducing += g.gradients / message * every
        else:
            weights = c.trained_weights.bytes(g.elements)
            reducing += _group(c, g.gradients, bucket, g.stride)
            gathering += _group(c, weights, weights * bucket / g.gradients, g.stride)
    times = _scatters(c)
    sent = times * reducing + gathering
    if not layout.overlap:
        return sent, sent
    passes = max(step.forward + step.backward + step.recompute, 1e-30)
    buckets = max(ready, 1.0)  # one after another
    window = busy * _chunk_windows(c)
    under = window * (step.backward + step.recompute) / passes * (1 - 1 / buckets)
    # Weights are gathered block by block ahead of the next forward pass.
    ahead = max(gathering - window * step.forward / passes, gathering / blocks)
    return sent, times * max(reducing - under, reducing / buckets) + ahead


@dataclass(frozen=True, slots=True)
class _Group:
    """Parameters whose copies lie on the same devices: the experts where devices share them, and the others.

    Attributes:
        held: The parameters as they are kept.
        elements: How many of their elements are trained.
        gradients: Bytes of their gradients.
        stride: From a device to the next with the same, in data groups: 1, or the devices that share experts.
    """

    held: tuple[Held, ...]
    elements: Count
    gradients: Traffic
    stride: Count


def _groups(c: Setup, stage: Stage) -> Iterator[_Group]:
    """The parameters that several devices have, by the devices that do."""
    kept = stage_held(c, stage)
    parts = {1: kept}
    if (ways := c.layout.expert) > 1:
        parts = {1: tuple(one for one in kept if not is_expert(one.parameter.name))}
        if c.layout.expert_peers > 1:
            parts[ways] = tuple(one for one in kept if is_expert(one.parameter.name))
    for stride, held in parts.items():
        elements = sum(one.parameter.elements * one.parameter.count for one in held if one.trained)
        yield _Group(held, elements, c.gradients.bytes(elements), stride)


def _bucket(c: Setup, gradients: Traffic, elements: Count, blocks: Count) -> Traffic:
    """Bytes of gradients that the data group sends at a time.

    Every message pays the hops of its ring, so what divides gradients sends larger ones. Megatron-LM's grow with the
    devices (its `core/distributed`, `bucket_size`); FSDP2, kept gathered after the forward pass, sends those of a block
    (PyTorch, `torch/distributed/fsdp/_fully_shard`).
    """
    if c.framework.runtime == "deepspeed":
        return gradients * min(1.0, BUCKET_ELEMENTS / elements)
    if c.framework.by_hand:
        return gradients * min(1.0, max(40_000_000, 1_000_000 * c.layout.peers) / elements)
    return gradients / blocks if c.layout.zero else BUCKET_BYTES


def _chunk_windows(c: Setup) -> Ratio:
    """Micro-batches that run between a stage's first finished gradients and the end of its step, at least one.

    With an interleaved schedule Megatron-LM sums the gradients of a chunk once its last micro-batch is through, and the
    p micro-batches of each of the other v - 1 chunks follow; the gathers of the next step go the same way backwards.
    Source: Megatron-LM, `core/pipeline_parallel/schedules.py` and `core/distributed`.
    """
    p, v = c.layout.pipeline, c.layout.interleave
    return max(p * (v - 1) / v, 1.0) if c.framework.by_hand else 1.0


def _scatters(c: Setup) -> Count:
    """Times per step that gradients are summed over the replicas."""
    return c.micro_batches if c.layout.zero >= 2 and c.layout.pipeline == 1 else 1


COPY_PASSES: Count = 4
"""Times that a ZeRO-2 or ZeRO-3 micro-batch passes over its parameters' gradients besides sending them.

They are copied into one flat buffer and divided by the number of devices, each a read and a write (PyTorch,
`torch/distributed/fsdp/_runtime_utils.py`; DeepSpeed's buckets do the same).
"""


def _copies(c: Setup, stage: Stage) -> Seconds:
    """Seconds per step of the copies that dividing gradients needs."""
    if c.layout.peers == 1 or c.layout.zero < 2:
        return 0.0
    gradients = sum(g.gradients for g in _groups(c, stage))
    return COPY_PASSES * gradients * _scatters(c) / c.chip.streaming


def _inside(layout: Layout, cluster: Cluster, stride: Count) -> Count:
    """Devices with the same parameters in each node, beside tensor groups and those that share experts."""
    apart = layout.tensor * stride
    return max(cluster.filled(layout.peers * layout.tensor, apart) // apart, 1)


def _group(c: Setup, size: Traffic, message: Traffic, stride: Count) -> Seconds:
    """Seconds to scatter or gather `size` bytes in a data group, `message` bytes at a time.

    Links inside nodes and between them carry the same stream at the same time, so the slower of them sets the pace.
    """
    layout, cluster = c.layout, _cluster(c)
    inside = _inside(layout, cluster, stride)
    nodes = layout.peers // stride // inside
    message = min(message, size)
    seconds = collectives.all_gather(size, inside, *cluster.collective(message, within_node=True))
    if nodes > 1:
        bandwidth, latency = cluster.collective(message, within_node=False, nodes=nodes, inside=inside)
        steps = latency * max(size / message, 1.0)
        seconds = max(seconds, collectives.all_gather(size / inside, nodes, bandwidth, steps))
    return seconds
