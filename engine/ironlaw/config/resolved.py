"""A setup with every name resolved: what every question to the engine is asked of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from ironlaw.config.choices import Attention, Evaluation, Framework, Loss, Rollout, Update
from ironlaw.config.layout import Layout, Stage, stages
from ironlaw.config.optimizers import Optimizer
from ironlaw.core.errors import EngineError
from ironlaw.core.units import Count, Ratio
from ironlaw.graph.adaptation import FULL, Adaptation
from ironlaw.graph.blocks import sections
from ironlaw.graph.checkpointing import Checkpointing
from ironlaw.graph.ir import Section
from ironlaw.hardware.accelerators import Accelerator
from ironlaw.models.transformer import Transformer
from ironlaw.numerics.dtypes import DType
from ironlaw.numerics.precision import Precision

if TYPE_CHECKING:  # Imported only for several devices, so that a single one starts sooner.
    from ironlaw.hardware.cluster import Cluster
    from ironlaw.hardware.links import Link


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
        dropout: Probability of dropout; None where the model's configuration has several.
        checkpointing: What blocks recompute in the backward pass.
        loss: How head and loss are computed.
        update: How the optimizer's step runs, and where its states live.
        framework: Whose operation list and kernels.
        layout: How the job's devices divide the work. Its `micro_batches` are all of a step, accumulated ones too.
        cluster: The devices and their links; None for a single device.
        adaptation: What is trained: everything, parts, or adapters.
        evaluation: How it is evaluated, where somebody says so: then its peak is one of the memory's.
        reference: The format of a frozen copy of the model that runs forward beside it, as in DPO; None without one.
        reference_passes: Its forward passes for each of the model's own, and those of the model from which it does not
            learn, as KTO's of mismatched examples.
        rollout: Who generates texts between steps, as in GRPO; None where nobody does.
    """

    model: Transformer
    chip: Accelerator
    data: DataShape
    precision: Precision
    optimizer: Optimizer
    attention: Attention
    dropout: Ratio | None
    checkpointing: Checkpointing
    loss: Loss
    update: Update
    framework: Framework
    layout: Layout
    cluster: Cluster | None
    adaptation: Adaptation = FULL
    evaluation: Evaluation | None = None
    reference: DType | None = None
    reference_passes: Count = 0
    rollout: Rollout | None = None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # A setup is the key of several caches; the generated hash would walk all its parts each time.
        require_no_arrays(self)
        named = (self.model, self.chip.name, self.precision.name, self.optimizer.name)
        chosen = (
            self.attention,
            self.dropout,
            self.checkpointing,
            self.loss,
            self.update,
            self.framework,
            self.adaptation,
        )
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
    def own_sequence(self) -> Count:
        """Tokens of a sequence that one device has."""
        return self.own(self.data.sequence)

    def own(self, sequence: Count) -> Count:
        """Tokens that one device has of a sequence of any length, a multiple of twice the devices that share it."""
        context = self.layout.context
        return sequence if context == 1 else sequence // context

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
        from ironlaw.hardware.links import link

        return next((entry for name in self.chip.links if (entry := link(name)).scope == "host"), None)

    @property
    def base(self) -> Precision:
        """The formats of the model's own parameters: those of the precision, but for what is frozen beside adapters."""
        return self.adaptation.around(self.precision)

    @property
    def trained_weights(self) -> DType:
        """The format of the weights that are trained."""
        adaptation, precision = self.adaptation, self.precision
        return adaptation.trained_format(precision) if adaptation.has_adapters else precision.weights

    @property
    def gradients(self) -> DType:
        """The format of gradients: of the adapters where there are any."""
        adaptation, precision = self.adaptation, self.precision
        return adaptation.trained_format(precision) if adaptation.has_adapters else precision.gradients

    @property
    def states(self) -> DType:
        """The format of the optimizer's full states."""
        adaptation, precision = self.adaptation, self.precision
        own = adaptation.has_adapters and precision.master is None
        return adaptation.trained_format(precision) if own else precision.states

    @property
    def fully_sharded(self) -> bool:
        """Whether PyTorch divides the parameters among the replicas."""
        return self.layout.peers > 1 and self.layout.zero == 3 and not (self.framework.by_hand or self.update.buffers)

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
        return self if self._is_anywhere else self._anywhere

    @cached_property
    def _anywhere(self) -> Setup:
        return self.at(1, 1)

    @property
    def _is_anywhere(self) -> bool:
        data = self.data  # which may be arrays, and these have no one answer
        return type(data.batch) is type(data.sequence) is int and data.batch == data.sequence == 1

    @property
    def replica(self) -> Setup:
        """One replica by itself at one micro-batch of any size: every replica holds and runs the same for each."""
        alone = self.layout.data == self.layout.micro_batches == 1 and not self.layout.zero
        return self if alone and self.cluster is None and self._is_anywhere else self._replica

    @cached_property
    def _replica(self) -> Setup:
        layout = replace(self.layout, data=1, zero=0, micro_batches=1)
        return replace(self, data=DataShape(1, 1), layout=layout, cluster=None)

    @cached_property
    def whole(self) -> Setup:
        """The same model on one device, undivided."""
        layout = replace(
            self.layout,
            data=1,
            tensor=1,
            pipeline=1,
            context=1,
            expert=1,
            imbalance=1.0,
            sequence_parallel=False,
            zero=0,
            interleave=1,
            balanced=False,
        )
        return replace(self, layout=layout, cluster=None)


def stage_sections(c: Setup, stage: Stage) -> tuple[Section, ...]:
    """The operations of a forward pass that a pipeline stage runs: blocks, and embedding, norm and head if it has them.

    Args:
        c: The setup.
        stage: One of its stages.
    """
    return _stage_sections(c.replica, stage.at_rest)


@lru_cache(maxsize=1024)
def _stage_sections(c: Setup, stage: Stage) -> tuple[Section, ...]:
    parts = _sections(c, stage.model)
    if not c.adaptation.everything:
        return tuple(_of_stage(stage, parts))
    equal = len(stage.model.kinds) == 1  # layers of several kinds are all on one stage
    return tuple(
        replace(part, count=stage.blocks) if equal and part.name == "block" else part
        for part in parts
        if _holds(stage, part)
    )


def alike(c: Setup, stage: Stage) -> Stage:
    """The earliest stage that holds and runs the same for a micro-batch: it may begin where blocks trained alike do.

    Args:
        c: The setup.
        stage: One of its stages.
    """
    stage = stage.at_rest
    if c.adaptation.everything:
        return replace(stage, start=0)
    first = 0
    for part in _sections(c, stage.model):
        if part.name == "block":
            if first <= stage.start and stage.layers.stop <= first + part.count:
                return replace(stage, start=first)
            first += part.count
    return stage


def _sections(c: Setup, model: Transformer) -> tuple[Section, ...]:
    """The forward pass of a whole tensor shard."""
    return sections(
        model,
        c.precision,
        c.attention.kernel,
        c.dropout,
        c.framework.kernels,
        c.framework.name,
        c.layout.sequence_shards,
        adaptation=c.adaptation,
        loss=c.loss.form,
        logits=c.loss.logits,
        # Without one, the older checkpoints have no gradients at all; those who offload see to it too.
        input_gradient=c.checkpointing.reentrant or c.checkpointing.away,
        context=c.layout.context,
    )


def _of_stage(stage: Stage, parts: tuple[Section, ...]) -> Iterator[Section]:
    """The runs of blocks that a stage has of a whole model's, and what else it holds."""
    layer = 0
    for part in parts:
        if part.name == "block":
            first, layer = layer, layer + part.count
            count = len(range(max(first, stage.layers.start), min(layer, stage.layers.stop)))
            if count:
                yield replace(part, count=count)
        elif _holds(stage, part):
            yield part


def _holds(stage: Stage, part: Section) -> bool:
    return part.name == "block" or (stage.first if part.name == "embedding" else stage.last)


def require_no_arrays(c: Setup) -> None:
    """Refuse a setup whose batch or sequence is an array, for questions that have one answer."""
    for what, value in (("batch", c.data.batch), ("sequence", c.data.sequence)):
        if hasattr(value, "shape"):
            raise EngineError(
                what,
                value,
                "a whole number here: arrays are allowed in step_time, in training_memory and in "
                "prepare(setup)(batch, sequence) of one device",
            )
