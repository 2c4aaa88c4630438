"""The estimate: one configuration's parameters, memory, operations, time, energy and money in one answer.

Memory is counted for the busiest device, in the engine's named tensors. Its components are what each of them takes at
its largest; they are not all largest at the same moment, so their sum is not the peak. `peak_balance` closes the sum:
what is alive at the peak besides, less what is not alive then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from engine.answers.assumptions import assumptions, hourly_price
from engine.config.layout import Stage, stages
from engine.config.setup import Setup, setup
from engine.core.sizes import Size
from engine.core.units import Bytes, Count, Dollars, Flops, FlopsPerSecond, Joules, PerSecond, Ratio, Seconds, Watts
from engine.economics.cost import dollars_per_billion_tokens, joules_per_token
from engine.graph.blocks import sections
from engine.graph.operations import operation_sizes
from engine.memory.ledger import training_memory
from engine.memory.tensors import MemoryLedger
from engine.time.recipe_time import head_again, head_flops, offload_seconds, recipe_plan, update_difference
from engine.time.step import StepPlan, StepTime, stage_plan

if TYPE_CHECKING:  # A single device needs none of it, and starts sooner without.
    from engine.parallel.job import Job, JobTime


@dataclass(frozen=True, slots=True)
class MemoryBytes:
    """Bytes of the busiest device. All up to `peak_balance` add up to `allocated_peak`.

    Attributes:
        parameters: The working weights.
        gradients: Gradients of parameters.
        optimizer: States of the optimizer.
        activations: Kept from forward to backward.
        logits: Log-probabilities and what else the loss keeps.
        workspace: Scratch memory of the matrix library.
        master: A second, fp32 copy of the weights.
        casts: 16-bit copies of fp32 weights that autocast keeps until backward.
        buckets: Copies of gradients on their way to other devices.
        gathered: Parameters of two blocks that ZeRO-3 has collected.
        peak_balance: Temporary tensors at the peak, less what of the above is not alive at that moment.
        allocated_peak: The most that is allocated at once: `torch.cuda.max_memory_allocated`.
        context: What the driver takes outside the framework's allocator.
        device_total: Both together, the least a device must have.
        capacity: What programs can allocate on the device.
        host: What is offloaded to the host's memory.
    """

    parameters: Bytes
    gradients: Bytes
    optimizer: Bytes
    activations: Bytes
    logits: Bytes
    workspace: Bytes
    master: Bytes
    casts: Bytes
    buckets: Bytes
    gathered: Bytes
    peak_balance: Bytes
    allocated_peak: Bytes
    context: Bytes
    device_total: Bytes
    capacity: Bytes
    host: Bytes


@dataclass(frozen=True, slots=True)
class StepFlops:
    """Matrix-product FLOPs of one optimizer step of the whole job: what the mathematics needs, and what is done."""

    model_per_step: Flops
    hardware_per_step: Flops


@dataclass(frozen=True, slots=True)
class JobStep:
    """Time of one optimizer step of the whole job.

    Attributes:
        step_s: Seconds.
        tokens_per_s: Tokens per second of all devices together.
        mfu: Model FLOPs over what all devices could do at their dense peak.
        hfu: Hardware FLOPs over the same.
        bound_by: What most of the step goes to: `"compute"`, `"memory"`, `"launch"`, `"communication"`, `"bubble"` or
            `"offload"`.
    """

    step_s: Seconds
    tokens_per_s: PerSecond
    mfu: Ratio
    hfu: Ratio
    bound_by: str


@dataclass(frozen=True, slots=True)
class Estimate:
    """The answer. `as_dict` is the JSON of the command line.

    Attributes:
        parameters: Of the whole model.
        memory_bytes: Of the busiest device.
        flops: Of a step.
        time: Of a step.
        energy_j_per_token: Joules of all devices per token.
        usd_per_1e9_tokens: Dollars per billion tokens, or None when no price of the chip is on record.
        fits: Whether `device_total` is within `capacity`.
        assumptions: What the numbers rest on, one sentence each.
    """

    parameters: Count
    memory_bytes: MemoryBytes
    flops: StepFlops
    time: JobStep
    energy_j_per_token: Joules
    usd_per_1e9_tokens: float | None
    fits: bool
    assumptions: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return asdict(self) | {"assumptions": list(self.assumptions)}


@dataclass(frozen=True, slots=True)
class EstimatePlan:
    """A configuration made ready; call it with other batches and sequences.

    Attributes:
        setup: The configuration.
        step: Seconds of a step and what bounds them, for a batch and a sequence.
        model_flops: Of one micro-batch of one replica.
        hardware_flops: With what is computed again.
        micro_batches: Of all replicas, per step.
        peak: FLOPs per second of all devices.
        power: Watts of all devices.
        price: Dollars for the seconds that a billion tokens take at one token per second, or None.
        assumptions: What the numbers rest on.
    """

    setup: Setup
    step: Callable[[Count, Count], tuple[Seconds, str]]
    model_flops: Size
    hardware_flops: Size
    micro_batches: Count
    peak: FlopsPerSecond
    power: Watts
    price: Dollars | None
    assumptions: tuple[str, ...]

    def __call__(self, batch: Count | None = None, sequence: Count | None = None) -> Estimate:
        """The estimate for a micro-batch and a sequence length; those of the configuration when None."""
        asked = self.setup
        batch = asked.batch if batch is None else batch
        sequence = asked.sequence if sequence is None else sequence
        seconds, bound_by = self.step(batch, sequence)
        available = seconds * self.peak
        model_flops = self.model_flops(batch, sequence) * self.micro_batches
        hardware_flops = self.hardware_flops(batch, sequence) * self.micro_batches
        rate = batch * sequence * self.micro_batches / seconds
        memory = memory_bytes(asked, ledger(asked, batch, sequence))
        return Estimate(
            asked.model.parameters,
            memory,
            StepFlops(model_flops, hardware_flops),
            JobStep(seconds, rate, model_flops / available, hardware_flops / available, bound_by),
            self.power / rate,
            None if self.price is None else self.price / rate,
            memory.device_total <= memory.capacity,
            self.assumptions,
        )


@lru_cache(maxsize=1024)
def prepare(configuration: Setup) -> EstimatePlan:
    """A configuration made ready for repeated evaluation."""
    c = configuration
    parts = sections(c.model, c.precision, c.attention, c.dropout, "cuda", c.framework)
    model_flops, hardware_flops = operation_sizes(parts, c.recipe.checkpointing)
    price = hourly_price(c.chip)
    (whole,) = stages(c.model, replace(c.layout, data=1, tensor=1, pipeline=1, sequence_parallel=False, interleave=1))
    return EstimatePlan(
        setup=c,
        step=step_function(c),
        model_flops=model_flops,
        hardware_flops=hardware_flops + head_flops(c, whole),
        micro_batches=c.micro_batches * c.replicas,
        peak=c.chip.peak(c.precision.compute.name) * c.layout.devices,
        power=joules_per_token(c.chip.tdp, c.layout.devices, 1.0),
        price=None if price is None else dollars_per_billion_tokens(price, c.layout.devices, 1.0),
        assumptions=assumptions(c),
    )


def estimate(model: Any, gpu: Any, **choices: Any) -> Estimate:
    """Everything about one configuration. Arguments as in `engine.config.setup.setup`.

    Raises:
        EngineError: An unknown name, a value out of range, or choices that exclude each other.
    """
    return prepare(setup(model, gpu, **choices))()


def step_function(c: Setup) -> Callable[[Count, Count], tuple[Seconds, str]]:
    """A function of batch and sequence that gives the seconds of a step and what bounds them."""
    return _one_device(c) if c.cluster is None else _many_devices(c)


def ledger(c: Setup, batch: Count, sequence: Count) -> MemoryLedger:
    """The named tensors of the busiest device."""
    return training_memory(
        c.model,
        optimizer=c.optimizer,
        precision=c.precision,
        batch=batch,
        sequence=sequence,
        attention=c.attention,
        dropout=c.dropout,
        checkpointing=c.recipe.checkpointing,
        loss="full" if c.recipe.chunks == 1 else f"chunked:{c.recipe.chunks}",
        # Gradients outlive a micro-batch or do not: how many follow makes no difference, and fewer plans are prepared.
        accumulate=min(c.micro_batches, 2),
        optimizer_in_backward=c.recipe.optimizer_in_backward,
        offload=c.recipe.offload,
        update=c.recipe.update,
        framework=c.framework,
        layout=c.layout,
    )


def memory_bytes(c: Setup, account: MemoryLedger) -> MemoryBytes:
    """A ledger as the estimate reports it."""
    kept = account.bytes_by_component().get
    workspace, context, peak = account.plan.workspace_bytes, account.plan.context_bytes, account.allocated_peak
    parameters, gradients, optimizer = kept("parameters", 0), kept("gradients", 0), kept("optimizer", 0)
    activations, logits, master, casts = kept("activations", 0), kept("logits", 0), kept("master", 0), kept("casts", 0)
    buckets, gathered = kept("buckets", 0), kept("gathered", 0)
    held = parameters + gradients + optimizer + activations + logits + master + casts + buckets + gathered + workspace
    return MemoryBytes(
        parameters,
        gradients,
        optimizer,
        activations,
        logits,
        workspace,
        master,
        casts,
        buckets,
        gathered,
        peak - held,
        peak,
        context,
        peak + context,
        c.chip.usable_bytes,
        account.host_bytes,
    )


def stage_times(c: Setup) -> tuple[StepTime, JobTime | None]:
    """The parts of a step's time: of one device working alone, and of the whole job when there are several."""
    stage, *_ = stages(c.model, c.layout)
    alone = recipe_plan(_plan_of(c, stage), c, stage)(c.batch, c.sequence, c.micro_batches)
    if c.cluster is None:
        return alone, None
    from engine.parallel.job import job_time

    return alone, job_time(_job(c), c.layout, c.cluster, c.batch)


def _plan_of(c: Setup, stage: Stage) -> StepPlan:
    return stage_plan(
        stage,
        c.layout,
        c.chip,
        c.precision,
        c.optimizer,
        c.attention,
        c.recipe.checkpointing,
        c.dropout,
        c.fused,
        False,
        c.framework,
    )


def _one_device(c: Setup) -> Callable[[Count, Count], tuple[Seconds, str]]:
    (stage,) = stages(c.model, c.layout)
    plan = recipe_plan(_plan_of(c, stage), c, stage)
    again = head_again(c, stage, plan)

    def step(batch: Count, sequence: Count) -> tuple[Seconds, str]:
        time = plan(batch, sequence, c.micro_batches)
        total = time.total
        if again is not None:
            total = total + again(batch, sequence, c.micro_batches).total
        return _with_host(c, stage, time, total, time.bound_by)

    return step


def _many_devices(c: Setup) -> Callable[[Count, Count], tuple[Seconds, str]]:
    from engine.parallel.job import job_time

    assert c.cluster is not None
    cluster, ends = c.cluster, stages(c.model, c.layout)
    plans = [_plan_of(c, stage) for stage in ends]
    difference = max(update_difference(plan, c, stage) for plan, stage in zip(plans, ends, strict=True))
    again = head_again(c, ends[-1], plans[-1])
    work = _job(c)

    def step(batch: Count, sequence: Count) -> tuple[Seconds, str]:
        time = job_time(replace(work, sequence=sequence), c.layout, cluster, batch)
        total = time.total + difference
        if again is not None:
            total = total + again(batch, sequence, c.micro_batches).total
        alone = plans[0](batch, sequence, c.micro_batches)
        bound_by = alone.bound_by if time.bound_by == "compute" else time.bound_by
        return _with_host(c, ends[0], alone, total, bound_by)

    return step


def _job(c: Setup) -> Job:
    from engine.parallel.job import Job

    return Job(
        c.model,
        c.sequence,
        c.precision,
        c.optimizer,
        c.attention,
        c.recipe.checkpointing,
        c.framework,
        c.fused,
        c.dropout,
    )


def _with_host(c: Setup, stage: Stage, time: StepTime, total: Seconds, bound_by: str) -> tuple[Seconds, str]:
    """Adds what the device waits for its host, if anything is offloaded."""
    if c.recipe.offload == "none":
        return total, bound_by
    waiting = offload_seconds(c, stage, time.backward)
    return total + waiting, "offload" if waiting > total else bound_by
