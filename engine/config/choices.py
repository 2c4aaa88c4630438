"""The choices of a step that a name alone does not say: attention, loss, update, and whose code runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

from engine.core.errors import EngineError, require_bool, require_name, settle_fields, show, whole_number
from engine.core.units import Count
from engine.graph.backends import Backend, BackendName
from engine.graph.backends import backend as backend_by_name
from engine.graph.blocks import AttentionKernel, FrameworkName

UpdateKind = Literal["foreach", "for-loop", "fused"]
Offload = Literal["none", "optimizer", "gradients"]
Execution = Literal["eager", "compiled"]
Runtime = Literal["none", "deepspeed"]
Accumulation = Literal["fused", "separate"]
RmsNorm = Literal["fused", "separate"]


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
            raise EngineError(f"attention_generation {show(self.generation)} is unknown; allowed: 1, 2, 3, 4")


@dataclass(frozen=True, slots=True)
class Loss:
    """How head and loss are computed.

    Attributes:
        chunks: Pieces of the sequence into which they are cut; 1 is the whole.
        metrics: Cross-entropies that the training loop computes from the logits besides the loss, in FP32 and without
            gradient. Composer computes two by default, of which one is the loss again and the other its exponential.
    """

    chunks: Count = 1
    metrics: Count = 0

    def __post_init__(self) -> None:
        settle_fields(self, {"chunks": 1, "metrics": 0}, {}, ())

    @property
    def name(self) -> str:
        """As written on the command line."""
        return "full" if self.chunks == 1 else f"chunked:{self.chunks}"


def loss(name: str | Loss, metrics: Count = 0) -> Loss:
    """The loss written as `full` or `chunked:K`. Raises `EngineError` for anything else."""
    if isinstance(name, Loss):
        return name
    if name == "full":
        return Loss(1, metrics)
    word, colon, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    if word == "chunked" and colon and number.isascii() and number.isdigit() and len(number) < 10 and int(number) > 0:
        return Loss(int(number), metrics)
    raise EngineError(f"loss {show(name)} is unknown; allowed: full, chunked:K with K at least 1")


@dataclass(frozen=True, slots=True)
class Update:
    """How the optimizer's step runs.

    Attributes:
        kind: PyTorch's implementation: `foreach` works on all tensors at once and needs a temporary for each,
            `for-loop` on one at a time, `fused` without any.
        in_backward: Whether each parameter is updated, and its gradient freed, as soon as it is known.
        offload: What lives in host memory: nothing, optimizer states and master copy, or these and gradients.
    """

    kind: UpdateKind = "foreach"
    in_backward: bool = False
    offload: Offload = "none"

    def __post_init__(self) -> None:
        require_name("offload", self.offload, get_args(Offload))
        require_name("update", self.kind, get_args(UpdateKind))
        require_bool("optimizer_in_backward", self.in_backward)
        if self.in_backward and self.offload == "gradients":
            raise EngineError("offload 'gradients' is not allowed with optimizer_in_backward, which keeps no gradients")


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
