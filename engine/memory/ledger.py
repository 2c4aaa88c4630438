"""Training memory of one device: the ledger of named tensors and the peak, for a model, an optimizer and a batch."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from engine.config.layout import Layout, Stage, stages
from engine.config.optimizers import Optimizer
from engine.config.optimizers import optimizer as optimizer_by_name
from engine.config.recipe import Recipe, recipe
from engine.core.errors import EngineError, require_positive
from engine.core.units import Bytes, Count, Ratio
from engine.graph.backends import BackendName
from engine.graph.blocks import Attention, Framework, sections
from engine.graph.checkpointing import Checkpointing
from engine.graph.ir import Section
from engine.memory.liveness import GradientFate, kept_values, working_set
from engine.memory.peak import StepMemory
from engine.memory.static import stage_parameters, static_tensors
from engine.memory.tensors import MemoryLedger, MemoryPlan, Saved
from engine.models.transformer import Transformer
from engine.models.transformer import model as model_by_name
from engine.numerics.precision import Precision
from engine.numerics.precision import precision as precision_by_name

CUBLAS_WORKSPACE = 32 * 2**20
"""Scratch memory of the matrix library on Hopper, one handle; other NVIDIA generations take about 8 MiB."""
CUDA_CONTEXT = 512 * 2**20
"""Driver and kernels outside PyTorch's allocator: 0.3 to 0.9 GiB, by device and loaded libraries."""
SINGLE = Layout()


def training_memory(
    model: str | Transformer,
    *,
    optimizer: str | Optimizer = "adam",
    precision: str | Precision = "fp32",
    batch: Count = 1,
    sequence: Count | None = None,
    attention: Attention = "flash",
    dropout: Ratio = 0.0,
    checkpointing: str | Checkpointing = "none",
    loss: str = "full",
    accumulate: Count = 1,
    optimizer_in_backward: bool = False,
    offload: str = "none",
    update: str | None = None,
    framework: Framework = "torch",
    layout: Layout = SINGLE,
    backend: BackendName = "cuda",
) -> MemoryLedger:
    """Every tensor a training step keeps on a device, and what is allocated at its peak.

    With pipeline parallelism the ledger is that of the stage whose peak is largest.

    Args:
        model: A name from `list_models()` or a `Transformer`.
        optimizer: A name from `list_optimizers()`.
        precision: A name from `list_precisions()`.
        batch: Sequences in the micro-batch of one device; a NumPy array sweeps.
        sequence: Tokens in a sequence; the model's longest when None.
        attention: `"flash"` or `"standard"`.
        dropout: Probability of embedding, attention and residual dropout.
        checkpointing: `"none"`, `"selective"`, `"full"` or `"every:K"`.
        loss: `"full"`, or `"chunked:K"` to compute logits and loss in K pieces of the sequence.
        accumulate: Micro-batches whose gradients are added up before an update.
        optimizer_in_backward: Update each parameter as soon as its gradient is known, and free the gradient.
        offload: What lives in host memory: `"none"`, `"optimizer"` (states, master copy), `"gradients"` (these too).
        update: `"foreach"`, `"for-loop"` or `"fused"`; the framework's default when None.
        framework: Whose operation list, `"torch"` or `"megatron"`.
        layout: How the job's devices divide the work.
        backend: Whose kernels run, `"cuda"` or `"cpu"`.

    Raises:
        EngineError: For an unknown name, a value out of range, or choices that exclude each other.
    """
    require_positive("batch", batch)
    shape = model_by_name(model) if isinstance(model, str) else model
    if sequence is None:
        sequence = shape.max_seq
    else:
        require_positive("sequence", sequence)
        longest = sequence.max() if hasattr(sequence, "max") else sequence
        if shape.position == "learned" and longest > shape.max_seq:
            raise EngineError(f"sequence {longest} is too long; {shape.name} allows at most {shape.max_seq}")
    choices = (checkpointing, loss, accumulate, optimizer_in_backward, offload, update or _default(framework, backend))
    plans = _plans(model, optimizer, precision, attention, dropout, choices, framework, layout, backend)
    ledgers = [MemoryLedger(plan, batch, sequence) for plan in plans]
    return ledgers[0] if len(ledgers) == 1 else max(ledgers, key=lambda ledger: _scalar(ledger.allocated_peak))


@lru_cache(maxsize=1024)
def _plans(
    model: str | Transformer,
    optimizer: str | Optimizer,
    precision: str | Precision,
    attention: Attention,
    dropout: Ratio,
    choices: tuple[str | Checkpointing, str, Count, bool, str, str],
    framework: Framework,
    layout: Layout,
    backend: BackendName,
) -> tuple[MemoryPlan, ...]:
    """The plan of each stage that can need the most memory."""
    shape = model_by_name(model) if isinstance(model, str) else model
    rule, mode, chosen = optimizer_by_name(optimizer), precision_by_name(precision), recipe(*choices)
    return tuple(
        _plan(stage, layout, rule, mode, chosen, attention, dropout, framework, backend)
        for stage in stages(shape, layout)
    )


def _plan(
    stage: Stage,
    layout: Layout,
    optimizer: Optimizer,
    precision: Precision,
    choices: Recipe,
    attention: Attention,
    dropout: Ratio,
    framework: Framework,
    backend: BackendName,
) -> MemoryPlan:
    parts = sections(stage.model, precision, attention, dropout, backend, framework, layout.sequence_shards)
    parts = tuple(part for part in parts if _belongs(part, stage))
    static = static_tensors(stage, layout, optimizer, precision, choices, framework == "torch")
    fate = _gradient_fate(layout, choices, framework, precision)
    selective = choices.checkpointing.kind == "selective"
    on_device = [tensor for tensor in static if tensor.place == "device"]
    gradients = sum(t.bytes for t in on_device if t.component == "gradients" and t.part != "sum")
    passing = 0 if fate == "present" else gradients
    workspace, context = (CUBLAS_WORKSPACE, CUDA_CONTEXT) if backend == "cuda" else (0, 0)
    step = StepMemory(
        stage=stage,
        recipe=choices,
        sets={part.name: working_set(part, precision.gradients, fate, selective=selective) for part in parts},
        resident=sum(tensor.bytes for tensor in on_device) - passing + workspace,
        gradients=passing,
        update=_update_bytes(stage, layout, optimizer, precision, choices),
        head_gradient=precision.gradients.bytes(stage.model.vocab * stage.model.hidden),
        tied=stage.model.tied and stage.first and stage.last,
        gradients_accrue=fate == "accrue",
    )
    saved = tuple(_saved_tensors(parts, stage, choices))
    return MemoryPlan(static, saved, step.candidates(), choices.chunks, workspace, context)


def _belongs(part: Section, stage: Stage) -> bool:
    return part.name == "block" or (stage.first if part.name == "embedding" else stage.last)


def _default(framework: Framework, backend: BackendName) -> str:
    if framework == "megatron":
        return "fused"
    return "foreach" if backend == "cuda" else "for-loop"


def _gradient_fate(layout: Layout, choices: Recipe, framework: Framework, precision: Precision) -> GradientFate:
    if choices.optimizer_in_backward or choices.offload == "gradients":
        return "dropped"
    # Sharded and Megatron's gradients live in a buffer that is never freed; accumulated ones outlive the micro-batch.
    # Those that are summed apart stay until the next backward pass begins, through the forward pass before it.
    sharded = layout.data > 1 and layout.zero >= 2
    outlive = sharded or framework == "megatron" or choices.accumulate > 1 or precision.accumulation is not None
    return "present" if outlive else "accrue"


def _update_bytes(stage: Stage, layout: Layout, optimizer: Optimizer, precision: Precision, choices: Recipe) -> Bytes:
    """Temporary tensors of the update: for every parameter (foreach), the largest (for-loop), or none (fused)."""
    if choices.update == "fused" or choices.offload != "none":
        return 0
    share = layout.data if layout.zero >= 1 else 1
    shards = [(-(-p.elements // share), p.count) for p in stage_parameters(stage)]
    largest = max(elements for elements, _ in shards)
    if choices.update == "for-loop" or choices.optimizer_in_backward:
        elements = optimizer.loop_temporaries * largest
    else:
        elements = optimizer.temporaries * sum(elements * count for elements, count in shards)
    return precision.states.bytes(elements)


def _saved_tensors(parts: tuple[Section, ...], stage: Stage, choices: Recipe) -> Iterator[Saved]:
    """What is kept at the end of the forward pass, when the backward pass of the oldest micro-batch begins."""
    policy = choices.checkpointing
    for part in parts:
        count = stage.kept_blocks if part.name == "block" else stage.in_flight
        kept = kept_values(part, selective=policy.kind == "selective")
        if part.name == "block" and policy.every and part.input:
            kept, count = (part.input,), -(-count // policy.every)
        elif part.name == "head" and choices.chunks > 1 and part.input:
            kept = (part.input,)
        for value in kept:
            yield Saved(value.name, value.component, value.size, value.dtype, count, part.name)


def _scalar(value: Bytes) -> float:
    return float(value.max()) if hasattr(value, "max") else value
