"""The choices of a step that a name alone does not say: attention, loss, update, and whose code runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from typing import Literal, get_args

from ironlaw.core.errors import EngineError, require_bool, require_name, settle_fields, whole_number
from ironlaw.core.units import Count, Ratio
from ironlaw.graph.blocks import AttentionKernel, FrameworkName
from ironlaw.graph.blocks.parts import LogitsFormat, LossForm
from ironlaw.graph.tape import Backend, BackendName
from ironlaw.graph.tape import backend as backend_by_name

UpdateKind = Literal["foreach", "for-loop", "fused"]
Offload = Literal["none", "optimizer", "gradients", "parameters", "shards"]
Execution = Literal["eager", "compiled"]
Runtime = Literal["none", "deepspeed"]
Accumulation = Literal["fused", "separate"]
RmsNorm = Literal["fused", "separate"]
LOSSES = (*get_args(LossForm), "chunked:K with K at least 1")
"""How the pieces of the head and the loss are written."""


@dataclass(frozen=True, slots=True)
class Attention:
    """How attention is computed.

    Attributes:
        kernel: `"flash"` fuses attention, `"standard"` keeps the T x T probabilities.
        generation: Of the fused kernel: 1 is FlashAttention as first published, 2 its successor, twice as fast; 3 and 4
            are for the chips that have them on record.
    """

    kernel: AttentionKernel = "flash"
    generation: Count = 2

    def __post_init__(self) -> None:
        require_name("attention", self.kernel, get_args(AttentionKernel))
        if type(self.generation) is not int:
            object.__setattr__(self, "generation", whole_number("attention_generation", self.generation))
        if not 1 <= self.generation <= 4:
            raise EngineError("attention_generation", self.generation, (1, 2, 3, 4))


def attention(kernel: str | Attention, generation: Count = 2) -> Attention:
    """Attention by its kernel's name. Raises `EngineError` for anything else."""
    if isinstance(kernel, Attention):
        return kernel
    return Attention(kernel, generation)  # type: ignore[arg-type]  # its own check is next


@dataclass(frozen=True, slots=True)
class Loss:
    """How head and loss are computed.

    Attributes:
        chunks: Pieces of the sequence into which they are cut; 1 is the whole.
        metrics: Cross-entropies that the training loop computes from the logits besides the loss, in FP32 and without
            gradient. Composer computes two by default, of which one is the loss again and the other its exponential.
        kept: Whether the training loop holds the logits until the backward pass is over, as one does that keeps all of
            the model's output in a variable.
        form: `"full"` is PyTorch's loss over logits, `"fused"` a kernel that writes the gradient over them, as
            Unsloth's and Liger's do, `"fused-linear"` Liger's that multiplies by the output matrix too, piece by piece
            (`ironlaw.memory.linear_loss`).
        logits: What becomes of the logits before the loss: `"16-bit"` leaves them as they are, `"fp32"` casts them, as
            transformers does since 4.49, `"fp32-shifted"` copies all but the last token besides, as it did from 4.46
            on (some models `"16-bit-shifted"`), and `"fp32-shifted-early"` frees the 16-bit ones before, as it did up
            to 4.45. When None what the model's code does, and nothing before a fused loss.
    """

    chunks: Count = 1
    metrics: Count = 0
    kept: bool = False
    form: LossForm = "full"
    logits: LogitsFormat | None = None

    def __post_init__(self) -> None:
        settle_fields(self, {"chunks": 1, "metrics": 0}, {}, ())
        require_bool("keep_logits", self.kept)
        require_name("loss", self.form, get_args(LossForm))
        if self.logits is not None:
            require_name("logits", self.logits, get_args(LogitsFormat))

    @property
    def in_pieces(self) -> bool:
        """Whether the logits are never whole."""
        return self.chunks > 1 or self.form == "fused-linear"

    @property
    def name(self) -> str:
        """As written on the command line."""
        return self.form if self.chunks == 1 else f"chunked:{self.chunks}"


def loss(name: str | Loss, metrics: Count = 0, kept: bool = False, logits: str | None = None) -> Loss:
    """The loss written as one of `LOSSES`. Raises `EngineError` for anything else."""
    if isinstance(name, Loss):
        return name
    if name in get_args(LossForm):
        return Loss(1, metrics, kept, name, logits)  # type: ignore[arg-type]  # its own check is next
    word, colon, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    if word == "chunked" and colon and number.isascii() and number.isdigit() and len(number) < 10 and int(number) > 0:
        return Loss(int(number), metrics, kept, "full", logits)  # type: ignore[arg-type]  # its own check is next
    raise EngineError("loss", name, LOSSES)


@dataclass(frozen=True, slots=True)
class Buffers:
    """Elements of what DeepSpeed keeps on the device under ZeRO-2 and 3, or offloading; the defaults are its own.

    Source: DeepSpeed at commit edaa722, August 2026, `zero/config.py`.

    Attributes:
        bucket: Of the buffer in which gradients are reduced on their way out: `reduce_bucket_size`, twice as many where
            `overlap_comm` makes two of ZeRO-2's.
        prefetch: Fetched ahead of the block at work: `stage3_prefetch_bucket_size`.
        live: Up to which it fetches ahead: `stage3_max_live_parameters`.
        reuse: A weight stays that is used again before so many others: `stage3_max_reuse_distance`.
        persistent: A parameter with at most so many stays on every device: `stage3_param_persistence_threshold`.
    """

    bucket: Count = 500_000_000
    prefetch: Count = 50_000_000
    live: Count = 1_000_000_000
    reuse: Count = 1_000_000_000
    persistent: Count = 100_000

    def __post_init__(self) -> None:
        for size in (getattr(self, field.name) for field in fields(self)):
            if type(size) is not int or not 0 <= size < 10**12:
                raise EngineError("offload_sizes", size, "whole numbers of elements below a trillion")

    @property
    def name(self) -> str:
        """As written on the command line: what differs from DeepSpeed's own, or all of it where nothing does."""
        sizes = {field.name: getattr(self, field.name) for field in fields(self)}
        told = {name: size for name, size in sizes.items() if size != getattr(_DEEPSPEED, name)} or sizes
        return ",".join(f"{name}:{size}" for name, size in told.items())


_DEEPSPEED = Buffers()
BUFFERS = f"as in {_DEEPSPEED.name}, any of them"
"""How DeepSpeed's buffers are written."""


def buffers(text: str | Buffers | None) -> Buffers | None:
    """DeepSpeed's buffers by their sizes, its own where it is not told; None for none. Raises `EngineError`."""
    if text is None or isinstance(text, Buffers):
        return text
    pairs = [one.partition(":") for one in text.split(",")] if isinstance(text, str) else []
    found = {name: int(size) for name, _, size in pairs if size.isascii() and size.isdigit() and len(size) <= 12}
    if not pairs or len(found) < len(pairs) or not found.keys() <= {field.name for field in fields(Buffers)}:
        raise EngineError("offload_sizes", text, BUFFERS)
    return Buffers(**found)


@dataclass(frozen=True, slots=True)
class Update:
    """How the optimizer's step runs.

    Attributes:
        kind: PyTorch's implementation: `foreach` works on all tensors at once and needs a temporary for each,
            `for-loop` on one at a time, `fused` without any.
        in_backward: Whether each parameter is updated, and its gradient freed, as soon as it is known.
        offload: What lives in host memory: nothing, optimizer states and master copy, these and gradients, the
            weights too, or FSDP's shards of all of them.
        buffers: What DeepSpeed keeps on the device, where it is DeepSpeed that offloads or divides gradients: always
            with offloaded weights, which it fetches block by block.
    """

    kind: UpdateKind = "foreach"
    in_backward: bool = False
    offload: Offload = "none"
    buffers: Buffers | None = None

    def __post_init__(self) -> None:
        require_name("offload", self.offload, get_args(Offload))
        if self.offload == "parameters" and self.buffers is None:
            object.__setattr__(self, "buffers", _DEEPSPEED)
        require_name("update", self.kind, get_args(UpdateKind))
        require_bool("optimizer_in_backward", self.in_backward)

    @property
    def weights_away(self) -> bool:
        """Whether weights live in the host's memory."""
        return self.offload in ("parameters", "shards")

    @property
    def gradients_away(self) -> bool:
        """Whether gradients do."""
        return self.weights_away or self.offload == "gradients"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How the model is evaluated between steps.

    Attributes:
        batch: Sequences of a device at once; those of the training when None.
        kept: Batches whose logits stay on the device for metrics; 0 where the loss alone is kept.
        whole: Whether the logits are there whole although the training's loss is in pieces, as Liger's kernel gives
            them outside of training unless it is told not to. They are where they are kept.
    """

    batch: Count | None = None
    kept: Count = 0
    whole: bool = False

    def __post_init__(self) -> None:
        if self.batch is not None:
            object.__setattr__(self, "batch", whole_number("eval_batch", self.batch))
        object.__setattr__(self, "kept", whole_number("eval_kept", self.kept, 0))
        require_bool("eval_logits", self.whole)


def evaluation(batch: Count | None, kept: Count, whole: bool) -> Evaluation | None:
    """How the model is evaluated; None where nothing is said of it."""
    made = Evaluation(batch, kept, whole)
    return None if made == Evaluation() else made


@dataclass(frozen=True, slots=True)
class Rollout:
    """Who generates the texts that reinforcement learning learns from, between steps.

    Attributes:
        by: The model itself, `"generate"`; another program on the same device, which holds its share of the memory all
            the time, `"beside"`, or while it generates alone, `"asleep"`.
        share: Of the device's memory, where it is another program (vLLM's `gpu_memory_utilization`).
    """

    by: str
    share: Ratio = 0.0

    @property
    def name(self) -> str:
        """As written on the command line."""
        return f"{self.by}:{self.share:g}" if self.share else self.by


ROLLOUTS = ("none", "generate", "beside:SHARE", "asleep:SHARE with SHARE from 0.01 to 0.99")


def rollout(text: str) -> Rollout | None:
    """A rollout as it is written; None for none. Raises `EngineError`."""
    if text == "none":
        return None
    by, colon, share = text.partition(":") if isinstance(text, str) else ("", "", "")
    if by == "generate" and not colon:
        return Rollout(by)
    if by in ("beside", "asleep") and re.fullmatch(r"0\.[0-9]{1,2}", share) and float(share) > 0:
        return Rollout(by, float(share))
    raise EngineError("rollout", text, ROLLOUTS)


@dataclass(frozen=True, slots=True)
class Framework:
    """Whose code runs.

    Attributes:
        name: Whose operation list: `"torch"`, or `"megatron"` with its hand-fused kernels.
        execution: `"eager"` runs one kernel an operation; `"compiled"` joins chains of operations without products
            into one, and the host issues compiled code. Megatron-LM's chains are fused by hand.
        runtime: What drives the step: `"deepspeed"` keeps buffers of its own and sends between stages one by one.
        backend: Whose kernels, `"cuda"` or `"cpu"`; they keep different tensors.
        accumulation: How a micro-batch's gradients join the sum: `"fused"` into the products that make them, as
            Megatron-LM does since 2022 (its `--no-gradient-accumulation-fusion` turns it off), or `"separate"`.
        rms_norm: Whether eager PyTorch runs RMSNorm as one kernel, `"fused"`, or operation by operation, `"separate"`.
            Compiled code decides by itself, and Megatron-LM's norms are always fused.
    """

    name: FrameworkName = "torch"
    execution: Execution = "eager"
    runtime: Runtime = "none"
    backend: BackendName = "cuda"
    accumulation: Accumulation = "separate"
    rms_norm: RmsNorm = "separate"

    def __post_init__(self) -> None:
        require_name("accumulation", self.accumulation, get_args(Accumulation))
        require_name("rms_norm", self.rms_norm, get_args(RmsNorm))
        require_name("framework", self.name, get_args(FrameworkName))
        require_name("execution", self.execution, get_args(Execution))
        require_name("runtime", self.runtime, get_args(Runtime))
        require_name("backend", self.backend, get_args(BackendName))

    @property
    def compiled(self) -> bool:
        """Whether chains of operations run as one kernel."""
        return self.execution == "compiled"

    @property
    def kernels(self) -> Backend:
        """What its kernels keep."""
        fused = self.rms_norm == "fused" and not self.compiled
        return replace(backend_by_name(self.backend), fused_rms_norm=fused)

    @property
    def by_hand(self) -> bool:
        """Whether chains were fused by hand: pointwise operations only, with kernels of their own for the rest."""
        return self.name == "megatron"


def framework(
    name: str,
    execution: str | None = None,
    runtime: str = "none",
    backend: str = "cuda",
    accumulation: str | None = None,
    rms_norm: str = "separate",
) -> Framework:
    """A framework by name, with its own execution and accumulation where they are None.

    Raises:
        EngineError: A name that is unknown.
    """
    require_name("framework", name, get_args(FrameworkName))
    require_name("runtime", runtime, get_args(Runtime))
    by_hand = name == "megatron"
    if execution is None:
        execution = "compiled" if by_hand else "eager"
    if accumulation is None:
        accumulation = "fused" if by_hand and runtime == "none" else "separate"
    return Framework(name, execution, runtime, backend, accumulation, rms_norm)  # type: ignore[arg-type]  # it checks


def update(
    kind: str | None,
    code: Framework,
    in_backward: bool = False,
    offload: str = "none",
    sizes: str | Buffers | None = None,
) -> Update:
    """How the optimizer's step runs, the framework's own kind where it is None. Raises `EngineError` for no name."""
    if kind is None:
        kind = "fused" if code.compiled else "foreach" if code.backend == "cuda" else "for-loop"
    return Update(kind, in_backward, offload, buffers(sizes))  # type: ignore[arg-type]  # its own check is next
