"""The setup: everything that says how somebody trains, checked once. Every question to the engine is asked of one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, get_args

from engine.config.checks import require_dropout, require_possible, require_sweep
from engine.config.choices import Attention, Execution, Framework, Loss, Runtime, Update
from engine.config.choices import loss as loss_by_name
from engine.config.layout import Layout, Stage, stages
from engine.config.optimizers import Optimizer, list_optimizers
from engine.config.optimizers import optimizer as optimizer_by_name
from engine.config.words import in_words, require_text
from engine.core.arrays import whole_numbers
from engine.core.errors import EngineError, require_name, show, whole_number
from engine.core.units import Count, Ratio
from engine.graph.blocks import AttentionKernel, FrameworkName, sections
from engine.graph.checkpointing import Checkpointing
from engine.graph.checkpointing import checkpointing as checkpointing_by_name
from engine.graph.ir import Section
from engine.hardware.accelerators import Accelerator, list_accelerators
from engine.hardware.accelerators import accelerator as accelerator_by_name
from engine.models.transformer import Transformer, list_models
from engine.models.transformer import model as model_by_name
from engine.numerics.precision import Precision, list_precisions
from engine.numerics.precision import precision as precision_by_name

if TYPE_CHECKING:  # Imported only for several devices, so that a single one starts sooner.
    from engine.hardware.cluster import Cluster
    from engine.hardware.links import Link

DEFAULT_GPU = "h100-sxm"
"""The accelerator of a question that names none."""
DEFAULT_NETWORK = "infiniband-ndr"
"""The link between nodes of a question that names none."""


@dataclass(frozen=True, slots=True)
class DataShape:
    """What a device sees at a time.

    Attributes:
        batch: Sequences in a micro-batch of one replica.
        sequence: Tokens in a sequence.
    """

    batch: Count
    sequence: Count


@dataclass(frozen=True)
class Setup:
    """One way to train, with every name resolved. `setup` makes it from names.

    Attributes:
        model: The transformer.
        chip: The accelerator.
        data: Micro-batch and sequence.
        precision: The number formats.
        optimizer: The optimizer and its states.
        attention: Attention's kernel.
        dropout: Probability of dropout.
        checkpointing: What blocks recompute in the backward pass.
        loss: How head and loss are computed.
        update: How the optimizer's step runs, and where its states live.
        framework: Whose operation list and kernels.
        layout: How the job's devices divide the work. Its `micro_batches` are all of a step, accumulated ones too.
        cluster: The devices and their links; None for a single device.
    """

    model: Transformer
    chip: Accelerator
    data: DataShape
    precision: Precision
    optimizer: Optimizer
    attention: Attention
    dropout: Ratio
    checkpointing: Checkpointing
    loss: Loss
    update: Update
    framework: Framework
    layout: Layout
    cluster: Cluster | None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # A setup is the key of several caches; the generated hash would walk all its parts each time.
        require_no_arrays(self)
        named = (self.model, self.chip.name, self.precision.name, self.optimizer.name)
        chosen = (self.attention, self.dropout, self.checkpointing, self.loss, self.update, self.framework)
        return hash((named, chosen, self.data, self.layout))

    @property
    def batch(self) -> Count:
        """Sequences in a micro-batch of one replica."""
        return self.data.batch

    @property
    def sequence(self) -> Count:
        """Tokens in a sequence."""
        return self.data.sequence

    @property
    def micro_batches(self) -> Count:
        """Micro-batches of one replica per optimizer step."""
        return self.layout.micro_batches

    @property
    def replicas(self) -> Count:
        """Replicas that see different sequences."""
        return self.layout.data

    @property
    def devices(self) -> Count:
        """Devices of the job."""
        return self.layout.devices

    @property
    def tokens(self) -> Count:
        """Tokens of a step of the whole job."""
        return self.batch * self.sequence * self.micro_batches * self.replicas

    @property
    def host_link(self) -> Link | None:
        """The link between a device and its host's memory, or None for a chip that shares it or has none on record."""
        from engine.hardware.links import link

        return next((entry for name in self.chip.links if (entry := link(name)).scope == "host"), None)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of the pipeline, in order; one when there is none."""
        return stages(self.model, self.layout)

    def at(self, batch: Count, sequence: Count) -> Setup:
        """The same with another micro-batch and sequence."""
        return replace(self, data=DataShape(batch, sequence))

    @property
    def anywhere(self) -> Setup:
        """The same without micro-batch and sequence, for what is prepared once and evaluated at many of them."""
        return self.at(1, 1)

    @property
    def whole(self) -> Setup:
        """The same model on one device, undivided."""
        layout = replace(
            self.layout, data=1, tensor=1, pipeline=1, sequence_parallel=False, zero=0, interleave=1, balanced=False
        )
        return replace(self, layout=layout, cluster=None)


@lru_cache(maxsize=1024)
def stage_sections(c: Setup, stage: Stage) -> tuple[Section, ...]:
    """The operations of a forward pass that a pipeline stage runs: blocks, and embedding, norm and head if it has them.

    Args:
        c: The setup.
        stage: One of its stages.
    """
    parts = sections(
        stage.model,
        c.precision,
        c.attention.kernel,
        c.dropout,
        c.framework.kernels,
        c.framework.name,
        c.layout.sequence_shards,
    )
    return tuple(
        replace(part, count=stage.blocks) if part.name == "block" else part for part in parts if _holds(stage, part)
    )


def _holds(stage: Stage, part: Section) -> bool:
    return part.name == "block" or (stage.first if part.name == "embedding" else stage.last)


@in_words
def setup(
    model: str | Transformer,
    gpu: str | Accelerator = DEFAULT_GPU,
    batch: Count = 1,
    sequence: Count | None = None,
    *,
    precision: str | Precision | None = None,
    optimizer: str | Optimizer = "adamw",
    attention: str | Attention = "flash",
    attention_generation: Count = 2,
    checkpointing: str | Checkpointing = "none",
    loss: str | Loss = "full",
    metrics: Count = 0,
    dropout: Ratio = 0.0,
    accumulate: Count = 1,
    optimizer_in_backward: bool = False,
    offload: str = "none",
    update: str | None = None,
    framework: str = "torch",
    execution: str | None = None,
    runtime: str = "none",
    backend: str = "cuda",
    accumulation: str | None = None,
    rms_norm: str = "separate",
    dp: Count = 1,
    tp: Count = 1,
    pp: Count = 1,
    sequence_parallel: bool = False,
    zero: Any = 0,
    micro_batches: Count = 1,
    interleave: Count = 1,
    schedule: str = "1f1b",
    balanced: bool = False,
    overlap: bool = True,
    overlap_tensor: bool = False,
    node_size: Count = 8,
    link: str | None = None,
    network: str = DEFAULT_NETWORK,
    network_gbit: float | None = None,
) -> Setup:
    """A setup from names. The arguments are those of the command line.

    To ask for many batches or sequences, prepare a setup once and call what comes back, on one device with NumPy
    arrays too: `engine.answers.prepare(setup("gpt2"))(batch, sequence)`.

    Args:
        model: A name from `list_models()` or a `Transformer`.
        gpu: A name from `list_accelerators()` or an `Accelerator`.
        batch: Sequences in a micro-batch of one replica.
        sequence: Tokens in a sequence; the model's longest when None.
        precision: A name from `list_precisions()`; autocast in the chip's 16-bit format when None.
        optimizer: A name from `list_optimizers()`.
        attention: `"flash"` or `"standard"`.
        attention_generation: Of the fused kernel, 1 or 2, or 3 or 4 on the chips that have it on record.
        checkpointing: `"none"`, `"selective"`, `"full"` or `"every:K"`.
        loss: `"full"`, or `"chunked:K"` to compute logits and loss in K pieces of the sequence.
        metrics: Cross-entropies computed from the logits besides the loss.
        dropout: Probability of embedding, attention and residual dropout.
        accumulate: Times that a step repeats its micro-batches before the update.
        optimizer_in_backward: Update each parameter as soon as its gradient is known, and free the gradient.
        offload: What lives in host memory: `"none"`, `"optimizer"` (states, master copy), `"gradients"` (these too).
        update: `"foreach"`, `"for-loop"` or `"fused"`; the framework's default when None.
        framework: `"torch"` or `"megatron"`.
        execution: `"eager"` or `"compiled"`; eager for torch and compiled for megatron when None.
        runtime: `"none"`, or `"deepspeed"` for its buffers and its sends.
        backend: Whose kernels run, `"cuda"` or `"cpu"`.
        accumulation: `"fused"` or `"separate"`; Megatron-LM fuses it when None, others and DeepSpeed do not.
        rms_norm: `"fused"` or `"separate"`: RMSNorm in eager PyTorch, as `torch.nn.RMSNorm` or operation by operation.
        dp: Replicas.
        tp: Devices that share every matrix.
        pp: Pipeline stages.
        sequence_parallel: Whether norms and residuals are divided along the sequence.
        zero: What the replicas divide, 0 to 3.
        micro_batches: Micro-batches of one replica in flight per pass through the pipeline.
        interleave: Model chunks per pipeline stage.
        schedule: `"1f1b"` or `"gpipe"`.
        balanced: Whether embedding and head count as a block each when a pipeline divides the model.
        overlap: Whether data parallelism's collectives run beside the work.
        overlap_tensor: Whether tensor parallelism's do.
        node_size: Devices per node.
        link: Name of the link inside a node; the chip's fastest when None.
        network: Name of the link between nodes.
        network_gbit: Gbit/s of the network that each device has for itself; the link's own rate when None.

    Raises:
        EngineError: An unknown name, a value out of range, or choices that exclude each other.
    """
    require_text("model", model, list_models(), Transformer)
    require_text("gpu", gpu, list_accelerators(), Accelerator)
    transformer = model_by_name(model) if isinstance(model, str) else model
    chip = accelerator_by_name(gpu) if isinstance(gpu, str) else gpu
    batch = whole_numbers("batch", batch)
    if sequence is None:
        sequence = transformer.max_seq
    elif type(sequence) is not int:
        sequence = whole_numbers("sequence", sequence)
    accumulate, micro_batches = whole_number("accumulate", accumulate), whole_number("micro_batches", micro_batches)
    node_size = whole_number("node_size", node_size)
    require_dropout(dropout)
    require_text("optimizer", optimizer, list_optimizers(), Optimizer)
    require_text("checkpointing", checkpointing, ("none", "selective", "full", "every:K"), Checkpointing)
    require_text("loss", loss, ("full", "chunked:K"), Loss)
    if precision is not None:
        require_text("precision", precision, list_precisions(), Precision)
    if not isinstance(attention, str | Attention):
        require_name("attention", attention, get_args(AttentionKernel))
    if optimizer_in_backward is True and (step := accumulate if accumulate > 1 else micro_batches) > 1:
        what = "accumulate" if accumulate > 1 else "micro_batches"
        raise EngineError(f"{what} {step} is not allowed with optimizer_in_backward, which keeps no gradients")
    if type(framework) is not str or type(runtime) is not str:
        require_name("framework", framework, get_args(FrameworkName))
        require_name("runtime", runtime, get_args(Runtime))
    fused = framework == "megatron" and runtime == "none"
    code = Framework(
        framework,  # type: ignore[arg-type]
        _execution(framework) if execution is None else execution,  # type: ignore[arg-type]
        runtime,  # type: ignore[arg-type]
        backend,  # type: ignore[arg-type]
        ("fused" if fused else "separate") if accumulation is None else accumulation,  # type: ignore[arg-type]
        rms_norm,  # type: ignore[arg-type]
    )
    layout = Layout(
        data=dp,
        tensor=tp,
        pipeline=pp,
        sequence_parallel=sequence_parallel,
        zero=zero,
        micro_batches=micro_batches * accumulate,
        interleave=interleave,
        schedule=schedule,
        balanced=balanced,
        overlap=overlap,
        overlap_tensor=overlap_tensor,
    )
    cluster = joined(chip, node_size, link, network, network_gbit) if layout.devices > 1 else None
    named = link is not None or network_gbit is not None or not isinstance(network, str) or network != DEFAULT_NETWORK
    if cluster is None and named:
        _require_links(link, network, network_gbit)
    made = Setup(
        model=transformer,
        chip=chip,
        data=DataShape(batch, sequence),
        precision=precision_by_name(default_precision(chip, code) if precision is None else precision),
        optimizer=optimizer_by_name(optimizer),
        attention=Attention(attention, attention_generation) if isinstance(attention, str) else attention,  # type: ignore[arg-type]
        dropout=dropout,
        checkpointing=checkpointing_by_name(checkpointing),
        loss=loss_by_name(loss, metrics),
        update=Update(_update(code) if update is None else update, optimizer_in_backward, offload),  # type: ignore[arg-type]
        framework=code,
        layout=layout,
        cluster=cluster,
    )
    require_possible(made)
    if hasattr(batch, "shape") or hasattr(sequence, "shape"):
        require_sweep(made, batch, sequence)
    return made


def as_setup(asked: Setup | str | Transformer | None, *words: Any, **choices: Any) -> Setup:
    """The setup asked about: itself, or one made of words as `setup` takes them.

    Raises:
        EngineError: As `setup`, nothing to ask about, or words that come with a setup.
    """
    if asked is None and "model" not in choices:
        raise EngineError("model is missing; allowed: a Setup, or a model with which the words of one begin")
    if not isinstance(asked, Setup):
        return setup(*(() if asked is None else (asked,)), *words, **choices)
    if words or choices:
        given = ", ".join(map(show, (*words, *choices)))
        raise EngineError(f"{given} is not allowed beside a Setup; allowed: a Setup alone, or the words of one")
    return asked


def joined(
    chip: Accelerator, node_size: Count, link: str | None, network: str, network_gbit: float | None = None
) -> Cluster:
    """Nodes of a chip, joined by links given by name. Raises `EngineError` for an unknown or unfit one."""
    from engine.hardware.cluster import cluster

    return cluster(chip, node_size=node_size, inside=link, network=network, network_gbit=network_gbit)


def require_no_arrays(c: Setup) -> None:
    """Refuse a setup whose batch or sequence is an array, for questions that have one answer."""
    for what, value in (("batch", c.data.batch), ("sequence", c.data.sequence)):
        if hasattr(value, "shape"):
            raise EngineError(
                f"{what} {show(value)} is not allowed here; arrays are allowed in step_time, in training_memory and in "
                "prepare(setup)(batch, sequence) of one device"
            )


def _require_links(link: object, network: object, network_gbit: object) -> None:
    from engine.hardware.cluster import inside_link, network_link

    if link is not None:
        inside_link(link)
    network_link(network, network_gbit)


def default_precision(chip: Accelerator, framework: Framework | None = None) -> str:
    """Autocast in the chip's 16-bit format, bf16 if it has both, fp32 if it has none; Megatron's own under megatron."""
    short = chip.short_format
    if short is None:
        return "fp32"
    if framework is not None and framework.by_hand:
        return "megatron" if short == "bf16" else "mixed"
    return f"amp-{short}"


def _execution(framework: str) -> Execution:
    return "compiled" if framework == "megatron" else "eager"


def _update(framework: Framework) -> str:
    if framework.compiled:
        return "fused"
    return "foreach" if framework.backend == "cuda" else "for-loop"
