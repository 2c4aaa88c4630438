"""The time of a training step on one device: every kernel at the slower of arithmetic and memory, plus launching.

Nothing here is fitted to a whole training run. Matrix products run at the rate of their shape (`engine.time.gemm`),
below what the chip keeps up on real data, fused attention at a published rate, everything else at the streaming rate of
the memory. A kernel's time is never below FLOPs over the dense peak nor bytes over the bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

from engine.config.layout import Layout, Stage, stages
from engine.config.optimizers import Optimizer, optimizer
from engine.core.arrays import as_floats, maximum, numbers
from engine.core.errors import EngineError, require_positive
from engine.core.polynomial import Polynomial, point, polynomial
from engine.core.sizes import NOTHING, as_size
from engine.core.units import Bytes, Count, Flops, FlopsPerSecond, PerSecond, Ratio, Seconds
from engine.graph.blocks import Attention, Framework, sections
from engine.graph.checkpointing import Checkpointing, checkpointing
from engine.graph.ir import Section
from engine.graph.kernels import Kernel, Phase, backward_kernels, forward_kernels, recompute_kernels
from engine.graph.operations import operation_sizes, product_parameters, recomputation
from engine.hardware.accelerators import Accelerator, accelerator
from engine.memory.ledger import SINGLE
from engine.memory.static import stage_parameters
from engine.models.transformer import Transformer
from engine.models.transformer import model as model_by_name
from engine.numerics.precision import Precision, precision
from engine.time.attention_io import kernel_share
from engine.time.compiled import CountedProduct, PhaseWork, Preparation
from engine.time.gemm import Rows
from engine.time.update import FOREACH_LAUNCHES, update_bytes

KERNEL_GAP: Seconds = 1.5e-6
"""Seconds between two kernels that wait in the device's queue. An assumption; CUDA graphs reach about 1 microsecond."""

HOST_EAGER: Seconds = 6e-6
"""Seconds the host needs to issue one eager PyTorch kernel, autograd included. An assumption, typical of 4 to 10."""

HOST_COMPILED: Seconds = 3e-6
"""Seconds the host needs to issue one kernel of compiled code. An assumption."""


@dataclass(frozen=True, slots=True)
class StepTime:
    """Seconds of one optimizer step on one device, by what bounds them and by phase; both add up to `device`.

    Attributes:
        compute: Kernels bound by arithmetic.
        memory: Kernels bound by traffic.
        gaps: Between kernels.
        forward: Of the forward passes.
        backward: Of the backward passes.
        recompute: Of what checkpointing runs again.
        update: Of the optimizer.
        host: Seconds the host needs to issue all kernels, running beside the device.
        tokens: Tokens of the step.
        model_flops: By the exact operation list.
        hardware_flops: With what is computed again.
        convention_flops: By the rule `6 N + 12 L h T`.
        peak: Dense peak of the compute format.
    """

    compute: Seconds
    memory: Seconds
    gaps: Seconds
    forward: Seconds
    backward: Seconds
    recompute: Seconds
    update: Seconds
    host: Seconds
    tokens: Count
    model_flops: Flops
    hardware_flops: Flops
    convention_flops: Flops
    peak: FlopsPerSecond

    @property
    def device(self) -> Seconds:
        """Seconds the device is at work."""
        return self.compute + self.memory + self.gaps

    @property
    def total(self) -> Seconds:
        """Seconds of the step: the device's, unless the host cannot keep up."""
        return maximum(self.device, self.host)

    @property
    def launch(self) -> Seconds:
        """Seconds the step would be shorter if launching cost nothing."""
        return self.total - self.compute - self.memory

    @property
    def tokens_per_second(self) -> PerSecond:
        """Tokens per second of this device."""
        return self.tokens / self.total

    @property
    def mfu(self) -> Ratio:
        """Model FLOPs utilization by the convention `6 N + 12 L h T` against the dense peak."""
        return self.convention_flops / (self.total * self.peak)

    @property
    def hfu(self) -> Ratio:
        """Hardware FLOPs utilization, from the exact operation list."""
        return self.hardware_flops / (self.total * self.peak)

    @property
    def bound_by(self) -> str:
        """`"launch"` when the host cannot keep up, else what most of the step is spent on (scalars only)."""
        if self.host > self.device:
            return "launch"
        parts = {"compute": self.compute, "memory": self.memory, "launch": self.launch}
        return max(parts, key=lambda part: parts[part])


@dataclass(frozen=True)
class StepPlan:
    """A training step made ready for one model, configuration and chip; call it with a batch and a sequence length.

    Attributes:
        model: The transformer.
        chip: The accelerator.
        phases: Work per micro-batch of forward, backward and recompute.
        products: The step's distinct matrix products, each with how often it runs in which phase.
        update: Seconds of the optimizer.
        update_launches: Its kernels.
        accumulation: Seconds of adding one more micro-batch's gradients.
        host_per_kernel: Seconds the host needs per kernel.
        peak: Dense peak of the compute format.
        model_flops: Matrix products of a micro-batch by the exact operation list.
        hardware_flops: With what is computed again.
        convention: FLOPs per token by the rule `6 N + 12 L h T`: the constant, and the part per T.
    """

    model: Transformer
    chip: Accelerator
    phases: tuple[tuple[Phase, PhaseWork], ...]
    products: tuple[CountedProduct, ...]
    update: Seconds
    update_launches: Count
    accumulation: Seconds
    host_per_kernel: Seconds
    peak: FlopsPerSecond
    model_flops: Polynomial
    hardware_flops: Polynomial
    convention: tuple[float, float]

    def __call__(self, batch: Count, sequence: Count | None = None, accumulate: Count = 1) -> StepTime:
        """The step's time. `batch`, `sequence` and `accumulate` may be NumPy arrays.

        Args:
            batch: Sequences in a micro-batch.
            sequence: Tokens in a sequence; the model's longest when None.
            accumulate: Micro-batches per optimizer step.

        Raises:
            EngineError: A size below one, or a sequence longer than learned positions allow.
        """
        sequence = self.model.max_seq if sequence is None else sequence
        for what, value in (("batch", batch), ("sequence", sequence), ("accumulate", accumulate)):
            require_positive(what, value)
        longest = sequence.max() if hasattr(sequence, "max") else sequence
        if self.model.position == "learned" and longest > self.model.max_seq:
            raise EngineError(f"sequence {longest} is too long; {self.model.name} allows at most {self.model.max_seq}")
        batch, sequence, accumulate = as_floats(batch), as_floats(sequence), as_floats(accumulate)
        at = point(batch, sequence)
        tokens = at[2]
        math = numbers(batch, sequence)
        attended = kernel_share(sequence)
        units = self.chip.multiprocessors
        rows = Rows(tokens, units, math)
        busy = {phase: work.arithmetic(at) for phase, work in self.phases}
        waiting = {phase: work.moved(at) for phase, work in self.phases}
        for product, counts in self.products:
            arithmetic = product.arithmetic(batch, sequence, rows, units)
            longer = math.maximum(product.traffic(at), arithmetic) - arithmetic
            for phase, count in counts:
                busy[phase] = busy[phase] + count * arithmetic
                waiting[phase] = waiting[phase] + count * longer
        seconds: dict[str, Seconds] = {"forward": 0.0, "backward": 0.0, "recompute": 0.0}
        compute: Seconds = 0.0
        memory: Seconds = self.update + (accumulate - 1) * self.accumulation
        launches = self.update_launches
        for phase, work in self.phases:
            bound_by_compute, bound_by_memory = busy.pop(phase), waiting.pop(phase)
            for fused in work.attention:
                arithmetic = fused.arithmetic(at) * attended
                bound_by_compute = bound_by_compute + fused.count * arithmetic
                longer = math.maximum(fused.traffic(at), arithmetic) - arithmetic
                bound_by_memory = bound_by_memory + fused.count * longer
            compute = compute + bound_by_compute * accumulate
            memory = memory + bound_by_memory * accumulate
            launches = launches + work.launches * accumulate
            seconds[phase] = (bound_by_compute + bound_by_memory + work.launches * KERNEL_GAP) * accumulate
        all_tokens = tokens * accumulate
        return StepTime(
            compute=compute,
            memory=memory,
            gaps=launches * KERNEL_GAP,
            forward=seconds["forward"],
            backward=seconds["backward"],
            recompute=seconds["recompute"],
            update=self.update + (accumulate - 1) * self.accumulation + self.update_launches * KERNEL_GAP,
            host=launches * self.host_per_kernel,
            tokens=all_tokens,
            model_flops=self.model_flops(at) * accumulate,
            hardware_flops=self.hardware_flops(at) * accumulate,
            convention_flops=(self.convention[0] + self.convention[1] * sequence) * all_tokens,
            peak=self.peak,
        )


@lru_cache(maxsize=512)
def step_plan(
    model: str | Transformer,
    chip: str | Accelerator,
    *,
    mode: str | Precision = "amp-bf16",
    rule: str | Optimizer = "adamw",
    attention: Attention = "flash",
    policy: str | Checkpointing = "none",
    dropout: Ratio = 0.0,
    fused: bool = False,
    tf32: bool = False,
    framework: Framework = "torch",
) -> StepPlan:
    """A step on one device made ready for repeated evaluation.

    Args:
        model: A name or a transformer.
        chip: A name or an accelerator.
        mode: Precision mode.
        rule: Optimizer.
        attention: `"flash"` or `"standard"`.
        policy: Activation checkpointing.
        dropout: Probability of dropout.
        fused: Compiled or hand-fused code: chains of operations without products are one kernel, and so is the
            optimizer; otherwise eager PyTorch with its `foreach` optimizer. Megatron's norms, softmax and loss stay
            kernels of their own.
        tf32: Whether fp32 products may round their operands to TF32 (PyTorch does not by default).
        framework: Whose operation list, `"torch"` or `"megatron"`.

    Raises:
        EngineError: An unknown name, or a format the chip does not have.
    """
    model = model_by_name(model) if isinstance(model, str) else model
    (stage,) = stages(model, SINGLE)
    return stage_plan(
        stage,
        SINGLE,
        accelerator(chip) if isinstance(chip, str) else chip,
        precision(mode),
        optimizer(rule),
        attention,
        checkpointing(policy),
        dropout,
        fused,
        tf32,
        framework,
    )


@lru_cache(maxsize=4096)
def stage_plan(
    stage: Stage,
    layout: Layout,
    chip: Accelerator,
    mode: Precision,
    rule: Optimizer,
    attention: Attention,
    policy: Checkpointing,
    dropout: Ratio,
    fused: bool,
    tf32: bool,
    framework: Framework,
) -> StepPlan:
    """A pipeline stage's step on one device of a layout, without communication. Arguments as in `step_plan`."""
    model = stage.model
    every = sections(model, mode, attention, dropout, "cuda", framework, layout.sequence_shards)
    parts = tuple(
        replace(part, count=stage.blocks) if part.name == "block" else part for part in every if holds(stage, part)
    )
    preparation = Preparation(chip, tf32, model.head_size)
    by_hand = framework == "megatron"
    work: list[tuple[Phase, PhaseWork]] = [
        (
            "forward",
            preparation.gather(k for part in parts for k in forward_kernels(part, fused=fused, by_hand=by_hand)),
        ),
        ("backward", preparation.gather(_all_backward(stage, mode, parts, fused, by_hand))),
    ]
    again = tuple(_all_recompute(parts, policy, fused, by_hand))
    if again:
        work.append(("recompute", preparation.gather(again)))
    streaming = preparation.streaming
    elements = sum(p.elements * p.count for p in stage_parameters(stage))
    # Devices that divide gradients add up only their share.
    shares = layout.data if layout.zero >= 2 and layout.pipeline == 1 else 1
    model_flops, hardware_flops = operation_sizes(parts, policy)
    return StepPlan(
        model=model,
        chip=chip,
        phases=tuple(work),
        products=preparation.counted(),
        update=update_bytes(stage, layout, rule, mode, fused=fused) / streaming,
        update_launches=1 if fused else FOREACH_LAUNCHES,
        accumulation=_accumulated_bytes(mode, elements) / shares / streaming,
        host_per_kernel=HOST_COMPILED if fused else HOST_EAGER,
        peak=chip.peak(preparation.name(mode.compute.name)),
        model_flops=polynomial(model_flops),
        hardware_flops=polynomial(hardware_flops),
        convention=(6 * product_parameters(model), 12 * model.layers * model.query_width),
    )


def holds(stage: Stage, part: Section) -> bool:
    """Whether a section runs on a pipeline stage."""
    return part.name == "block" or (stage.first if part.name == "embedding" else stage.last)


def step_time(
    model: str | Transformer,
    chip: str | Accelerator,
    batch: Count,
    sequence: Count | None = None,
    *,
    accumulate: Count = 1,
    mode: str | Precision = "amp-bf16",
    rule: str | Optimizer = "adamw",
    attention: Attention = "flash",
    policy: str | Checkpointing = "none",
    dropout: Ratio = 0.0,
    fused: bool = False,
    tf32: bool = False,
    framework: Framework = "torch",
) -> StepTime:
    """The time of one optimizer step on one device. Arguments as in `step_plan` and `StepPlan`."""
    plan = step_plan(
        model,
        chip,
        mode=mode,
        rule=rule,
        attention=attention,
        policy=policy,
        dropout=dropout,
        fused=fused,
        tf32=tf32,
        framework=framework,
    )
    return plan(batch, sequence, accumulate)


def batch_curve(plan: StepPlan, batches: Iterable[Count], sequence: Count | None = None) -> tuple[StepTime, ...]:
    """The step at several batch sizes: how utilization rises with the batch, and where it stops rising."""
    return tuple(plan(batch, sequence) for batch in batches)


def _accumulated_bytes(mode: Precision, elements: Count) -> Bytes:
    """Bytes moved to add one micro-batch's gradients. To sums of their own they go through a cast, a tensor more."""
    if mode.accumulation:
        return mode.gradients.bytes(elements) + 4 * mode.accumulation.bytes(elements)
    return 3 * mode.gradients.bytes(elements)


def _all_backward(
    stage: Stage, mode: Precision, parts: tuple[Section, ...], fused: bool, by_hand: bool
) -> Iterable[Kernel]:
    for part in reversed(parts):
        yield from backward_kernels(part, fused=fused, by_hand=by_hand)
    # The gradient of a looked-up table is a whole table: zeroed, then rows are added. A tied one joins the head's.
    for table in (p for p in stage_parameters(stage) if p.role == "embedding"):
        passes = 4 if stage.model.tied and stage.last and table.name == "wte.weight" else 1
        moved = as_size(passes * mode.gradients.bytes(table.elements))
        yield Kernel(f"{table.name}.gradient", "backward", "memory", NOTHING, moved)


def _all_recompute(parts: tuple[Section, ...], policy: Checkpointing, fused: bool, by_hand: bool) -> Iterable[Kernel]:
    for part in parts:
        for ops, count in recomputation(part, policy):
            if ops and count:
                yield from recompute_kernels(part, ops, fused=fused, by_hand=by_hand, count=count)
