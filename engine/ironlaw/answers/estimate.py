"""The estimate: one configuration's parameters, memory, operations, time, energy and money in one answer.

Memory is counted for the busiest device, in the engine's named tensors. Its components are what each of them takes at
its largest; they are not all largest at the same moment, so their sum is not the peak. `peak_balance` is the
difference: temporary tensors that are alive at the peak, less the parts of the components that are not alive then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from ironlaw.answers.assumptions import UNCERTAIN_PIPELINE, assumptions, hourly_price
from ironlaw.calibration import Calibrated, Features, calibrate, gpu_family, number_group
from ironlaw.config.checks import require_sequence, require_shared, require_sweep, require_timed
from ironlaw.config.resolved import Setup
from ironlaw.config.setup import as_setup
from ironlaw.core.arrays import numbers, whole_numbers
from ironlaw.core.errors import EngineError
from ironlaw.core.sizes import Size
from ironlaw.core.units import Bytes, Count, Dollars, Flops, Joules, PerSecond, Ratio, Seconds, Watts
from ironlaw.economics.cost import dollars_per_billion_tokens, joules_per_token
from ironlaw.memory.ledger import busiest, memory_plans
from ironlaw.memory.tensors import COMPONENTS, MemoryPlan
from ironlaw.models.transformer import Transformer
from ironlaw.time.step import StepTime, step_plan, whole_flops

if TYPE_CHECKING:  # Imported only for several devices, so that a single one starts sooner.
    from ironlaw.parallel.job import JobTime

Verdict = Literal["fits", "uncertain", "not"]
NOTHING_KEPT = dict.fromkeys(COMPONENTS, 0)


@dataclass(frozen=True, slots=True)
class Expected:
    """The figures of an estimate that experience corrects. Bytes and FLOPs of named tensors need none.

    Attributes:
        step_s: Seconds of a step.
        tokens_per_s: Tokens per second of all devices together; low where steps are long.
        allocated_peak: Bytes of the allocator's peak.
        needed: Bytes that the busiest device must have: the allocator's peak, and what lies outside it. Runs out of
            memory are decided by these, since the allocator gives back what it keeps and does not use before it fails.
        device_total: Bytes that the driver shows on the busiest device, with what the allocator keeps.
    """

    step_s: Calibrated
    tokens_per_s: Calibrated
    allocated_peak: Calibrated
    needed: Calibrated
    device_total: Calibrated

    @property
    def reserved(self) -> Calibrated:
        """Bytes that the allocator keeps: no less than it has allocated, and no more than the driver shows."""
        least, most = self.allocated_peak, self.device_total
        middle = max(most.expected - (self.needed.expected - least.expected), least.expected)
        return Calibrated(middle, least.low, most.high, most.runs, most.sources)


def features(c: Setup) -> Features:
    """The facts about a setup that the calibration uses."""
    return Features(
        family=gpu_family(c.chip.name),
        devices=c.devices,
        execution=c.framework.execution,
        numbers=number_group(c.precision.name),
        software=c.framework.name if c.framework.runtime == "none" else c.framework.runtime,
    )


def expected(about: Features, step_s: float, tokens: float, allocated_peak: float, device_total: float) -> Expected:
    """Expected values and bands of an estimate.

    Args:
        about: The facts about the run that the calibration uses.
        step_s: Seconds of a step by the physics.
        tokens: Tokens of a step.
        allocated_peak: Bytes of the allocator's peak by the count.
        device_total: Bytes of the driver's view by the count.
    """
    time, allocated = calibrate("time", step_s, about), calibrate("allocated", allocated_peak, about)
    outside = device_total - allocated_peak
    needed = Calibrated(
        allocated.expected + outside,
        allocated.low + outside,
        allocated.high + outside,
        allocated.runs,
        allocated.sources,
    )
    rate = Calibrated(tokens / time.expected, tokens / time.high, tokens / time.low, time.runs, time.sources)
    return Expected(time, rate, allocated, needed, calibrate("device memory", device_total, about))


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
        peak_balance: Temporary tensors at the peak, less the parts of the above that are not alive at that moment.
        allocated_peak: The most that is allocated at once: `torch.cuda.max_memory_allocated`.
        runtime: What DeepSpeed's buffers and communicators, or vLLM, take besides.
        context: What the driver takes outside the framework's allocator.
        device_total: All three together, the least a device must have.
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
    runtime: Bytes
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
        mfu: Model FLOPs by the rule `6 N + 12 L h T` over what all devices could do at their dense peak. None where
            that passes 1: the rule counts all T² scores, of which causal kernels skip up to half, and means nothing
            for a step that is mostly attention.
        hfu: The same, with FLOPs that are computed again counted too; None where this passes 1.
        bound_by: What most of the step goes to: `"compute"`, `"memory"`, `"launch"`, `"communication"`, `"bubble"` or
            `"offload"`.
    """

    step_s: Seconds
    tokens_per_s: PerSecond
    mfu: Ratio | None
    hfu: Ratio | None
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
        about: The facts by which published runs are compared with this one; None where there are none (images).
    """

    parameters: Count
    memory_bytes: MemoryBytes
    flops: StepFlops
    time: JobStep
    energy_j_per_token: Joules
    usd_per_1e9_tokens: float | None
    fits: bool
    assumptions: tuple[str, ...]
    about: Features | None = None

    @property
    def calibrated(self) -> Expected | None:
        """What published runs lead one to expect, with 90 % bands; the estimate's own figures are physics alone."""
        if self.about is None:
            return None
        time, memory = self.time, self.memory_bytes
        tokens = time.tokens_per_s * time.step_s
        return expected(self.about, time.step_s, tokens, memory.allocated_peak, memory.device_total)

    @property
    def verdict(self) -> Verdict:
        """Whether the whole 90 % band of what is needed fits, none of it (`"not"`), or a part (`"uncertain"`).

        `fits` is the count alone.
        """
        seen, capacity = self.calibrated, self.memory_bytes.capacity
        if seen is None:
            return "fits" if self.fits else "not"
        band: Any = seen.needed
        if hasattr(band.high, "shape"):  # in a sweep, an answer for each point
            where: Any = numbers(band.high).where
            return where(band.high <= capacity, "fits", where(band.low > capacity, "not", "uncertain"))  # type: ignore[no-any-return]
        return "fits" if band.high <= capacity else "not" if band.low > capacity else "uncertain"

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        plain = asdict(self) | {"assumptions": list(self.assumptions), "verdict": self.verdict}
        del plain["about"]
        return plain | ({"calibrated": asdict(found)} if (found := self.calibrated) else {})


@dataclass(frozen=True, slots=True)
class EstimatePlan:
    """A configuration made ready; call it with other batches and sequences.

    Attributes:
        setup: The configuration.
        step: The time of a step, for a batch and a sequence.
        memory: What the stages hold that can need the most memory.
        model_flops: Matrix products of one micro-batch of one replica, by the exact operation list.
        hardware_flops: With what is computed again.
        power: Watts of all devices.
        price: Dollars for the seconds that a billion tokens take at one token per second, or None.
        assumptions: What the numbers rest on.
        about: The facts by which published runs are compared with this one.
    """

    setup: Setup
    step: Callable[[Count, Count], StepTime | JobTime]
    memory: tuple[MemoryPlan, ...]
    model_flops: Size
    hardware_flops: Size
    power: Watts
    price: Dollars | None
    assumptions: tuple[str, ...]
    about: Features

    def __call__(self, batch: Count | None = None, sequence: Count | None = None) -> Estimate:
        """The estimate for a micro-batch and a sequence length; those of the setup when None.

        On one device both may be NumPy arrays: a sweep, whose figures are arrays.
        """
        c = self.setup
        batch = c.batch if batch is None else batch
        sequence = c.sequence if sequence is None else sequence
        if type(batch) is not int or batch < 1:
            batch = whole_numbers("batch", batch)
        if type(sequence) is not int:
            sequence = whole_numbers("sequence", sequence)
        require_sequence(c.model, sequence)
        if c.layout.context > 1:
            require_shared(c, sequence)
        if hasattr(batch, "shape") or hasattr(sequence, "shape"):
            self._require_sweep(batch, sequence)
        time = self.step(batch, sequence)
        total = time.total
        micro_batches = c.micro_batches * c.replicas
        rate = batch * sequence * micro_batches / total
        memory = self._memory(batch, sequence)
        found = Estimate(
            c.model.parameters,
            memory,
            StepFlops(
                self.model_flops(batch, sequence) * micro_batches, self.hardware_flops(batch, sequence) * micro_batches
            ),
            JobStep(total, rate, _meaningful(time.mfu), _meaningful(time.hfu), time.bound_by),
            self.power / rate,
            None if self.price is None else self.price / rate,
            memory.device_total <= memory.capacity,
            self.assumptions,
            self.about,
        )
        if c.layout.pipeline > 1 and found.verdict == "uncertain":
            return replace(found, assumptions=(*self.assumptions, UNCERTAIN_PIPELINE))
        return found

    def _require_sweep(self, batch: Any, sequence: Any) -> None:
        c = self.setup
        if c.cluster is not None:
            raise EngineError(
                *(("batch", batch) if hasattr(batch, "shape") else ("sequence", sequence)),
                "a whole number: arrays are allowed in prepare(setup) of one device, step_time and training_memory",
                {"devices": c.devices},
            )
        require_sweep(c, batch, sequence)

    def _memory(self, batch: Count, sequence: Count) -> MemoryBytes:
        account = busiest(self.memory, batch, self.setup.own(sequence))
        return memory_bytes(
            account.bytes_by_component(),
            account.allocated_peak,
            self.setup.chip.usable_bytes,
            workspace=account.workspace_bytes,
            context=account.plan.context_bytes,
            runtime=account.plan.runtime_bytes,
            host=account.host_bytes,
        )


@lru_cache(maxsize=1024)
def prepare(c: Setup) -> EstimatePlan:
    """A configuration made ready for repeated evaluation, at other batches and sequences too.

    Call the result with a batch and a sequence; on one device they may be NumPy arrays, for a sweep in one call:

        >>> from ironlaw import setup
        >>> plan = prepare(setup("gpt2", "h200"))
        >>> [plan(batch).fits for batch in (8, 512)]
        [True, False]
    """
    require_timed(c.chip)
    model_flops, recomputed_flops = whole_flops(c)
    price = hourly_price(c.chip)
    return EstimatePlan(
        setup=c,
        step=step_function(c),
        memory=memory_plans(c),
        model_flops=model_flops,
        hardware_flops=model_flops + recomputed_flops,
        power=joules_per_token(c.chip.tdp, c.devices, 1.0),
        price=None if price is None else dollars_per_billion_tokens(price, c.devices, 1.0),
        assumptions=assumptions(c),
        about=features(c),
    )


def estimate(asked: Setup | str | Transformer | None = None, *words: Any, **choices: Any) -> Estimate:
    """Everything about one configuration. For many batches or sequences use `prepare`, which takes arrays too.

    Args:
        asked: A `Setup`, or the model of one.
        words: Further words of `ironlaw.setup`.
        choices: Further ones by name.

    Raises:
        EngineError: As `ironlaw.setup`.
    """
    return prepare(as_setup(asked, *words, **choices))()


def step_function(c: Setup) -> Callable[[Count, Count], StepTime | JobTime]:
    """A function of batch and sequence that gives the time of a step of the whole job."""
    if c.cluster is None:
        return step_plan(c)
    from ironlaw.parallel.job import job_plan

    return job_plan(c)


def _meaningful(utilization: Ratio) -> Ratio | None:
    """A utilization, or None if it is above 1; in a sweep, NaN instead of None."""
    if hasattr(utilization, "shape"):
        return numbers(utilization).where(utilization <= 1, utilization, float("nan"))
    return utilization if utilization <= 1 else None


def memory_bytes(
    kept: dict[str, Bytes],
    peak: Bytes,
    capacity: Bytes,
    *,
    workspace: Bytes,
    context: Bytes,
    runtime: Bytes = 0,
    host: Bytes = 0,
) -> MemoryBytes:
    """What a device keeps, by component, and the most that it allocates at once, as the estimate reports them."""
    return MemoryBytes(
        **NOTHING_KEPT | kept,
        workspace=workspace,
        peak_balance=peak - sum(kept.values()) - workspace,
        allocated_peak=peak,
        runtime=runtime,
        context=context,
        device_total=peak + runtime + context,
        capacity=capacity,
        host=host,
    )
