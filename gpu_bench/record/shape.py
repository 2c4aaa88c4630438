"""What a record says, described once: types, units, bounds and meanings, from which `schema.json` is made.

A file states what was measured and where it comes from. Fields that are `unstated` follow from the rest: `derive.py`
computes them when a record is read. A block that a case does not fill is null, and may be left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, dataclass_transform

from gpu_bench import SCHEMA_VERSION
from gpu_bench.cases.case import TrainingCase
from gpu_bench.cases.kinds import AttentionCase, FitCase, RooflineCase
from gpu_bench.distributed.case import ScalingCase
from gpu_bench.experiments.failures.case import FailureCase
from gpu_bench.experiments.failures.recipes import Recipe
from gpu_bench.experiments.hybrid.arms import Arm
from gpu_bench.experiments.hybrid.case import HybridCase, MemoryCase
from gpu_bench.experiments.hybrid.schedule import Phase
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
Since = Annotated[int, Rule("step", least=0)]
Counted = Literal["failed", "trained"]
Reading = Literal["mean", "minimum", "maximum"]
Textbook = Literal["parameters", "gradients", "master", "optimizer", "activations", "total"]
AnyCase = (
    TrainingCase | AttentionCase | FitCase | TokenizeCase | LoaderCase | RooflineCase | ScalingCase | HybridCase
    | MemoryCase | FailureCase
)  # fmt: skip
Settings = dict[str, str | Number | bool | None]


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Block:
    """A block with exactly the fields that it describes; what is said beside a field is its meaning."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)


class Spread(Block):
    """Samples of all repeats together."""

    median: Seconds
    q1: Seconds
    q3: Seconds
    iqr: Duration  # q3 - q1
    n: Count  # Samples


class Throughput(Block):
    """Tokens back-propagated per second, over all samples."""

    median: PerSecond
    q1: PerSecond
    q3: PerSecond
    iqr: Annotated[float, Rule("token/s", least=0)]
    n: Count


class Device(Block):
    """What was measured on."""

    type: Literal["cpu", "cuda"]
    name: Annotated[str, Rule(longest=120)] | None = None  # As it calls itself
    slug: Annotated[Slug, DERIVED] = ""  # The file name after `--`
    memory: Bytes | None = None  # Of a GPU; of a CPU the machine's
    power_limit_w: Watts | None = None  # Enforced limit of a GPU


class Model(Block):
    """The model that was trained."""

    parameters: Count  # Counted; shared matrices count once
    layers: Annotated[Count, DERIVED] = 0
    heads: Annotated[Count, DERIVED] = 0
    hidden: Annotated[Count, DERIVED] = 0
    vocab: Annotated[Count, DERIVED] = 0
    max_seq: Annotated[Tokens, DERIVED] = 0


class Data(Block):
    """What was trained on."""

    source: Literal["source code of the Python standard library"]
    sha256: Hash  # Of the text; equal on two machines that trained on the same text
    bytes: Bytes
    files: Count
    tokens: Tokens
    tokenizer: Literal[
        "bytes: token = byte value of the UTF-8 text, vocabulary 256", "GPT-2 byte pairs, vocabulary 50,257"
    ]


class Samples(Block):
    """Times of single steps, a list for each repeat."""

    step_s: Annotated[tuple[Annotated[tuple[Seconds, ...], Rule(fewest=1)], ...], Rule(fewest=1)]  # Of every timed step
    # Of every step before
    warmup_s: Annotated[tuple[Annotated[tuple[Seconds, ...], Rule(fewest=1)], ...], Rule(fewest=1)]
    # Whether steps had become steady, and nothing was compiled any more, when the clock started
    warmup_settled: Annotated[tuple[bool, ...], Rule(fewest=1)]


class Compiled(Block):
    """What was compiled, for each repeat."""

    # By how much steps in which something was compiled took longer; null where nothing was. Later repeats find compiled
    # kernels in a cache
    seconds: Annotated[tuple[Duration | None, ...], Rule(fewest=1)]
    graphs: Annotated[tuple[Whole, ...], Rule(fewest=1)]  # Graphs compiled during warm-up
    # Graphs compiled during the timed steps: above 0 spoils them
    graphs_while_timed: Annotated[tuple[Whole, ...], Rule(fewest=1)]
    # What ran in its plain form because its fast form did not work there, and why; a line each
    fallbacks: Annotated[tuple[tuple[Annotated[str, Rule(longest=1000)], ...], ...], Rule(fewest=1)]


class Product(Block):
    """A matrix product, (M, K) times (K, N), measured in the same process as the steps."""

    format: Literal["fp32", "tf32", "bf16", "fp16", "fp8"]
    m: Count | None  # Null in records of version 2, which kept the fastest product alone
    n: Count | None
    k: Count | None
    fast_accumulation: bool | None  # FP8 only: forward products accumulate fast, those of the backward pass precisely
    flops_per_s: Rate


class Summary(Block):
    """What the samples come to."""

    step_s: Spread  # Time of one training step
    tokens_per_s: Throughput  # Tokens back-propagated per second


class Flops(Block):
    """Operations of a step."""

    # 6 N + 12 L h T per token: the whole T x T square (PaLM); rows that pad the vocabulary are not counted
    model_per_step: Flop
    model_per_step_causal: Flop  # 6 N + 6 L h T per token: the causal half
    recomputed_per_step: Flop  # What checkpointing and a chunked loss run a second time
    fp8_per_step: Flop  # The part of model_per_step that runs in FP8


class Utilization(Block):
    """Operations per second, and their share of what the chip could do."""

    model_flops_per_s: Rate  # model_per_step over the median step time
    model_flops_per_s_causal: Rate
    # Format of specified_peak and matmul_ceiling; for FP8 it is that of the other products
    peak_format: Literal["fp32", "tf32", "bf16", "fp16"]
    specified_peak: Rate | None  # Dense peak of the data sheet; null for a device that the engine does not know
    # The fastest matrix product of several shapes of the model, measured in the same process
    matmul_ceiling: Rate | None
    fp8_matmul_ceiling: Rate | None
    # model_flops_per_s over specified_peak; null for FP8, and where counting scores that causal kernels skip would pass
    # the peak
    mfu: Amount | None
    mfu_causal: Amount | None
    hfu: Amount | None  # As mfu, with what is computed again
    bf16_equivalent: Amount | None  # FP8 only: model_flops_per_s over the BF16 peak, which is not a utilization
    # FP8 only: the time that all products take at the peak of their own format, over the step's
    formats_share: Amount | None
    matmul_share: Amount | None  # model_flops_per_s over matmul_ceiling


class Loss(Block):
    """Cross-entropy in nats per token."""

    # Of every step of the first repeat, warm-up included; null once it is not finite
    curve: Annotated[tuple[Number | None, ...], Rule(fewest=1)]
    same_in_all_repeats: bool  # Whether every repeat gave exactly the same losses
    # Of each repeat after the first, the first step whose loss was not finite or far above guessing; null without one
    diverged_later: tuple[Whole | None, ...]
    diverged_at: Annotated[tuple[Whole | None, ...], DERIVED] = ()  # The same of every repeat
    first: Annotated[Number | None, DERIVED] = None
    last_five_mean: Annotated[Number | None, DERIVED] = None  # Mean of the last five steps


class Held(Block):
    """Every component at its own fullest; these do not sum to the peak, because they are not full at once."""

    parameters: Bytes
    gradients: Bytes  # The most alive at once
    optimizer: dict[Annotated[str, Rule(longest=60)], Bytes]  # By state vector, under PyTorch's names
    activations: Bytes  # Saved for the backward pass; parameters and their casts left out
    # 16-bit copies of weights that autocast keeps until the backward pass; a compiled step's are among its activations
    cast_weights: Bytes
    optimizer_total: Annotated[Bytes, DERIVED] = 0


class AtPeak(Block):
    """What is alive at the moment of the peak."""

    parameters: Bytes
    buffers: Bytes
    gradients: Bytes
    optimizer_state: Bytes
    optimizer_temporaries: Bytes
    activations: Bytes  # Tensors of the forward pass still alive, casts of weights included
    backward_temporaries: Bytes  # Gradients of activations and other tensors of the backward pass
    inputs: Bytes
    # What a compiled step holds besides the named: activations, gradients and temporaries, which cannot be told apart
    inside_compiled: Bytes
    # Peak minus all of the above: workspaces of kernels, rounding
    remainder: Annotated[int, Rule("B", unstated=True)] = 0


class Cuda(Block):
    """The CUDA allocator and the driver over the timed steps."""

    allocated_peak: Annotated[Bytes, DERIVED] = 0
    active_peak: Bytes | None
    reserved_peak: Bytes
    first_step_peak: Bytes | None  # The first step also creates the optimizer's state
    process: Bytes | None  # What the driver counts for the process
    context: Annotated[int, Rule("B")] | None  # Process minus reserved: the CUDA context and loaded kernels
    retries: Whole | None  # Allocations that succeeded only after freeing the cache
    ooms: Whole | None


class Memory(Block):
    """Where the memory of a step is."""

    held: Held
    at_peak: AtPeak
    # Largest allocation of a training step: by CUDA's allocator over the timed ones, or a CPU's over one profiled step
    peak: Bytes
    cuda: Cuda | None  # Null on a CPU
    tolerance: Annotated[Bytes, DERIVED] = 0  # Bound on the remainder


class Energy(Block):
    """Measured over at least 30 s, after the timed steps of the first repeat; else null."""

    window_s: Seconds | None
    steps: Steps | None
    energy_j: Annotated[float, Rule("J", above=0)] | None  # Difference of the GPU's own counter
    per_token_j: Annotated[Annotated[float, Rule("J/token")] | None, DERIVED] = None
    mean_power_w: Annotated[Annotated[float, Rule("W")] | None, DERIVED] = None


class CoursePoint(Block):
    """How a long run stood."""

    validation_loss: Amount | None  # On text that is not trained on, per token; null where it is not finite
    allocated: Bytes | None  # GPU only
    reserved: Bytes | None  # GPU only
    step: Annotated[Steps, DERIVED] = 0  # Timed steps before


class Course(Block):
    """How a long run went; null where nothing was validated."""

    points: Annotated[tuple[CoursePoint, ...], Rule(fewest=1)]
    # Of every timed step, before clipping; null where it is not finite or nothing is clipped
    gradient_norms: tuple[Amount | None, ...]
    divergences: Annotated[Whole, DERIVED] = 0  # Steps whose loss is not finite or above that of the first step
    perplexity: Annotated[Amount | None, DERIVED] = None  # e to the last validation loss


class Cost(Block):
    """The price of the day; null when none was on record."""

    usd_per_hour: Annotated[float, Rule("USD/hour", above=0)]  # Asked for renting the chip
    source: Annotated[str, Rule(pattern="https?://.+", longest=300)]
    date: Annotated[str, Rule(pattern="[0-9]{4}(-[0-9]{2}){0,2}")]
    usd_per_1e9_tokens: Annotated[float, Rule("USD", unstated=True)] = 0.0  # At that price
    # At the price that the engine has on record now
    usd_per_1e9_tokens_today: Annotated[Annotated[float, Rule("USD")] | None, DERIVED] = None


class Expected(Block):
    """Memory by the engine: each component at its own fullest, as memory.held."""

    parameters: Bytes
    gradients: Bytes
    optimizer: Bytes
    activations: Bytes
    logits: Bytes  # What the loss keeps; memory.held counts it among activations
    cast_weights: Bytes
    workspace: Bytes  # Scratch memory of the matrix library
    peak: Bytes


class Predicted(Block):
    """What the engine said; training cases only."""

    engine_version: Version
    memory: Expected | None  # Null where the engine has no model
    step_s: Seconds | None  # Null for a chip that the engine does not know
    # Where the engine's configuration differs from the case
    approximations: tuple[Annotated[str, Rule(longest=300)], ...]
    textbook: Annotated[dict[Textbook, Bytes] | None, DERIVED] = None  # By the chapter's formulas
    tokens_per_s: Annotated[PerSecond | None, DERIVED] = None
    mfu: Annotated[Amount | None, DERIVED] = None


class Work(Block):
    """Of one round; what follows from the case and the point's settings is not stated in the file."""

    flops: Annotated[float, Rule("FLOP", least=0)] | None = None
    bytes: Annotated[float, Rule("B", least=0)] | None = None
    tokens: Annotated[float, Rule("token", least=0)] | None = None


class Rates(Block):
    """Work over the median time."""

    flops_per_s: Annotated[float, Rule("FLOP/s", least=0)] | None
    bytes_per_s: Annotated[float, Rule("B/s", least=0)] | None
    tokens_per_s: Annotated[float, Rule("token/s", least=0)] | None


class Point(Block):
    """One of several things that a case times."""

    label: Annotated[str, Rule(pattern=r"[\s\S]+", longest=200)]
    settings: Settings  # What tells the point from the others
    status: Literal["ok", "oom", "unsupported", "error"]
    message: Message | None  # Why the status is not ok
    samples_s: Annotated[tuple[tuple[Seconds, ...], ...], Rule(fewest=1)]  # Seconds of every round, one list per repeat
    work: Work
    memory_peak: Bytes | None  # What the round added to memory at its fullest
    shares: dict[str, Share]  # Parts of the time, by name
    # Mean loss of every training step of the first repeat, from the first on; null where nothing is trained
    losses: tuple[Number | None, ...] | None
    seconds: Annotated[Spread | None, DERIVED] = None
    rates: Annotated[Rates | None, DERIVED] = None


class Trial(Block):
    """One step of the search."""

    policy: Words
    batch: Count
    outcome: Literal["fits", "oom", "unsupported", "timeout", "error"]
    message: Message | None
    peak: Bytes | None
    step_s: Seconds | None  # Median


class Boundary(Block):
    """What fits with one policy."""

    policy: Words
    # Largest of the tried batches that fits by the engine; null where it has no model or none fits
    predicted_batch: Count | None
    largest_batch: Annotated[Count | None, DERIVED] = None  # Largest that fitted; null: none did
    # boundary: the largest batch is known; largest-tried: all that were tried fit; else the outcome that ended the
    # search, and larger batches may fit
    ended: Annotated[Literal["boundary", "largest-tried", "unsupported", "timeout", "error"], DERIVED] = "boundary"
    peak: Annotated[Bytes | None, DERIVED] = None  # Of that batch
    # Of that batch, on the GPU at hand: an emulated card's speed is not emulated
    tokens_per_s: Annotated[PerSecond | None, DERIVED] = None


class Fit(Block):
    """What fits a card, or an emulated one."""

    context: Bytes | None  # Counted as the CUDA context and not available
    policies: Annotated[tuple[Boundary, ...], Rule(fewest=1)]
    trials: Annotated[tuple[Trial, ...], Rule(fewest=1)]  # Every step of the search, in order
    # What programs could allocate on the emulated card; null where the GPU is such a card itself
    limit: Annotated[Bytes | None, DERIVED] = None


class Images(Block):
    """What compared runs learn from and are tested with: images, or tokens."""

    source: Words
    sha256: Hash
    train: Count
    test: Count
    tokenizer: Words | None = None  # What a token is; null for images


class Histogram(Block):
    """Sizes of the gradients of the weights, as computed in FP32."""

    step: Since  # Steps before
    lowest: Annotated[int, Rule("1")]  # Power of two at which the first bin ends; bin k counts 2^(k-1) < |g| <= 2^k
    counts: Annotated[tuple[Whole, ...], Rule(fewest=1)]
    lost: Annotated[dict[str, Share] | None, DERIVED] = None  # Share that a format rounds to zero, by format


class Test(Block):
    """On what is not trained on."""

    __test__: ClassVar[bool] = False
    loss: Amount | None  # Null where it is not finite
    accuracy: Share | None = None  # Share told right


class FailureSeed(Block):
    """One training of a failure."""

    every: Steps  # Steps from one point of a curve to the next
    # Loss of the batch, factor of the loss, norm of the gradients before clipping, share of the updates that changed
    # nothing; null where not finite
    curves: dict[Literal["loss", "scale", "norm", "vanished"], Annotated[tuple[Number | None, ...], Rule(fewest=1)]]
    histograms: tuple[Histogram, ...]
    test: Test
    cpu_s: Duration  # Processor time on one thread
    seed: Annotated[Whole, DERIVED] = 0  # Of weights and order


class FailureSummary(Block):
    """Of all seeds."""

    failed: Whole  # Seeds whose run failed
    trained: Count  # Seeds
    test_loss: Amount | None  # Median; null where one is not finite
    accuracy: Share | None  # Median
    cpu_s: Duration  # Median


class FailureRun(Block):
    """One way to train, from every seed."""

    settings: Recipe
    seeds: Annotated[tuple[FailureSeed, ...], Rule(fewest=1)]
    summary: Annotated[FailureSummary | None, DERIVED] = None


class FailureArms(Block):
    """Trainings of a failure, its reference and its cures."""

    data: Images
    # A run failed if its loss on tested digits is not finite, or more than so many times that of the reference from the
    # same seed
    worse: Annotated[float, Rule("1", above=1)]
    runs: Annotated[dict[str, FailureRun], Rule(fewest=1)]
    reference: Annotated[str, DERIVED] = ""  # The run that others are held against
    # Runs that failed, and all of them, over those of a role
    verdict: Annotated[dict[Literal["failure", "cure"], dict[Literal["failed", "trained"], Whole]] | None, DERIVED] = (
        None
    )


class CurvePoint(Block):
    """One point of a curve."""

    seconds: Duration  # Since the first step
    phase: Phase
    loss: Amount | None  # Of the batch; null where none was computed, or it is not finite
    step: Annotated[Since, DERIVED] = 0


class Horizon(Block):
    """How well steps were predicted so far ahead."""

    ahead: Steps  # Steps from the last computed one
    compared: Count
    cosine: Annotated[float, Rule("1", least=-1.001, most=1.001)] | None  # Mean, between predicted and real update
    error: Amount | None  # Mean, relative to the real update


class Told(Block):
    """What a trainer that predicts counted."""

    phases: Annotated[dict[Phase, Since], Rule(fewest=4)]  # Steps by phase
    phase_seconds: Annotated[dict[Phase, Duration], Rule(fewest=4)]  # Time on the clock by phase
    extra_seconds: Duration  # Of computed steps, what serves prediction alone
    divergences: Whole  # Excursions that were taken back
    snapshot_bytes: Bytes
    history_bytes: Bytes
    horizons: tuple[Horizon, ...]
    computed: Annotated[Since, DERIVED] = 0  # Steps that ran backward
    # On the clock: what all steps would have taken at the pace of the computed ones, over what they took
    speedup: Annotated[Amount, DERIVED] = 0.0


class Peaks(Block):
    """Largest peaks of a short training; only where options of memory are compared."""

    computed: Annotated[int, Rule("B", least=1)]  # Of computed steps
    predicted: Annotated[int, Rule("B", least=1)] | None  # Of predicted steps
    elsewhere: Bytes  # Meant for host memory while steps are predicted


class HybridSeed(Block):
    """One training."""

    seconds: Seconds  # Test left out
    memory_peak: Bytes | None  # Of the GPU's memory; null on a CPU
    curve: Annotated[tuple[CurvePoint, ...], Rule(fewest=1)]
    told: Told
    test: Test
    memory: Peaks | None = None
    seed: Annotated[Whole, DERIVED] = 0  # Of weights and order
    steps: Annotated[Steps, DERIVED] = 0


class SavedMemory(Block):
    """Largest of the seeds; only where options of memory are compared."""

    computed: Bytes
    predicted: Bytes | None
    elsewhere: Bytes
    share: Amount  # Of plain training's peak
    planned: Number | None  # The same as the plan expects it; null where it says nothing
    as_planned: bool | None
    harmless: bool


class HybridSummary(Block):
    """Of all seeds."""

    test_loss: Amount | None  # Median
    accuracy: Share  # Median
    seconds: Seconds  # Median
    memory_peak: Bytes | None  # Largest of the seeds; null on a CPU
    computed: Share  # Share of the steps
    speedup: Amount  # Median over seeds of plain training's time over its own
    bound: Amount  # The speed-up if predicted steps took no time
    worse: Amount | None  # Median over seeds of its test loss, or perplexity, over plain training's
    # Differences of log quality to other runs, with the 95 % interval over paired seeds; null where one is not known
    against: dict[str, dict[Literal["mean", "low", "high"], Number | None]]
    helps: bool | None  # By the rule of gpu_bench/experiments/hybrid/arms.py; null where nothing is predicted or judged
    memory: SavedMemory | None = None


class HybridRun(Block):
    """One way to train, from every seed."""

    settings: Arm
    seeds: Annotated[tuple[HybridSeed, ...], Rule(fewest=1)]
    summary: Annotated[HybridSummary | None, DERIVED] = None


class HybridVerdict(Block):
    """By the rule of gpu_bench/experiments/hybrid/arms.py."""

    judged: Whole  # Runs that predict
    helping: Whole
    divergences: Whole  # Over all runs and seeds
    fast_enough: Whole
    good_enough: Whole
    beat_controls: Whole


class HybridArms(Block):
    """Trainings that predict some of their steps, beside their controls."""

    data: Images
    runs: Annotated[dict[str, HybridRun], Rule(fewest=1)]
    # What the verdict compares; the perplexity is e to the loss
    quality: Annotated[Literal["loss", "perplexity"], DERIVED] = "loss"
    # What seconds are: processor time on one thread, or time on the clock
    clock: Annotated[Literal["processor", "wall"], DERIVED] = "processor"
    verdict: Annotated[HybridVerdict | None, DERIVED] = None


class GpuState(Block):
    """The GPU while steps were timed, looked at four times a second."""

    samples: Count
    sm_clock_mhz: Annotated[dict[Reading, Annotated[float, Rule("MHz", above=0)]], Rule(fewest=3)] | None
    slow_share: Share | None  # Share of looks at which the clock was well below its median
    memory_clock_mhz: Annotated[dict[Reading, Annotated[float, Rule("MHz", above=0)]], Rule(fewest=3)] | None
    temperature_c: Annotated[dict[Reading, Annotated[float, Rule("degC", above=0)]], Rule(fewest=3)] | None
    power_w: Annotated[dict[Reading, Watts], Rule(fewest=3)] | None
    throttle_reasons: tuple[Annotated[str, Rule(pattern="[a-z_]+", longest=60)], ...] | None


class Repeat(Block):
    """One fresh process."""

    started: Time
    finished: Time
    load_average: Annotated[float, Rule("1", least=0, most=100_000)] | None  # Waiting processes over the minute before
    # Share of all processor time that other processes took: during the timed steps, or without such in the whole repeat
    others_share: Share | None
    gpu: GpuState | None  # Null without a GPU
    host: Host  # The machine of this repeat


class Provenance(Block):
    """Where the numbers come from."""

    git_commit: Annotated[str, Rule(pattern="[0-9a-f]{40}")] | None
    dirty: bool | None  # Whether the sources differed from the commit
    # Hash of the sources that decide a number, with or without git; null in version 2
    sources: Annotated[str, Rule(pattern="[0-9a-f]{16}")] | None
    # To repeat it; absolute folders shortened
    command: Annotated[str, Rule(pattern=r"python -m gpu_bench[\s\S]*", longest=2000)]
    torch: Annotated[str, Rule(pattern=r"\d+\.\d+\.\d+[0-9A-Za-z.+_-]*", longest=60)]
    cuda: Annotated[str, Rule(pattern=r"\d+\.\d+(\.\d+)*", longest=20)] | None
    cudnn: Annotated[str, Rule(pattern=r"\d+(\.\d+)*", longest=20)] | None
    triton: Release | None
    nccl: Annotated[str, Rule(pattern=r"\d+(\.\d+)+", longest=20)] | None
    driver: Annotated[str, Rule(pattern=r"\d{3,4}\.\d{2,3}(\.\d{2,3})?", longest=20)] | None
    # Installed packages that cases may compute with; null in version 2
    packages: dict[Annotated[str, Rule(longest=60)], Release] | None
    # Environment variables that can change a result; null in version 2
    environment: dict[Annotated[str, Rule(pattern="[A-Z0-9_]{1,80}")], Annotated[str, Rule(longest=500)]] | None
    threads: Annotated[int, Rule("1", least=1, most=4096)]
    python: Annotated[str, Rule(pattern=r"3\.\d+\.\d+[0-9A-Za-z.+_-]*", longest=60)]
    os: Annotated[str, Rule(pattern=r"[\s\S]+", longest=200)]
    cpu: Words | None
    cores: Annotated[int, Rule("1", least=1, most=4096)] | None  # Logical processors available
    memory: Bytes | None  # Of the machine
    repeats: Annotated[tuple[Repeat, ...], Rule(fewest=1)]
    host: Annotated[Host, DERIVED] = ""  # Tells machines apart, names none
    started: Annotated[Time, DERIVED] = ""
    finished: Annotated[Time, DERIVED] = ""


class Withheld(Block):
    """What was measured in a record that is no result: nothing in it is checked, and no page shows it."""

    faults: tuple[str, ...]  # Why the record is impossible; empty when a later repeat failed
    measured: dict[str, Any]  # Blocks of the record


class Record(Block):
    """One measured case.

    `unit` on a number is its unit in pint's notation; `1` is a pure number. null is: not known, not measured, or not
    part of this kind of case.
    """

    schema_version: Annotated[int, Rule("1", least=SCHEMA_VERSION, most=SCHEMA_VERSION)]
    benchmark_version: Version
    suite: Slug  # The folder of the record
    # measured, or why there is no result. unsupported: the device or its software cannot do it; impossible: what was
    # measured contradicts physics, or itself
    outcome: Literal["measured", "oom", "unsupported", "error", "timeout", "impossible"]
    message: Message | None = None  # Why it is no result; of a result, what spoiled it
    case: AnyCase
    device: Device
    provenance: Provenance
    model: Model | None = None
    data: Data | None = None
    samples: Samples | None = None
    compile: Compiled | None = None
    # Products that were measured in the same process, of which the ceilings are the fastest
    ceilings: tuple[Product, ...] | None = None
    loss: Loss | None = None
    memory: Memory | None = None
    energy: Energy | None = None
    cost: Cost | None = None
    course: Course | None = None
    # Which attention really ran, by the profiler: standard, or fused kernels by name; null where it was not looked at
    attention_ran: (
        tuple[Literal["standard", "flash", "efficient", "cudnn", "math", "flash-cpu", "overridden"], ...] | None
    ) = None
    predicted: Predicted | None = None  # By the engine, when the record was made
    points: Annotated[tuple[Point, ...], Rule(fewest=1)] | None = None
    fit: Fit | None = None
    arms: FailureArms | HybridArms | None = None
    withheld: Withheld | None = None  # Null in a result
    name: Annotated[Slug, DERIVED] = ""  # The case's name: the file name up to `--`
    # The outcome; of what was measured ok, or what spoiled it. throttled: the GPU was slowed down; unsettled: step
    # times were not steady when the clock started, others used the processors, or repeats are far apart; recompiled:
    # something was compiled during the timed steps; diverged: a loss was not finite, or far above guessing
    status: Annotated[Status, DERIVED] = "ok"
    summary: Annotated[Summary | None, DERIVED] = None
    flops: Annotated[Flops | None, DERIVED] = None
    utilization: Annotated[Utilization | None, DERIVED] = None
    predicted_today: Annotated[Predicted | None, DERIVED] = None  # By the engine as it is now
