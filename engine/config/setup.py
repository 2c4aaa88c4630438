"""Setups: everything that one configuration of a training job says, from names, checked once and hashable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.config.layout import Layout, stages
from engine.config.optimizers import Optimizer
from engine.config.optimizers import optimizer as optimizer_by_name
from engine.config.recipe import Recipe, recipe
from engine.core.errors import EngineError, require_positive
from engine.core.units import Count, Ratio
from engine.graph.blocks import Attention, Framework
from engine.hardware.accelerators import Accelerator
from engine.hardware.accelerators import accelerator as accelerator_by_name
from engine.models.transformer import Transformer
from engine.models.transformer import model as model_by_name
from engine.numerics.precision import Precision
from engine.numerics.precision import precision as precision_by_name

if TYPE_CHECKING:  # A single device needs neither, and starts sooner without.
    from engine.hardware.cluster import Cluster
    from engine.hardware.links import Link


@dataclass(frozen=True, slots=True)
class Setup:
    """One configuration, with every name resolved.

    Attributes:
        model: The transformer.
        chip: The accelerator.
        batch: Sequences in a micro-batch of one replica.
        sequence: Tokens in a sequence.
        precision: The precision mode.
        optimizer: The optimizer.
        attention: `"flash"` or `"standard"`.
        dropout: Probability of dropout.
        recipe: Checkpointing, loss, accumulation, offloading and the kind of update. Its `accumulate` counts all
            micro-batches of a step, those of the pipeline included.
        framework: Whose operation list and kernels, `"torch"` (eager) or `"megatron"` (fused).
        layout: How the job's devices divide the work.
        cluster: The devices and their links; None for a single device.
    """

    model: Transformer
    chip: Accelerator
    batch: Count
    sequence: Count
    precision: Precision
    optimizer: Optimizer
    attention: Attention
    dropout: Ratio
    recipe: Recipe
    framework: Framework
    layout: Layout
    cluster: Cluster | None

    @property
    def fused(self) -> bool:
        """Whether chains of operations without products run as one kernel, and the host issues compiled code."""
        return self.framework == "megatron"

    @property
    def micro_batches(self) -> Count:
        """Micro-batches of one replica per optimizer step."""
        return self.recipe.accumulate

    @property
    def replicas(self) -> Count:
        """Replicas that see different sequences."""
        return self.layout.data

    @property
    def host_link(self) -> Link | None:
        """The link between a device and its host's memory, or None for a chip that shares it or has none on record."""
        from engine.hardware.links import link

        return next((entry for name in self.chip.links if (entry := link(name)).scope == "host"), None)


def setup(
    model: str | Transformer,
    gpu: str | Accelerator,
    *,
    batch: Count = 1,
    sequence: Count | None = None,
    precision: str | Precision | None = None,
    optimizer: str | Optimizer = "adamw",
    attention: Attention = "flash",
    checkpointing: str = "none",
    loss: str = "full",
    dropout: Ratio = 0.0,
    accumulate: Count = 1,
    optimizer_in_backward: bool = False,
    offload: str = "none",
    update: str | None = None,
    framework: Framework = "torch",
    dp: Count = 1,
    tp: Count = 1,
    pp: Count = 1,
    sequence_parallel: bool = False,
    zero: Any = 0,
    micro_batches: Count = 1,
    interleave: Count = 1,
    node_size: Count = 8,
    link: str | None = None,
    network: str = "infiniband-ndr",
) -> Setup:
    """A configuration from names. The arguments are those of the command line.

    Args:
        model: A name from `list_models()` or a `Transformer`.
        gpu: A name from `list_accelerators()` or an `Accelerator`.
        batch: Sequences in a micro-batch of one replica.
        sequence: Tokens in a sequence; the model's longest when None.
        precision: A name from `list_precisions()`; autocast in the chip's 16-bit format when None.
        optimizer: A name from `list_optimizers()`.
        attention: `"flash"` or `"standard"`.
        checkpointing: `"none"`, `"selective"`, `"full"` or `"every:K"`.
        loss: `"full"` or `"chunked:K"`.
        dropout: Probability of dropout.
        accumulate: Times that a step repeats its micro-batches before the update.
        optimizer_in_backward: Update each parameter as soon as its gradient is known.
        offload: What lives in host memory: `"none"`, `"optimizer"` or `"gradients"` (both).
        update: `"foreach"`, `"for-loop"` or `"fused"`; the framework's default when None.
        framework: `"torch"` or `"megatron"`.
        dp: Replicas.
        tp: Devices that share every matrix.
        pp: Pipeline stages.
        sequence_parallel: Whether norms and residuals are divided along the sequence.
        zero: What the replicas divide, 0 to 3.
        micro_batches: Micro-batches of one replica in flight per pass through the pipeline.
        interleave: Model chunks per pipeline stage.
        node_size: Devices per node.
        link: Name of the link inside a node; the chip's fastest when None.
        network: Name of the link between nodes.

    Raises:
        EngineError: An unknown name, a value out of range, or choices that exclude each other.
    """
    transformer = model_by_name(model) if isinstance(model, str) else model
    chip = accelerator_by_name(gpu) if isinstance(gpu, str) else gpu
    for what, value in (("batch", batch), ("accumulate", accumulate), ("micro_batches", micro_batches)):
        require_positive(what, value)
    sequence = _sequence(transformer, sequence)
    mode = precision_by_name(precision or default_precision(chip))
    require_formats(chip, mode)
    layout = Layout(dp, tp, pp, sequence_parallel, zero, micro_batches * accumulate, interleave)
    stages(transformer, layout)
    require_positive("node_size", node_size)
    made = Setup(
        model=transformer,
        chip=chip,
        batch=batch,
        sequence=sequence,
        precision=mode,
        optimizer=optimizer_by_name(optimizer),
        attention=attention,
        dropout=dropout,
        recipe=recipe(
            checkpointing,
            loss,
            micro_batches * accumulate,
            optimizer_in_backward,
            offload,
            update or ("fused" if framework == "megatron" else "foreach"),
        ),
        framework=framework,
        layout=layout,
        cluster=joined(chip, node_size, link, network) if layout.devices > 1 else None,
    )
    if made.recipe.offload != "none" and made.host_link is None:
        raise EngineError(f"offload {offload!r} is not allowed on {chip.name}, which has no link to a host on record")
    return made


def joined(chip: Accelerator, node_size: Count, link: str | None, network: str) -> Cluster:
    """Nodes of a chip, joined by links given by name. Raises `EngineError` for an unknown one."""
    from engine.hardware.cluster import cluster

    return cluster(chip, node_size=node_size, inside=link, network=network)


def _sequence(model: Transformer, sequence: Count | None) -> Count:
    if sequence is None:
        return model.max_seq
    require_positive("sequence", sequence)
    if model.position == "learned" and sequence > model.max_seq:
        raise EngineError(f"sequence {sequence} is too long; {model.name} allows at most {model.max_seq}")
    return sequence


def default_precision(chip: Accelerator) -> str:
    """Autocast in the chip's 16-bit format, bf16 if it has both, or fp32 if it has none."""
    formats = {peak.dtype for peak in chip.peaks}
    return next((f"amp-{name}" for name in ("bf16", "fp16") if name in formats), "fp32")


def require_formats(chip: Accelerator, mode: Precision) -> None:
    """Refuse a chip that lacks the format of the products, or the fp32 in which everything else is computed."""
    formats = {peak.dtype for peak in chip.peaks if peak.accumulate == "fp32"}
    if "fp32" not in formats:
        raise EngineError(f"gpu {chip.name!r} cannot be timed: no fp32 rate of it is published")
    if mode.compute.name not in formats:
        raise EngineError(
            f"precision {mode.name!r} is not allowed on {chip.name}, which has no {mode.compute.name}; "
            f"its formats: {', '.join(sorted(formats))}"
        )
