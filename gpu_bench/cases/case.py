"""What a case is: frozen data that says everything which can move a number. Nothing here imports PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Any, ClassVar, Literal

from gpu_bench.record import rules
from gpu_bench.record.rules import Amount, Bytes, Count, Duration, Rule, Slug, Steps, Tokens, Whole

ModelName = Literal["pico", "nano", "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl"]
Precision = Literal["fp32", "tf32", "amp-bf16", "bf16-master", "bf16-rounded", "fp8", "fp8-master"]
"""amp = autocast over FP32 parameters; bf16-master = parameters and gradients in BF16, beside an FP32 copy of the
parameters and FP32 state; bf16-rounded = the same without the copy, each update rounded up or down at random; fp8 and
fp8-master = amp-bf16 and bf16-master with the products of the blocks' linear layers in 8 bit."""
NARROW = ("bf16-master", "bf16-rounded", "fp8-master")
"""Precisions whose BF16 weights the optimizer makes from FP32 ones."""
OptimizerName = Literal["sgd", "momentum", "adam", "adamw", "adamw-8bit"]
Attention = Literal["flash", "standard"]
AttentionKernel = Literal["auto", "flash", "cudnn"]
Update = Literal["default", "fused", "flat"]
Compile = Literal["none", "default", "split-k"]
Region = Literal["model", "block"]
Residual = Literal["as-is", "bf16"]
Epilogues = Literal["plain", "fused"]
Scaling = Literal["dynamic", "delayed", "delayed-fast"]
Implementation = Literal["own", "transformers", "torchao", "liger"]
Allocator = Literal["default", "expandable"]
Device = Literal["any", "cuda"]
SHORTEST_ENERGY_S = 30.0
"""NVML's energy counter is refreshed about ten times a second, and power needs seconds to settle."""

Checkpointing = Literal["none", "selective", "full"]
LossForm = Annotated[str, Rule(pattern="full|chunked:[1-9][0-9]{0,5}")]
_FUSED = ("sgd", "momentum", "adam", "adamw")
"""Optimizers whose whole update PyTorch has as one kernel."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """What the runner needs to know of any case."""

    __pydantic_config__: ClassVar[Any] = {"extra": "forbid"}
    name: Slug  # Unique name; the record's file name starts with it
    kind: str  # What is done with it, a name from `kinds.KINDS`
    # 0 to 100: how much a reader learns from it. Cases of the highest value come first, in case time runs out
    value: Annotated[int, Rule("1", least=0, most=100, unstated=True)] = 50
    reason: Annotated[str, Rule(unstated=True)] = ""  # Why that value
    # The case that it is compared with, if any: the two are measured in the same turns
    against: Annotated[str, Rule(unstated=True)] = ""
    # Whether its first repeat opens a run, to show that the machinery works
    check: Annotated[bool, Rule(unstated=True)] = False
    # Fresh processes. The repeats of different cases are interleaved, so that a slow drift hits all alike
    repeats: Count = 3
    device: Device = "any"  # What the case needs
    devices: Annotated[int, Rule("1", least=1, most=100_000)] = 1  # How many devices it occupies
    minimum_memory: Bytes = 0  # Memory in bytes of one device below which the case is not attempted
    # Seconds that one repeat may take before it is ended
    time_limit_s: Annotated[float, Rule("s", above=0, most=10**6)] = 120.0
    seed: Whole = 1234  # Seed of the random numbers

    def __post_init__(self) -> None:
        hints = {name: hint for name, (_, hint) in rules.hints(type(self)).items() if rules.stated(hint)}
        if found := [fault for name, hint in hints.items() for fault in rules.faults(hint, getattr(self, name), name)]:
            raise ValueError(found[0].removeprefix("at "))

    @property
    def extent(self) -> str:
        """How much it does, for the list of cases."""
        return self.kind

    def as_dict(self) -> dict[str, Any]:
        """The case as plain data, as it stands in a record: without value and reason, which are of the plan only."""
        named = {name: getattr(self, name) for name, (_, hint) in rules.hints(type(self)).items() if rules.stated(hint)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in named.items()}


@dataclass(frozen=True, kw_only=True)
class TrainingCase(Case):
    """One configuration to train and measure."""

    kind: Literal["training"] = "training"
    model: ModelName  # A size from `gpt2.SIZES`
    precision: Precision
    optimizer: OptimizerName
    learning_rate: Annotated[float, Rule("1", least=0, most=1000)]
    batch: Count  # Sequences of one forward and backward pass
    sequence: Tokens  # Tokens per sequence
    # Which form, and so which tensors are kept: `flash` is fused, `standard` materializes the scores
    attention: Attention = "flash"
    attention_kernel: AttentionKernel = "auto"  # Whose fused kernel; `auto` is PyTorch's choice
    dropout: Amount = 0.0
    # Largest global norm of the gradients; None where they are not clipped
    clip_norm: Annotated[float, Rule("1", above=0)] | None = 1.0
    # Implementation of the optimizer's step; `default` is PyTorch's choice, `flat` ours: a few long vectors, clipped,
    # updated and rounded by one kernel each
    update: Update = "default"
    # The vocabulary is padded to a multiple of this: rows that never occur, so that the head's product fills whole
    # tiles
    vocab_multiple: Count = 1
    # Mode of `torch.compile` over model and loss together. `split-k` tries many kernels for each product, also those
    # that divide the summed dimension
    compile: Compile = "none"
    # What is compiled as one: the model with its loss, or each block, and head and loss. All blocks share what is
    # compiled for the first, so that 48 take no longer than one
    compile_region: Region = "model"
    step_graph: bool = False  # Whether the whole step, update included, is replayed as one CUDA graph
    # Format of the stream between blocks: that of the weights, or BF16 where it would be FP32
    residual: Residual = "as-is"
    # Whether products also compute GELU, its gradient and the gradients of biases (`fused`), or kernels of their own
    # do. A product that is not right or not faster on the device runs without; the record says which
    epilogues: Epilogues = "plain"
    # Where the scales of an FP8 precision come from: `dynamic`, the tensor itself, in layers of `torchao`; `delayed`,
    # earlier steps, in ours; `delayed-fast` also adds up gradients' products in fewer bits
    scaling: Scaling = "dynamic"
    # Whose model: ours, or that of the package `transformers`; or ours with FP8 layers or 8-bit AdamW of `torchao`, or
    # with head and loss of Liger
    implementation: Implementation = "own"
    # How PyTorch asks a GPU for memory: `expandable` segments grow, so that little is lost between them
    allocator: Allocator = "default"
    # Steps between two losses on text that is not trained on; 0 is no such loss
    validate_every: Annotated[int, Rule("step", least=0)] = 0
    # What the blocks compute again in the backward pass, see `measure/techniques/checkpointing.py`
    checkpointing: Checkpointing = "none"
    accumulate: Count = 1  # Forward and backward passes per step
    loss: LossForm = "full"  # `full`, or `chunked:K` to compute logits and loss in K pieces of the sequence
    optimizer_in_backward: bool = False  # Whether each parameter is updated as soon as its gradient is known
    # Training steps before the clock starts; more follow, up to four times as many, until times are steady
    warmup: Steps = 5
    # Seconds of training before the clock starts, counted from the last step that compiled anything
    warm_s: Duration = 0.0
    # Whether times must become steady: False where a case is about bytes or losses, and not about time
    steady: bool = True
    steps: Steps = 20  # Timed training steps in each repeat
    # Seconds of timed training in each repeat, if that is more than `steps`; fewer once the median is known within half
    # a percent
    timed_s: Duration = 0.0
    # Seconds over which the first repeat measures energy, after the timed steps; 0 is not at all
    energy_s: Duration = 0.0
    memory_limit: Bytes = 0  # Bytes the process may use of the device, as an emulation of a smaller card; 0 is all

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.optimizer_in_backward and self.accumulate > 1:
            raise ValueError(f"accumulate is {self.accumulate}; allowed with optimizer_in_backward: 1")
        if self.optimizer_in_backward and self.clip_norm is not None:
            raise ValueError("clip_norm needs all gradients at once; allowed with optimizer_in_backward: None")
        if self.attention == "standard" and self.attention_kernel != "auto":
            raise ValueError(f"attention_kernel is {self.attention_kernel!r}; allowed with standard attention: auto")
        if self.update == "fused" and self.optimizer not in _FUSED:
            raise ValueError(f"update is 'fused' with optimizer {self.optimizer!r}; allowed: {', '.join(_FUSED)}")
        whose = "default" if self.implementation == "torchao" else "flat"
        if self.optimizer == "adamw-8bit" and self.update != whose:
            raise ValueError(f"update is {self.update!r} with optimizer 'adamw-8bit'; allowed: flat, or default with "
                             "implementation torchao")  # fmt: skip
        if self.update == "flat" and self.optimizer not in ("adamw", "adamw-8bit"):
            raise ValueError(f"update is 'flat' with optimizer {self.optimizer!r}; allowed: adamw, adamw-8bit")
        if self.precision in NARROW and self.update != "flat":
            raise ValueError(f"update is {self.update!r} with precision {self.precision!r}; allowed: flat")
        if self.compile_region == "block" and self.compile == "none":
            raise ValueError("compile_region is 'block' with compile 'none'; allowed: model")
        self._check_epilogues()
        self._check_scaling()
        self._check_implementation()
        if self.validate_every and self.compile != "none":
            raise ValueError("validate_every compiles a second time what is compiled; allowed with it: compile none")
        if self.validate_every and self.steps % self.validate_every:
            raise ValueError(f"validate_every is {self.validate_every}; allowed: 0, or a divisor of {self.steps} steps")

    def _check_epilogues(self) -> None:
        if self.epilogues == "plain":
            return
        if self.precision not in ("bf16-master", "bf16-rounded"):
            raise ValueError(
                f"epilogues is 'fused' with precision {self.precision!r}; allowed: bf16-master, bf16-rounded"
            )
        if self.implementation != "own":
            raise ValueError(f"epilogues is 'fused' with implementation {self.implementation!r}; allowed: own")

    def _check_implementation(self) -> None:
        found = (self.precision, self.compile_region, self.checkpointing, self.loss, self.residual)
        ours = ("model", "none", "full", "as-is")
        if self.implementation == "transformers" and (found[0].startswith("fp8") or found[1:] != ours):
            raise ValueError("implementation is 'transformers', whose inside is its own; allowed with it: no fp8, "
                             "compile_region model, checkpointing none, loss full, residual as-is")  # fmt: skip
        layers, state = self.precision == "fp8" and self.scaling == "dynamic", self.optimizer == "adamw-8bit"
        if self.implementation == "torchao" and not (layers or (state and not self.precision.startswith("fp8"))):
            raise ValueError("implementation is 'torchao'; allowed with it: precision fp8 with scaling dynamic, or "
                             "optimizer adamw-8bit with a precision that is not fp8")  # fmt: skip
        if self.implementation == "torchao" and state and self.compile == "none":
            raise ValueError("compile is 'none' with torchao's adamw-8bit, which compiles its own update; "
                             "allowed: any other")  # fmt: skip
        if self.implementation == "liger" and (self.precision != "amp-bf16" or self.loss != "full"):
            raise ValueError("implementation is 'liger'; allowed with it: precision amp-bf16, loss full")

    def _check_scaling(self) -> None:
        eight = self.precision.startswith("fp8")
        if eight and self.compile != "none" and self.compile_region == "model":
            raise ValueError("compile_region is 'model' with compiled FP8, which is checked block by block before it "
                             "is timed; allowed: block")  # fmt: skip
        if self.scaling == "dynamic":
            if eight and self.implementation != "torchao":
                raise ValueError("scaling is 'dynamic' in our own FP8 layers; allowed: delayed, delayed-fast")
            return
        if not eight:
            raise ValueError(f"scaling is {self.scaling!r} with precision {self.precision!r}; allowed: dynamic")
        if self.optimizer_in_backward or self.checkpointing != "none":
            raise ValueError(
                f"precision is {self.precision!r} with optimizer_in_backward or checkpointing; allowed: any without fp8"
            )

    @property
    def extent(self) -> str:
        """Batch and sequence."""
        passes = f"{self.accumulate} x " if self.accumulate > 1 else ""
        return f"batch {passes}{self.batch} x {self.sequence} tokens"

    @property
    def tokens_per_step(self) -> int:
        """Tokens whose loss is back-propagated in one step."""
        return self.batch * self.sequence * self.accumulate

    @property
    def loss_chunks(self) -> int:
        """Pieces into which head and loss are cut."""
        return 1 if self.loss == "full" else int(self.loss.partition(":")[2])


def case_of(kind: type[Case], data: Mapping[str, Any]) -> Case:
    """A case of a kind from plain data, the inverse of `Case.as_dict`. Raises `ValueError` on a wrong field."""
    known = {one.name for one in fields(kind)}
    unknown = sorted(set(data) - known)
    if unknown:
        raise ValueError(f"unknown field {unknown[0]!r}; allowed: {', '.join(sorted(known))}")
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in data.items()}
    try:
        return kind(**given)
    except TypeError as error:
        raise ValueError(str(error)) from error
