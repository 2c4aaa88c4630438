"""The time of a training step on one device: every kernel at the slower of arithmetic and memory, plus launching.

Nothing here is fitted to a whole training run. Matrix products run at the rate of their shape (`ironlaw.time.gemm`),
below what the chip keeps up on real data, fused attention at a published rate, everything else at the streaming rate of
the memory. A kernel's time is never below FLOPs over the dense peak nor bytes over the bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ironlaw.config.checks import require_sequence, require_shared, require_timed
from ironlaw.config.layout import Stage
from ironlaw.config.resolved import Setup, stage_sections
from ironlaw.config.setup import as_setup
from ironlaw.core.arrays import as_floats, maximum, numbers
from ironlaw.core.errors import require_positive
from ironlaw.core.sizes import NOTHING, Polynomial, Size, point, polynomial, power_of_two, total
from ironlaw.core.units import Bytes, Count, Flops, FlopsPerSecond, PerSecond, Ratio, Seconds, Traffic
from ironlaw.graph.ir import DISPATCH, Section
from ironlaw.graph.kernels import Phase
from ironlaw.graph.operations import operation_sizes, product_flops, product_parameters
from ironlaw.memory.linear_loss import ways
from ironlaw.memory.static import trained_elements, trained_parameters
from ironlaw.models.transformer import Parameter, Transformer
from ironlaw.time.attention import kernel_share
from ironlaw.time.compiled import Work, compile_work
from ironlaw.time.fp8 import weight_cast_bytes
from ironlaw.time.phases import micro_batch_kernels
from ironlaw.time.token_products import Rows
from ironlaw.time.update import away_seconds, fetch_seconds, offload_seconds, update_time

KERNEL_GAP: Seconds = 1.5e-6
"""Seconds between two kernels that wait in the device's queue. An assumption; CUDA graphs reach about 1 microsecond."""

HOST_EAGER: Seconds = 6e-6
"""Seconds the host needs to issue one eager PyTorch kernel, autograd included. An assumption, typical of 4 to 10."""

HOST_COMPILED: Seconds = 3e-6
"""Seconds the host needs to issue one kernel of compiled code. An assumption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Achieved:
    """What a step gets done in its time.

    Attributes:
        tokens: Tokens of the step, all devices together.
        devices: Devices that take it.
        convention_flops: Model FLOPs of the step by the rule `6 N + 12 L h T`.
        recomputed_flops: Matrix products that checkpointing, fused attention and a chunked loss do again.
        peak: Dense peak of one device, in the format of the products.
    """

    tokens: Count
    devices: Count = 1
    convention_flops: Flops
    recomputed_flops: Flops
    peak: FlopsPerSecond

    @property
    def total(self) -> Seconds:
        """Seconds of the step."""
        raise NotImplementedError

    @property
    def tokens_per_second(self) -> PerSecond:
        """Tokens per second of all devices."""
        return self.tokens / self.total

    @property
    def mfu(self) -> Ratio:
        """Model FLOPs utilization by the convention `6 N + 12 L h T` against the dense peak of all devices."""
        return self.convention_flops / (self.total * self.peak * self.devices)

    @property
    def hfu(self) -> Ratio:
        """Hardware FLOPs utilization: the same with what is computed again."""
        return (self.convention_flops + self.recomputed_flops) / (self.total * self.peak * self.devices)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime(Achieved):
    """Seconds of one optimizer step on one device, by what bounds them and by phase; both add up to `device`.

    Attributes:
        compute: Kernels bound by arithmetic.
        memory: Kernels bound by traffic.
        gaps: Between kernels.
        forward: Of the forward passes, a frozen reference's too.
        backward: Of the backward passes.
        recompute: Of what checkpointing runs again.
        update: Of the optimizer.
        host: Seconds the host needs to issue all kernels, running beside the device.
        offload: Seconds that device and host then wait for what is in host memory.
        model_flops: Matrix products that the mathematics needs, by the exact operation list.
    """

    compute: Seconds
    memory: Seconds
    gaps: Seconds
    forward: Seconds
    backward: Seconds
    recompute: Seconds
    update: Seconds
    host: Seconds
    offload: Seconds
    model_flops: Flops

    @property
    def device(self) -> Seconds:
        """Seconds the device is at work."""
        return self.compute + self.memory + self.gaps

    @property
    def total(self) -> Seconds:
        """Seconds of the step: the device's or the host's, whichever is longer, and the update in host memory."""
        return maximum(self.device, self.host) + self.offload

    @property
    def launch(self) -> Seconds:
        """Seconds the step would be shorter if launching cost nothing."""
        return maximum(self.device, self.host) - self.compute - self.memory

    @property
    def hardware_flops(self) -> Flops:
        """Matrix products that the hardware does."""
        return self.model_flops + self.recomputed_flops

    @property
    def bound_by(self) -> str:
        """`"offload"` or `"launch"` when the host is waited for most, else what most of the step goes to."""
        if hasattr(self.total, "shape"):
            where: Any = numbers(self.total).where
            mine = where(self.memory > self.compute, "memory", "compute")
            mine = where(self.launch > maximum(self.memory, self.compute), "launch", mine)
            mine = where(self.host > self.device, "launch", mine)
            return where(self.offload > self.total - self.offload, "offload", mine)  # type: ignore[no-any-return]
        if self.offload > self.total - self.offload:
            return "offload"
        if self.host > self.device:
            return "launch"
        parts = {"compute": self.compute, "memory": self.memory, "launch": self.launch}
        return max(parts, key=lambda part: parts[part])


@dataclass(frozen=True)
class StepPlan:
    """The step of one device of a stage made ready; call it with a batch and a sequence length.

    Attributes:
        setup: What is trained, and how.
        stage: The pipeline stage.
        works: What runs once per micro-batch, and what runs once per piece of the loss.
        update: Seconds of the optimizer.
        update_launches: Its kernels.
        accumulation: Seconds of adding one more micro-batch's gradients.
        host_per_kernel: Seconds the host needs per kernel.
        peak: Dense peak of the format of the products.
        model_flops: Matrix products of a micro-batch by the exact operation list.
        recomputed_flops: What is computed again.
        convention: FLOPs per token by the rule `6 N + 12 L h T`: the constant, and the part per T.
        away: Bytes of blocks' inputs that wait in the host's memory.
    """

    setup: Setup
    stage: Stage
    works: tuple[Work, ...]
    update: Seconds
    update_launches: Count
    accumulation: Seconds
    host_per_kernel: Seconds
    peak: FlopsPerSecond
    model_flops: Polynomial
    recomputed_flops: Polynomial
    convention: tuple[float, float]
    away: Size = NOTHING

    @property
    def model(self) -> Transformer:
        """The stage's share of the model."""
        return self.stage.model

    def __call__(self, batch: Count, sequence: Count | None = None, accumulate: Count | None = None) -> StepTime:
        """The step's time. `batch`, `sequence` and `accumulate` may be NumPy arrays.

        Args:
            batch: Sequences in a micro-batch.
            sequence: Tokens in a sequence, of which devices may share one; the model's longest when None.
            accumulate: Micro-batches per optimizer step; the setup's when None.

        Raises:
            EngineError: A size below one, or a sequence longer than positions allow.
        """
        sequence = self.model.max_seq if sequence is None else sequence
        accumulate = self.setup.micro_batches if accumulate is None else accumulate
        require_positive("batch", batch)
        require_positive("accumulate", accumulate)
        require_sequence(self.model, sequence)
        if self.setup.layout.context > 1:
            require_shared(self.setup, sequence)
        own = self.setup.own(sequence)
        pieces = self._pieces(batch, own)
        batch, sequence, own, accumulate = as_floats(batch), as_floats(sequence), as_floats(own), as_floats(accumulate)
        seconds: dict[str, Seconds] = {"forward": 0.0, "backward": 0.0, "recompute": 0.0}
        compute: Seconds = 0.0
        memory: Seconds = self.update + (accumulate - 1) * self.accumulation
        launches: Ratio = self.update_launches
        for work in self.works:
            parts = work.pieces or pieces
            times: Ratio
            for phase, busy, waiting, kernels in self._phases(work, batch, own / parts):
                times = accumulate * parts * (1 + self.setup.reference_passes * (phase == "forward"))
                compute = compute + busy * times
                memory = memory + waiting * times
                launches = launches + kernels * times
                seconds[phase] = seconds[phase] + (busy + waiting + kernels * KERNEL_GAP) * times
        offloaded = offload_seconds(self.setup, self.stage, seconds["backward"])
        back = seconds["backward"] + seconds["recompute"]
        offloaded = offloaded + fetch_seconds(self.setup, self.stage, accumulate, seconds["forward"], back)
        if self.away.terms:
            moved = self.away(batch, own) * accumulate
            offloaded = offloaded + away_seconds(self.setup, moved, seconds["forward"], back)
        at = point(batch, own)
        tokens = at[2] * accumulate
        return StepTime(
            compute=compute,
            memory=memory,
            gaps=launches * KERNEL_GAP,
            forward=seconds["forward"],
            backward=seconds["backward"],
            recompute=seconds["recompute"],
            update=self.update + (accumulate - 1) * self.accumulation + self.update_launches * KERNEL_GAP,
            host=launches * self.host_per_kernel,
            offload=offloaded,
            tokens=tokens,
            model_flops=self.model_flops(at) * accumulate,
            recomputed_flops=self.recomputed_flops(at) * accumulate,
            convention_flops=(self.convention[0] + self.convention[1] * sequence) * tokens,
            peak=self.peak,
        )

    def rings(self, batch: Count, sequence: Count) -> Iterator[tuple[Phase, Count, Traffic, Seconds]]:
        """The rings of fused attention: phase, how many a micro-batch has, bytes sent on in a step, a step's seconds.

        Args:
            batch: Sequences in a micro-batch.
            sequence: Tokens in a sequence.
        """
        own = self.setup.own(sequence)
        at = point(batch, own)
        for phase, part in (pair for work in self.works for pair in work.phases):
            for fused in (one for one in part.attention if one.ring > 1):
                seconds = maximum(fused.arithmetic(at) * fused.share(own), fused.traffic(at))
                yield phase, fused.count, fused.passed(batch, own), seconds / fused.ring

    def exchanges(self, batch: Count, sequence: Count) -> Iterator[tuple[Count, Traffic]]:
        """The exchanges among devices that share experts: how often a micro-batch has each, and its bytes.

        Args:
            batch: Sequences in a micro-batch.
            sequence: Tokens in a sequence.
        """
        own = self.setup.own(sequence)
        again = self.setup.checkpointing.kind not in ("none", "selective")
        for part in stage_sections(self.setup, self.stage):
            for op in (op for op in part.ops if op.kind == "send"):
                yield part.count * (2 + again), maximum(*(v.bytes(batch, own) for v in (*op.inputs, *op.outputs)))
                if op.name == DISPATCH:
                    yield part.count * (1 + again), 0

    def _pieces(self, batch: Count, sequence: Count) -> float:
        """Pieces of a fused linear loss, the last one perhaps a part of one."""
        tokens, parts = batch * sequence, ways(self.setup)
        return tokens / power_of_two(tokens, parts) if parts else 1

    def _phases(self, work: Work, batch: Count, sequence: Any) -> list[tuple[str, Seconds, Seconds, Count]]:
        """Each phase of a piece of work: seconds bound by arithmetic, seconds bound by traffic, kernels."""
        at = point(batch, sequence)
        math = numbers(batch, sequence)
        units = self.setup.chip.multiprocessors
        rows = Rows(at[2], units, math)
        busy = {phase: part.arithmetic(at) for phase, part in work.phases}
        waiting = {phase: part.moved(at) for phase, part in work.phases}
        for product, counts in work.products:
            arithmetic = product.arithmetic(batch, sequence, rows, units)
            longer = math.maximum(product.traffic(at), arithmetic) - arithmetic
            for phase, count in counts:
                busy[phase] = busy[phase] + count * arithmetic
                waiting[phase] = waiting[phase] + count * longer
        attended = kernel_share(sequence)
        for phase, part in work.phases:
            for fused in part.attention:
                share = fused.share(sequence) if fused.window or fused.ring > 1 else attended
                arithmetic = fused.arithmetic(at) * share
                busy[phase] = busy[phase] + fused.count * arithmetic
                waiting[phase] = waiting[phase] + fused.count * (
                    math.maximum(fused.traffic(at), arithmetic) - arithmetic
                )
        return [(phase, busy[phase], waiting[phase], part.launches) for phase, part in work.phases]


def step_plan(c: Setup, stage: Stage | None = None) -> StepPlan:
    """The step of one device of a stage made ready for repeated evaluation, without communication.

    Args:
        c: The setup. Its batch and sequence do not matter.
        stage: One of its stages; the first when None.
    """
    return _step_plan(c.anywhere, c.stages[0] if stage is None else stage)


def step_plan_anew(c: Setup, stage: Stage) -> StepPlan:
    """The same without looking whether it was prepared before: operation list to kernels to polynomials."""
    return _with_kernels(c, stage, _stage_kernels(c.replica, stage.at_rest))


def _with_kernels(c: Setup, stage: Stage, kernels: StageKernels) -> StepPlan:
    # Devices that divide gradients add up only their share.
    divided = c.layout.zero >= 2 and c.layout.pipeline == 1
    elements = trained_elements(c, stage, whole=divided)
    shares = c.layout.peers if divided else 1
    update, launches = update_time(c, stage)
    return StepPlan(
        setup=c,
        stage=stage,
        works=kernels.works,
        update=update + weight_cast_bytes(c, stage) / c.chip.streaming,
        update_launches=launches,
        accumulation=_accumulated_bytes(c, elements) / shares / c.chip.streaming,
        host_per_kernel=HOST_COMPILED if c.framework.compiled else HOST_EAGER,
        peak=c.chip.peak(c.precision.product_format),
        model_flops=kernels.model_flops,
        recomputed_flops=kernels.recomputed_flops,
        convention=kernels.convention,
        away=kernels.away,
    )


@lru_cache(maxsize=2048)
def _step_plan(c: Setup, stage: Stage) -> StepPlan:
    return _with_kernels(c, stage, _kept_kernels(c.replica, stage.at_rest))


@dataclass(frozen=True, slots=True)
class StageKernels:
    """What a stage runs for a micro-batch, whatever other replicas and micro-batches there are (see `StepPlan`)."""

    works: tuple[Work, ...]
    model_flops: Polynomial
    recomputed_flops: Polynomial
    convention: tuple[float, float]
    away: Size


def _stage_kernels(c: Setup, stage: Stage) -> StageKernels:
    require_timed(c.chip)
    parts = stage_sections(c, stage)
    model_flops, recomputed_flops = micro_batch_flops(c, parts)
    return StageKernels(
        works=tuple(_works(c, stage, parts)),
        model_flops=polynomial(model_flops),
        recomputed_flops=polynomial(recomputed_flops),
        convention=_convention(c, stage),
        away=total(part.input.byte_size * part.count for part in parts if part.name == "block" and part.input)
        if c.checkpointing.away
        else NOTHING,
    )


_kept_kernels = lru_cache(maxsize=1024)(_stage_kernels)


def step_time(asked: Setup | str | Transformer | None = None, *words: Any, **choices: Any) -> StepTime:
    """The time of one optimizer step on one device, working alone: the first stage's, without communication.

    Args:
        asked: A `Setup`, or the model of one. Batch and sequence may be NumPy arrays.
        words: Further words of `ironlaw.setup`.
        choices: Further ones by name.

    Raises:
        EngineError: As `ironlaw.setup`.
    """
    c = as_setup(asked, *words, **choices)
    return step_plan(c)(c.batch, c.sequence)


def micro_batch_flops(c: Setup, parts: tuple[Section, ...]) -> tuple[Size, Size]:
    """FLOPs of a micro-batch: the model's, and those from which it does not learn.

    These are done again, by checkpointing and by a chunked loss, or by forward passes of a reference.
    """
    model, hardware = operation_sizes(parts, c.checkpointing)
    again = hardware + model * -1 + _head_again_flops(c, parts)
    if c.reference_passes:
        again += total(product_flops(op) * part.count for part in parts for op in part.ops) * c.reference_passes
    return model, again


def whole_flops(c: Setup) -> tuple[Size, Size]:
    """FLOPs of a micro-batch of the model on one device, undivided: the model's, and those done again."""
    return _whole_flops(c.whole.replica)


@lru_cache(maxsize=256)
def _whole_flops(c: Setup) -> tuple[Size, Size]:
    return micro_batch_flops(c, stage_sections(c, c.stages[0]))


def _head_again_flops(c: Setup, parts: tuple[Section, ...]) -> Size:
    """FLOPs of a micro-batch that a chunked loss does again: the head's forward pass."""
    if c.loss.chunks == 1:
        return NOTHING
    return total(product_flops(op) for part in parts if part.name == "head" for op in part.ops)


def _convention(c: Setup, stage: Stage) -> tuple[float, float]:
    """FLOPs per token by the rule `6 N + 12 L h T`; 4 for a frozen parameter, which has no gradient of its own."""
    model, attention = stage.model, 12 * stage.model.score_width
    if c.adaptation.everything:
        return 6 * product_parameters(model), attention
    whole = c.whole  # the rule counts the model, a stage's share of what is trained or not
    trained = sum(p.elements * p.count for p in trained_parameters(whole, whole.stages[0]) if _multiplies(p, model))
    if c.adaptation.has_adapters:
        return 4 * product_parameters(model) + 6 * trained, attention
    return 4 * product_parameters(model) + 2 * trained, attention


def _multiplies(p: Parameter, model: Transformer) -> bool:
    return p.role != "embedding" or (model.tied and p.name == "wte.weight")


def _works(c: Setup, stage: Stage, parts: tuple[Section, ...]) -> Iterator[Work]:
    whole, pieces = micro_batch_kernels(c, stage, parts)
    yield compile_work(c, whole)
    if pieces:
        yield compile_work(c, pieces, pieces=0 if c.loss.form == "fused-linear" else c.loss.chunks)


def _accumulated_bytes(c: Setup, elements: Count) -> Bytes:
    """Bytes moved to add one micro-batch's gradients. To sums of their own they go through a cast, a tensor more."""
    mode = c.precision
    if c.framework.accumulation == "fused":
        return 0
    if mode.accumulation:
        return mode.gradients.bytes(elements) + 4 * mode.accumulation.bytes(elements)
    return 3 * c.gradients.bytes(elements)
