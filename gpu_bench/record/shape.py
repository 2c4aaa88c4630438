"""What a record says, described once: types, units, bounds and meanings, from which `schema.json` is made.

A file states what was measured and where it comes from. Fields that are `unstated` follow from the rest: `derive.py`
computes them when a record is read. A block that a case does not fill is null, and may be left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from gpu_bench import SCHEMA_VERSION
from gpu_bench.cases.case import Activation, Attention, TrainingCase
from gpu_bench.cases.kinds import AttentionCase, FitCase, RooflineCase
from gpu_bench.distributed.case import ScalingCase
from gpu_bench.experiments.failures.case import FailureCase
from gpu_bench.experiments.failures.recipes import Recipe
from gpu_bench.experiments.hybrid.arms import Arm
from gpu_bench.experiments.hybrid.case import HybridCase, MemoryCase
from gpu_bench.input_pipeline.case import LoaderCase, TokenizeCase
from gpu_bench.record.rules import (
    DERIVED,
    Amount,
    Bytes,
    Count,
    Duration,
    Hash,
    Message,
    Number,
    Rule,
    Seconds,
    Share,
    Slug,
    Steps,
    Tokens,
    Whole,
    Words,
)

Status = Literal[
    "ok", "throttled", "unsettled", "recompiled", "diverged", "oom", "unsupported", "error", "timeout", "impossible"
]
Version = Annotated[str, Rule(pattern=r"\d+\.\d+\.\d+", longest=20)]
_RELEASE = r"\d+(\.\d+)+([.+_-]?[0-9A-Za-z]+)*"
Release = Annotated[str, Rule(pattern=_RELEASE, longest=60)]
Time = Annotated[
    str, Rule(pattern=r"20\d{2}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", longest=20)
]
Host = Annotated[str, Rule(pattern="[0-9a-f]{8}")]
Flop = Annotated[int, Rule("FLOP", least=0, most=10**24)]
Rate = Annotated[float, Rule("FLOP/s", above=0, most=10**20)]
Watts = Annotated[float, Rule("W", above=0, most=10**6)]
PerSecond = Annotated[float, Rule("token/s", above=0)]
Settings = dict[str, str | Number | bool | None]


class _Closed:
    """A block with exactly the fields that it describes."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}


@dataclass(frozen=True, kw_only=True)
class Spread(_Closed):
    """Samples of all repeats together.

    Attributes:
        iqr: q3 - q1.
        n: Samples.
    """

    median: Seconds
    q1: Seconds
    q3: Seconds
    iqr: Duration
    n: Count


@dataclass(frozen=True, kw_only=True)
class Throughput(_Closed):
    """Tokens back-propagated per second, over all samples."""

    median: PerSecond
    q1: PerSecond
    q3: PerSecond
    iqr: Annotated[float, Rule("token/s", least=0)]
    n: Count


@dataclass(frozen=True, kw_only=True)
class Device(_Closed):
    """What was measured on.

    Attributes:
        name: As it calls itself.
        slug: The file name after `--`.
        memory: Of a GPU; of a CPU the machine's.
        power_limit_w: Enforced limit of a GPU.
    """

    type: Literal["cpu", "cuda"]
    name: Annotated[str, Rule(longest=120)] | None = None
    slug: Annotated[Slug, DERIVED] = ""
    memory: Bytes | None = None
    power_limit_w: Watts | None = None


@dataclass(frozen=True, kw_only=True)
class Model(_Closed):
    """The model that was trained.

    Attributes:
        parameters: Counted; shared matrices count once.
        recompute_attention: Whether attention is computed again in the backward pass.
    """

    parameters: Count
    layers: Annotated[Count, DERIVED] = 0
    heads: Annotated[Count, DERIVED] = 0
    hidden: Annotated[Count, DERIVED] = 0
    vocab: Annotated[Count, DERIVED] = 0
    max_seq: Annotated[Tokens, DERIVED] = 0
    dropout: Annotated[Amount, DERIVED] = 0.0
    bias: Annotated[bool, DERIVED] = True
    attention: Annotated[Attention, DERIVED] = "flash"
    activation: Annotated[Activation, DERIVED] = "gelu-tanh"
    recompute_attention: Annotated[bool, DERIVED] = False


@dataclass(frozen=True, kw_only=True)
class Data(_Closed):
    """What was trained on.

    Attributes:
        sha256: Of the text; equal on two machines that trained on the same text.
    """

    source: Literal["source code of the Python standard library"]
    sha256: Hash
    bytes: Bytes
    files: Count
    tokens: Tokens
    tokenizer: Literal[
        "bytes: token = byte value of the UTF-8 text, vocabulary 256", "GPT-2 byte pairs, vocabulary 50,257"
    ]


@dataclass(frozen=True, kw_only=True)
class Samples(_Closed):
    """Times of single steps, a list for each repeat.

    Attributes:
        step_s: Of every timed step.
        warmup_s: Of every step before.
        warmup_settled: Whether steps had become steady, and nothing was compiled any more, when the clock started.
    """

    step_s: Annotated[tuple[Annotated[tuple[Seconds, ...], Rule(fewest=1)], ...], Rule(fewest=1)]
    warmup_s: Annotated[tuple[Annotated[tuple[Seconds, ...], Rule(fewest=1)], ...], Rule(fewest=1)]
    warmup_settled: Annotated[tuple[bool, ...], Rule(fewest=1)]


@dataclass(frozen=True, kw_only=True)
class Compiled(_Closed):
    """What was compiled, for each repeat.

    Attributes:
        seconds: By how much steps in which something was compiled took longer; null where nothing was. Later repeats
            find compiled kernels in a cache.
        graphs: Graphs compiled during warm-up.
        graphs_while_timed: Graphs compiled during the timed steps: above 0 spoils them.
        fallbacks: What ran in its plain form because its fast form did not work there, and why; a line each.
    """

    seconds: Annotated[tuple[Duration | None, ...], Rule(fewest=1)]
    graphs: Annotated[tuple[Whole, ...], Rule(fewest=1)]
    graphs_while_timed: Annotated[tuple[Whole, ...], Rule(fewest=1)]
    fallbacks: Annotated[tuple[tuple[Annotated[str, Rule(longest=1000)], ...], ...], Rule(fewest=1)]


@dataclass(frozen=True, kw_only=True)
class Product(_Closed):
    """A matrix product, (M, K) times (K, N), measured in the same process as the steps.

    Attributes:
        m: Null in records of version 2, which kept the fastest product alone.
        fast_accumulation: FP8 only: forward products accumulate fast, those of the backward pass precisely.
    """

    format: Literal["fp32", "tf32", "bf16", "fp16", "fp8"]
    m: Count | None
    n: Count | None
    k: Count | None
    fast_accumulation: bool | None
    flops_per_s: Rate


@dataclass(frozen=True, kw_only=True)
class Summary(_Closed):
    """What the samples come to.

    Attributes:
        step_s: Time of one training step.
        tokens_per_s: Tokens back-propagated per second.
        repeat_medians_s: The median of each repeat.
        repeat_spread: Largest minus smallest of the repeats' medians, over the overall median.
    """

    step_s: Spread
    tokens_per_s: Throughput
    repeat_medians_s: tuple[Seconds, ...]
    repeat_spread: Amount


@dataclass(frozen=True, kw_only=True)
class Flops(_Closed):
    """Operations of a step.

    Attributes:
        model_per_step: 6 N + 12 L h T per token: the whole T x T square (PaLM); rows that pad the vocabulary are not
            counted.
        model_per_step_causal: 6 N + 6 L h T per token: the causal half.
        recomputed_per_step: What checkpointing and a chunked loss run a second time.
        fp8_per_step: The part of model_per_step that runs in FP8.
    """

    model_per_step: Flop
    model_per_step_causal: Flop
    recomputed_per_step: Flop
    fp8_per_step: Flop


@dataclass(frozen=True, kw_only=True)
class Utilization(_Closed):
    """Operations per second, and their share of what the chip could do.

    Attributes:
        model_flops_per_s: model_per_step over the median step time.
        peak_format: Format of specified_peak and matmul_ceiling; for FP8 it is that of the other products.
        specified_peak: Dense peak of the data sheet; null for a device that the engine does not know.
        matmul_ceiling: The fastest matrix product of several shapes of the model, measured in the same process.
        mfu: model_flops_per_s over specified_peak; null for FP8, and where counting scores that causal kernels skip
            would pass the peak.
        hfu: As mfu, with what is computed again.
        bf16_equivalent: FP8 only: model_flops_per_s over the BF16 peak, which is not a utilization.
        formats_share: FP8 only: the time that all products take at the peak of their own format, over the step's.
        matmul_share: model_flops_per_s over matmul_ceiling.
    """

    model_flops_per_s: Rate
    model_flops_per_s_causal: Rate
    peak_format: Literal["fp32", "tf32", "bf16", "fp16"]
    specified_peak: Rate | None
    matmul_ceiling: Rate | None
    fp8_specified_peak: Rate | None
    fp8_matmul_ceiling: Rate | None
    mfu: Amount | None
    mfu_causal: Amount | None
    hfu: Amount | None
    bf16_equivalent: Amount | None
    bf16_equivalent_causal: Amount | None
    formats_share: Amount | None
    matmul_share: Amount | None
    matmul_share_causal: Amount | None


@dataclass(frozen=True, kw_only=True)
class Loss(_Closed):
    """Cross-entropy in nats per token.

    Attributes:
        curve: Of every step of the first repeat, warm-up included; null once it is not finite.
        same_in_all_repeats: Whether every repeat gave exactly the same losses.
        diverged_at: Of each repeat, the first step whose loss was not finite or far above guessing; null without one.
        first_timed_step: Index in the curve.
        last_five_mean: Mean of the last five steps.
    """

    curve: Annotated[tuple[Number | None, ...], Rule(fewest=1)]
    same_in_all_repeats: bool
    diverged_at: tuple[Whole | None, ...]
    first_timed_step: Annotated[Whole, DERIVED] = 0
    first: Annotated[Number | None, DERIVED] = None
    last_five_mean: Annotated[Number | None, DERIVED] = None


@dataclass(frozen=True, kw_only=True)
class Held(_Closed):
    """Every component at its own fullest; these do not sum to the peak, because they are not full at once.

    Attributes:
        gradients: The most alive at once.
        optimizer: By state vector, under PyTorch's names.
        activations: Saved for the backward pass; parameters and their casts left out.
        cast_weights: 16-bit copies of weights that autocast keeps until the backward pass; a compiled step's are among
            its activations.
    """

    parameters: Bytes
    gradients: Bytes
    optimizer: dict[Annotated[str, Rule(longest=60)], Bytes]
    activations: Bytes
    cast_weights: Bytes
    optimizer_total: Annotated[Bytes, DERIVED] = 0


@dataclass(frozen=True, kw_only=True)
class AtPeak(_Closed):
    """What is alive at the moment of the peak.

    Attributes:
        activations: Tensors of the forward pass still alive, casts of weights included.
        backward_temporaries: Gradients of activations and other tensors of the backward pass.
        inside_compiled: What a compiled step holds besides the named: activations, gradients and temporaries, which
            cannot be told apart.
        remainder: Peak minus all of the above: workspaces of kernels, rounding.
    """

    parameters: Bytes
    buffers: Bytes
    gradients: Bytes
    optimizer_state: Bytes
    optimizer_temporaries: Bytes
    activations: Bytes
    backward_temporaries: Bytes
    inputs: Bytes
    inside_compiled: Bytes
    remainder: Annotated[int, Rule("B", unstated=True)] = 0


@dataclass(frozen=True, kw_only=True)
class Cuda(_Closed):
    """The CUDA allocator and the driver over the timed steps.

    Attributes:
        first_step_peak: The first step also creates the optimizer's state.
        process: What the driver counts for the process.
        context: Process minus reserved: the CUDA context and loaded kernels.
        retries: Allocations that succeeded only after freeing the cache.
    """

    allocated_peak: Annotated[Bytes, DERIVED] = 0
    active_peak: Bytes | None
    reserved_peak: Bytes
    first_step_peak: Bytes | None
    process: Bytes | None
    context: Annotated[int, Rule("B")] | None
    retries: Whole | None
    ooms: Whole | None


@dataclass(frozen=True, kw_only=True)
class Memory(_Closed):
    """Where the memory of a step is.

    Attributes:
        peak: Largest allocation of a training step.
        peak_source: What counted the peak.
        tolerance: Bound on the remainder.
        cuda: Null on a CPU.
    """

    held: Held
    at_peak: AtPeak
    peak: Bytes
    peak_source: Literal["CUDA caching allocator over the timed steps", "PyTorch CPU allocator over one profiled step"]
    cuda: Cuda | None
    tolerance: Annotated[Bytes, DERIVED] = 0


@dataclass(frozen=True, kw_only=True)
class Energy(_Closed):
    """Measured over at least 30 s, after the timed steps of the first repeat; else null.

    Attributes:
        energy_j: Difference of the GPU's own counter.
    """

    window_s: Seconds | None
    steps: Steps | None
    energy_j: Annotated[float, Rule("J", above=0)] | None
    per_token_j: Annotated[Annotated[float, Rule("J/token")] | None, DERIVED] = None
    mean_power_w: Annotated[Annotated[float, Rule("W")] | None, DERIVED] = None


@dataclass(frozen=True, kw_only=True)
class CoursePoint(_Closed):
    """How a long run stood.

    Attributes:
        step: Timed steps before.
        validation_loss: On text that is not trained on, per token; null where it is not finite.
        allocated: GPU only.
        reserved: GPU only.
    """

    step: Steps
    validation_loss: Amount | None
    allocated: Bytes | None
    reserved: Bytes | None


@dataclass(frozen=True, kw_only=True)
class Course(_Closed):
    """How a long run went; null where nothing was validated.

    Attributes:
        gradient_norms: Of every timed step, before clipping; null where it is not finite or nothing is clipped.
        divergences: Steps whose loss is not finite or above that of the first step.
        perplexity: e to the last validation loss.
    """

    points: Annotated[tuple[CoursePoint, ...], Rule(fewest=1)]
    gradient_norms: tuple[Amount | None, ...]
    divergences: Annotated[Whole, DERIVED] = 0
    perplexity: Annotated[Amount | None, DERIVED] = None


@dataclass(frozen=True, kw_only=True)
class Cost(_Closed):
    """The price of the day; null when none was on record.

    Attributes:
        usd_per_hour: Asked for renting the chip.
        usd_per_1e9_tokens: At that price.
        usd_per_1e9_tokens_today: At the price that the engine has on record now.
    """

    usd_per_hour: Annotated[float, Rule("USD/hour", above=0)]
    source: Annotated[str, Rule(pattern="https?://.+", longest=300)]
    date: Annotated[str, Rule(pattern="[0-9]{4}(-[0-9]{2}){0,2}")]
    usd_per_1e9_tokens: Annotated[float, Rule("USD", unstated=True)] = 0.0
    usd_per_1e9_tokens_today: Annotated[Annotated[float, Rule("USD")] | None, DERIVED] = None


@dataclass(frozen=True, kw_only=True)
class Expected(_Closed):
    """Memory by the engine: each component at its own fullest, as memory.held.

    Attributes:
        logits: What the loss keeps; memory.held counts it among activations.
        workspace: Scratch memory of the matrix library.
    """

    parameters: Bytes
    gradients: Bytes
    optimizer: Bytes
    activations: Bytes
    logits: Bytes
    cast_weights: Bytes
    workspace: Bytes
    peak: Bytes


@dataclass(frozen=True, kw_only=True)
class Textbook(_Closed):
    """Memory by the chapter's formulas."""

    parameters: Bytes
    gradients: Bytes
    master: Bytes
    optimizer: Bytes
    activations: Bytes
    total: Bytes


@dataclass(frozen=True, kw_only=True)
class Predicted(_Closed):
    """What the engine said; training cases only.

    Attributes:
        memory: Null where the engine has no model.
        textbook: By the chapter's formulas.
        step_s: Null for a chip that the engine does not know.
        approximations: Where the engine's configuration differs from the case.
    """

    engine_version: Version
    memory: Expected | None
    step_s: Seconds | None
    approximations: tuple[Annotated[str, Rule(longest=300)], ...]
    textbook: Annotated[Textbook | None, DERIVED] = None
    tokens_per_s: Annotated[PerSecond | None, DERIVED] = None
    mfu: Annotated[Amount | None, DERIVED] = None


@dataclass(frozen=True, kw_only=True)
class Work(_Closed):
    """Of one round; what follows from the case and the point's settings is not stated in the file."""

    flops: Annotated[float, Rule("FLOP", least=0)] | None = None
    bytes: Annotated[float, Rule("B", least=0)] | None = None
    tokens: Annotated[float, Rule("token", least=0)] | None = None


@dataclass(frozen=True, kw_only=True)
class Rates(_Closed):
    """Work over the median time."""

    flops_per_s: Annotated[float, Rule("FLOP/s", least=0)] | None
    bytes_per_s: Annotated[float, Rule("B/s", least=0)] | None
    tokens_per_s: Annotated[float, Rule("token/s", least=0)] | None


@dataclass(frozen=True, kw_only=True)
class Point(_Closed):
    """One of several things that a case times.

    Attributes:
        settings: What tells the point from the others.
        message: Why the status is not ok.
        samples_s: Seconds of every round, one list per repeat.
        memory_peak: What the round added to memory at its fullest.
        shares: Parts of the time, by name.
        losses: Mean loss of every training step of the first repeat, from the first on; null where nothing is trained.
    """

    label: Annotated[str, Rule(pattern=r"[\s\S]+", longest=200)]
    settings: Settings
    status: Literal["ok", "oom", "unsupported", "error"]
    message: Message | None
    samples_s: Annotated[tuple[tuple[Seconds, ...], ...], Rule(fewest=1)]
    work: Work
    memory_peak: Bytes | None
    shares: dict[str, Share]
    losses: tuple[Number | None, ...] | None
    seconds: Annotated[Spread | None, DERIVED] = None
    rates: Annotated[Rates | None, DERIVED] = None


@dataclass(frozen=True, kw_only=True)
class Trial(_Closed):
    """One step of the search.

    Attributes:
        step_s: Median.
    """

    policy: Words
    batch: Count
    outcome: Literal["fits", "oom", "unsupported", "timeout", "error"]
    message: Message | None
    peak: Bytes | None
    step_s: Seconds | None


@dataclass(frozen=True, kw_only=True)
class Boundary(_Closed):
    """What fits with one policy.

    Attributes:
        predicted_batch: Largest of the tried batches that fits by the engine; null where it has no model or none fits.
        largest_batch: Largest that fitted; null: none did.
        ended: boundary: the largest batch is known; largest-tried: all that were tried fit; else the outcome that ended
            the search, and larger batches may fit.
        peak: Of that batch.
        tokens_per_s: Of that batch, on the GPU at hand: an emulated card's speed is not emulated.
    """

    policy: Words
    predicted_batch: Count | None
    largest_batch: Annotated[Count | None, DERIVED] = None
    ended: Annotated[Literal["boundary", "largest-tried", "unsupported", "timeout", "error"], DERIVED] = "boundary"
    peak: Annotated[Bytes | None, DERIVED] = None
    tokens_per_s: Annotated[PerSecond | None, DERIVED] = None


@dataclass(frozen=True, kw_only=True)
class Fit(_Closed):
    """What fits a card, or an emulated one.

    Attributes:
        context: Counted as the CUDA context and not available.
        trials: Every step of the search, in order.
        limit: What programs could allocate on the emulated card; null where the GPU is such a card itself.
    """

    context: Bytes | None
    policies: Annotated[tuple[Boundary, ...], Rule(fewest=1)]
    trials: Annotated[tuple[Trial, ...], Rule(fewest=1)]
    limit: Annotated[Bytes | None, DERIVED] = None


@dataclass(frozen=True, kw_only=True)
class Images(_Closed):
    """What compared runs learn from and are tested with: images, or tokens.

    Attributes:
        tokenizer: What a token is; null for images.
    """

    source: Words
    sha256: Hash
    train: Count
    test: Count
    tokenizer: Words | None = None


@dataclass(frozen=True, kw_only=True)
class Histogram(_Closed):
    """Sizes of the gradients of the weights, as computed in FP32.

    Attributes:
        step: Steps before.
        lowest: Power of two at which the first bin ends; bin k counts 2^(k-1) < |g| <= 2^k.
        lost: Share that a format rounds to zero, by format.
    """

    step: Annotated[int, Rule("step", least=0)]
    lowest: Annotated[int, Rule("1")]
    counts: Annotated[tuple[Whole, ...], Rule(fewest=1)]
    lost: Annotated[dict[str, Share] | None, DERIVED] = None


@dataclass(frozen=True, kw_only=True)
class Test(_Closed):
    """On what is not trained on.

    Attributes:
        loss: Null where it is not finite.
        accuracy: Share told right.
    """

    __test__: ClassVar[bool] = False
    loss: Amount | None
    accuracy: Share | None = None


@dataclass(frozen=True, kw_only=True)
class FailureSeed(_Closed):
    """One training of a failure.

    Attributes:
        seed: Of weights and order.
        every: Steps from one point of a curve to the next.
        curves: Loss of the batch, factor of the loss, norm of the gradients before clipping, share of the updates that
            changed nothing; null where not finite.
        cpu_s: Processor time on one thread.
    """

    seed: Whole
    every: Steps
    curves: dict[Literal["loss", "scale", "norm", "vanished"], Annotated[tuple[Number | None, ...], Rule(fewest=1)]]
    histograms: tuple[Histogram, ...]
    test: Test
    cpu_s: Duration


@dataclass(frozen=True, kw_only=True)
class FailureSummary(_Closed):
    """Of all seeds.

    Attributes:
        failed: Seeds whose run failed.
        trained: Seeds.
        test_loss: Median; null where one is not finite.
        accuracy: Median.
        cpu_s: Median.
    """

    failed: Whole
    trained: Count
    test_loss: Amount | None
    accuracy: Share | None
    cpu_s: Duration


@dataclass(frozen=True, kw_only=True)
class FailureRun(_Closed):
    """One way to train, from every seed."""

    settings: Recipe
    seeds: Annotated[tuple[FailureSeed, ...], Rule(fewest=1)]
    summary: Annotated[FailureSummary | None, DERIVED] = None


@dataclass(frozen=True, kw_only=True)
class Failed(_Closed):
    """Over all runs of a role.

    Attributes:
        failed: Runs that failed.
        trained: Runs.
    """

    failed: Whole
    trained: Whole


@dataclass(frozen=True, kw_only=True)
class FailureVerdict(_Closed):
    """Over all runs of a role."""

    failure: Failed
    cure: Failed


@dataclass(frozen=True, kw_only=True)
class FailureArms(_Closed):
    """Trainings of a failure, its reference and its cures.

    Attributes:
        worse: A run failed if its loss on tested digits is not finite, or more than so many times that of the reference
            from the same seed.
        reference: The run that others are held against.
    """

    data: Images
    worse: Annotated[float, Rule("1", above=1)]
    runs: Annotated[dict[str, FailureRun], Rule(fewest=1)]
    reference: Annotated[str, DERIVED] = ""
    verdict: Annotated[FailureVerdict | None, DERIVED] = None


@dataclass(frozen=True, kw_only=True)
class CurvePoint(_Closed):
    """One point of a curve.

    Attributes:
        seconds: Since the first step.
        loss: Of the batch; null where none was computed, or it is not finite.
    """

    step: Annotated[int, Rule("step", least=0)]
    seconds: Duration
    phase: Literal["warmup", "full", "predict", "correct"]
    loss: Amount | None


@dataclass(frozen=True, kw_only=True)
class PhaseSteps(_Closed):
    """Steps by phase."""

    warmup: Annotated[int, Rule("step", least=0)]
    full: Annotated[int, Rule("step", least=0)]
    predict: Annotated[int, Rule("step", least=0)]
    correct: Annotated[int, Rule("step", least=0)]


@dataclass(frozen=True, kw_only=True)
class PhaseSeconds(_Closed):
    """Time on the clock by phase."""

    warmup: Duration
    full: Duration
    predict: Duration
    correct: Duration


@dataclass(frozen=True, kw_only=True)
class Horizon(_Closed):
    """How well steps were predicted so far ahead.

    Attributes:
        ahead: Steps from the last computed one.
        cosine: Mean, between predicted and real update.
        error: Mean, relative to the real update.
    """

    ahead: Steps
    compared: Count
    cosine: Annotated[float, Rule("1", least=-1.001, most=1.001)] | None
    error: Amount | None


@dataclass(frozen=True, kw_only=True)
class Told(_Closed):
    """What a trainer that predicts counted.

    Attributes:
        phases: Steps by phase.
        phase_seconds: Time on the clock by phase.
        extra_seconds: Of computed steps, what serves prediction alone.
        divergences: Excursions that were taken back.
        computed: Steps that ran backward.
        backward_reduction: Share of the steps without a backward pass.
        speedup: On the clock: what all steps would have taken at the pace of the computed ones, over what they took.
    """

    phases: PhaseSteps
    phase_seconds: PhaseSeconds
    extra_seconds: Duration
    divergences: Whole
    snapshot_bytes: Bytes
    history_bytes: Bytes
    horizons: tuple[Horizon, ...]
    computed: Annotated[int, Rule("step", unstated=True)] = 0
    backward_reduction: Annotated[Share, DERIVED] = 0.0
    speedup: Annotated[Amount, DERIVED] = 0.0


@dataclass(frozen=True, kw_only=True)
class Peaks(_Closed):
    """Largest peaks of a short training; only where options of memory are compared.

    Attributes:
        computed: Of computed steps.
        predicted: Of predicted steps.
        elsewhere: Meant for host memory while steps are predicted.
    """

    computed: Annotated[int, Rule("B", least=1)]
    predicted: Annotated[int, Rule("B", least=1)] | None
    elsewhere: Bytes


@dataclass(frozen=True, kw_only=True)
class HybridSeed(_Closed):
    """One training.

    Attributes:
        seed: Of weights and order.
        seconds: Test left out.
        memory_peak: Of the GPU's memory; null on a CPU.
    """

    seed: Whole
    steps: Steps
    seconds: Seconds
    memory_peak: Bytes | None
    curve: Annotated[tuple[CurvePoint, ...], Rule(fewest=1)]
    told: Told
    test: Test
    memory: Peaks | None = None


@dataclass(frozen=True, kw_only=True)
class Interval(_Closed):
    """Differences of log quality with the 95 % interval over paired seeds; null where one is not known."""

    mean: Number | None
    low: Number | None
    high: Number | None


@dataclass(frozen=True, kw_only=True)
class SavedMemory(_Closed):
    """Largest of the seeds; only where options of memory are compared.

    Attributes:
        share: Of plain training's peak.
        planned: The same as the plan expects it; null where it says nothing.
    """

    computed: Bytes
    predicted: Bytes | None
    elsewhere: Bytes
    share: Amount
    planned: Number | None
    as_planned: bool | None
    harmless: bool


@dataclass(frozen=True, kw_only=True)
class HybridSummary(_Closed):
    """Of all seeds.

    Attributes:
        test_loss: Median.
        accuracy: Median.
        seconds: Median.
        memory_peak: Largest of the seeds; null on a CPU.
        computed: Share of the steps.
        speedup: Median over seeds of plain training's time over its own.
        bound: The speed-up if predicted steps took no time.
        worse: Median over seeds of its test loss, or perplexity, over plain training's.
        against: Differences to other runs.
        helps: By the rule of gpu_bench/experiments/hybrid/arms.py; null where nothing is predicted or judged.
    """

    test_loss: Amount | None
    accuracy: Share
    seconds: Seconds
    memory_peak: Bytes | None
    computed: Share
    speedup: Amount
    bound: Amount
    worse: Amount | None
    against: dict[str, Interval]
    helps: bool | None
    memory: SavedMemory | None = None


@dataclass(frozen=True, kw_only=True)
class HybridRun(_Closed):
    """One way to train, from every seed."""

    settings: Arm
    seeds: Annotated[tuple[HybridSeed, ...], Rule(fewest=1)]
    summary: Annotated[HybridSummary | None, DERIVED] = None


@dataclass(frozen=True, kw_only=True)
class HybridVerdict(_Closed):
    """By the rule of gpu_bench/experiments/hybrid/arms.py.

    Attributes:
        judged: Runs that predict.
        divergences: Over all runs and seeds.
    """

    judged: Whole
    helping: Whole
    divergences: Whole
    fast_enough: Whole
    good_enough: Whole
    beat_controls: Whole


@dataclass(frozen=True, kw_only=True)
class HybridArms(_Closed):
    """Trainings that predict some of their steps, beside their controls.

    Attributes:
        quality: What the verdict compares; the perplexity is e to the loss.
        clock: What seconds are: processor time on one thread, or time on the clock.
    """

    data: Images
    quality: Literal["loss", "perplexity"]
    clock: Literal["processor", "wall"]
    runs: Annotated[dict[str, HybridRun], Rule(fewest=1)]
    verdict: Annotated[HybridVerdict | None, DERIVED] = None


@dataclass(frozen=True, kw_only=True)
class Reading(_Closed):
    """What the samples of a clock come to."""

    mean: Annotated[float, Rule("MHz", above=0)]
    minimum: Annotated[float, Rule("MHz", above=0)]
    maximum: Annotated[float, Rule("MHz", above=0)]


@dataclass(frozen=True, kw_only=True)
class Heat(_Closed):
    """What the samples of the temperature come to."""

    mean: Annotated[float, Rule("degC", above=0)]
    minimum: Annotated[float, Rule("degC", above=0)]
    maximum: Annotated[float, Rule("degC", above=0)]


@dataclass(frozen=True, kw_only=True)
class Power(_Closed):
    """What the samples of the power come to."""

    mean: Watts
    minimum: Watts
    maximum: Watts


@dataclass(frozen=True, kw_only=True)
class GpuState(_Closed):
    """The GPU while steps were timed, looked at four times a second.

    Attributes:
        slow_share: Share of looks at which the clock was well below its median.
    """

    samples: Count
    sm_clock_mhz: Reading | None
    slow_share: Share | None
    memory_clock_mhz: Reading | None
    temperature_c: Heat | None
    power_w: Power | None
    throttle_reasons: tuple[Annotated[str, Rule(pattern="[a-z_]+", longest=60)], ...] | None


@dataclass(frozen=True, kw_only=True)
class Repeat(_Closed):
    """One fresh process.

    Attributes:
        load_average: Waiting processes over the minute before.
        others_share: Share of all processor time that other processes took during the timed steps.
        gpu: Null without a GPU.
        host: The machine of this repeat.
    """

    started: Time
    finished: Time
    load_average: Annotated[float, Rule("1", least=0, most=100_000)] | None
    others_share: Share | None
    gpu: GpuState | None
    host: Host


@dataclass(frozen=True, kw_only=True)
class Provenance(_Closed):
    """Where the numbers come from.

    Attributes:
        dirty: Whether the sources differed from the commit.
        sources: Hash of the sources that decide a number, with or without git; null in version 2.
        command: To repeat it; absolute folders shortened.
        packages: Installed packages that cases may compute with; null in version 2.
        environment: Environment variables that can change a result; null in version 2.
        cores: Logical processors available.
        memory: Of the machine.
        host: Tells machines apart, names none.
    """

    git_commit: Annotated[str, Rule(pattern="[0-9a-f]{40}")] | None
    dirty: bool | None
    sources: Annotated[str, Rule(pattern="[0-9a-f]{16}")] | None
    command: Annotated[str, Rule(pattern=r"python -m gpu_bench[\s\S]*", longest=2000)]
    torch: Annotated[str, Rule(pattern=r"\d+\.\d+\.\d+[0-9A-Za-z.+_-]*", longest=60)]
    cuda: Annotated[str, Rule(pattern=r"\d+\.\d+(\.\d+)*", longest=20)] | None
    cudnn: Annotated[str, Rule(pattern=r"\d+(\.\d+)*", longest=20)] | None
    triton: Release | None
    nccl: Annotated[str, Rule(pattern=r"\d+(\.\d+)+", longest=20)] | None
    driver: Annotated[str, Rule(pattern=r"\d{3,4}\.\d{2,3}(\.\d{2,3})?", longest=20)] | None
    packages: dict[Annotated[str, Rule(longest=60)], Release] | None
    environment: dict[Annotated[str, Rule(pattern="[A-Z0-9_]{1,80}")], Annotated[str, Rule(longest=500)]] | None
    threads: Annotated[int, Rule("1", least=1, most=4096)]
    python: Annotated[str, Rule(pattern=r"3\.\d+\.\d+[0-9A-Za-z.+_-]*", longest=60)]
    os: Annotated[str, Rule(pattern=r"[\s\S]+", longest=200)]
    cpu: Words | None
    cores: Annotated[int, Rule("1", least=1, most=4096)] | None
    memory: Bytes | None
    repeats: Annotated[tuple[Repeat, ...], Rule(fewest=1)]
    host: Annotated[Host, DERIVED] = ""
    started: Annotated[Time, DERIVED] = ""
    finished: Annotated[Time, DERIVED] = ""


@dataclass(frozen=True, kw_only=True)
class Withheld(_Closed):
    """What was measured in a record that is no result: nothing in it is checked, and no page shows it.

    Attributes:
        faults: Why the record is impossible; empty when a later repeat failed.
        measured: Blocks of the record.
    """

    faults: tuple[str, ...]
    measured: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Record(_Closed):
    """One measured case.

    `unit` on a number is its unit in pint's notation; `1` is a pure number. null is: not known, not measured, or not
    part of this kind of case.

    Attributes:
        suite: The folder of the record.
        outcome: measured, or why there is no result. unsupported: the device or its software cannot do it; impossible:
            what was measured contradicts physics, or itself.
        message: Why it is no result; of a result, what spoiled it.
        name: The case's name: the file name up to `--`.
        status: The outcome; of what was measured ok, or what spoiled it. throttled: the GPU was slowed down; unsettled:
            step times were not steady when the clock started; recompiled: something was compiled during the timed
            steps; diverged: a loss was not finite, or far above guessing.
        ceilings: Products that were measured in the same process, of which the ceilings are the fastest.
        attention_ran: Which attention really ran, by the profiler: standard, or fused kernels by name; null where it
            was not looked at.
        predicted: By the engine, when the record was made.
        predicted_today: By the engine as it is now.
        withheld: Null in a result.
    """

    schema_version: Annotated[int, Rule("1", least=SCHEMA_VERSION, most=SCHEMA_VERSION)]
    benchmark_version: Version
    suite: Slug
    outcome: Literal["measured", "oom", "unsupported", "error", "timeout", "impossible"]
    message: Message | None = None
    case: (
        TrainingCase
        | AttentionCase
        | FitCase
        | TokenizeCase
        | LoaderCase
        | RooflineCase
        | ScalingCase
        | HybridCase
        | MemoryCase
        | FailureCase
    )
    device: Device
    provenance: Provenance
    model: Model | None = None
    data: Data | None = None
    samples: Samples | None = None
    compile: Compiled | None = None
    ceilings: tuple[Product, ...] | None = None
    loss: Loss | None = None
    memory: Memory | None = None
    energy: Energy | None = None
    cost: Cost | None = None
    course: Course | None = None
    attention_ran: (
        tuple[Literal["standard", "flash", "efficient", "cudnn", "math", "flash-cpu", "overridden"], ...] | None
    ) = None
    predicted: Predicted | None = None
    points: Annotated[tuple[Point, ...], Rule(fewest=1)] | None = None
    fit: Fit | None = None
    arms: FailureArms | HybridArms | None = None
    withheld: Withheld | None = None
    name: Annotated[Slug, DERIVED] = ""
    status: Annotated[Status, DERIVED] = "ok"
    summary: Annotated[Summary | None, DERIVED] = None
    flops: Annotated[Flops | None, DERIVED] = None
    utilization: Annotated[Utilization | None, DERIVED] = None
    predicted_today: Annotated[Predicted | None, DERIVED] = None
