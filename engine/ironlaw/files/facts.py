"""What a file of somebody's run says: the settings and the measurements that were understood, and nothing else of it.

Facts are numbers and names that the engine knows. No text of a file is kept: its paths and keys never leave `read`. Of
a model that the engine does not know its name on the hub is told back (`Reading.missing`), and of a command the names
of options that were not understood, never their values. Both go no further.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from ironlaw.core.errors import EngineError
from ironlaw.core.units import Bytes, Count, Ratio, Seconds

Kind = Literal[
    "config.json", "axolotl", "LLaMA-Factory", "TRL", "Trainer", "DeepSpeed", "accelerate", "command",
    "out of memory", "nvidia-smi", "log", "safetensors", "name", "DeepSpeed's table", "nanoGPT",
]  # fmt: skip
Method = Literal["full", "freeze", "lora", "dora", "qlora"]
Stage = Literal["pretrain", "sft", "dpo", "kto", "reward", "ppo", "grpo"]
Format = Literal["fp32", "bf16", "fp16", "fp8", "int8", "nf4", "auto", "auto-fp32"]
FORMATS: Mapping[str, Format] = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
"""By PyTorch's names."""
"""`auto` is BF16 on a card that has it, and elsewhere FP16, or FP32 where a file refuses FP16."""
AUTO = ("auto", "auto-fp32")
"""Formats that are the card's."""
Attention = Literal["eager", "sdpa", "flash"]
SMALLEST = 1e-9
"""Nothing that runs measure is smaller and more than zero, in seconds, tokens a second or GiB."""
FAR = 0.03
"""A share of memory by which two cards differ."""
OVERRIDDEN = "It names a file with the script's settings: add that file too."
"""Said of a command whose options count before those of that file."""
DIVIDES = "which says what is divided: add that file too."
"""How a sentence ends on a file that is named and not there, and that says what devices divide."""
ADD = ("add that file too.", "add its file.")
"""How sentences end on a file that is not there and says what is trained or how."""

STRANGE = "is no model that the planner knows by name"
"""Said behind the name that a file gives its model."""
NOT_UNDERSTOOD = "Not understood of the"
"""How a sentence begins on options of a command, and keys of a file, that may change memory or time."""
UNREAD = "A part of the text was not read"
"""How a sentence begins on what stands in a paste beside what was read."""
MAYBE_ALONE = "By its keys it is DPO's, and a reference is counted; ORPO and SimPO have none: add the command too."
"""Said of a file whose keys trainers with and without a reference have."""
ASIDE = "it says nothing of a training"
"""Said of a file that lies beside a model's configuration."""
UNKNOWN = "this text is of no known kind"
"""Said of such a part that sets nothing either."""


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Settings of a run, as far as a file says them; None is not said.

    Attributes:
        model: A name from `list_models()`.
        gpu: A name from `list_accelerators()`.
        gpu_memory: Memory of the GPU as its driver counts it.
        devices: GPUs of the whole job.
        nodes: Machines.
        micro_batch: Sequences of one device's forward pass.
        accumulate: Forward passes before an update.
        accumulate_all: Those of all replicas together, of which each does its part (nanoGPT).
        global_batch: Sequences of an update, of all devices.
        sequence: Tokens to which sequences are cut or packed.
        packing: Whether short sequences are joined to full ones.
        stage: What is trained for.
        referenced: Whether a frozen reference answers beside the model where the stage has one.
        rollout: Who generates texts between steps: a rollout of `ironlaw.config.choices`.
        method: Which parameters are trained.
        rank: Of LoRA.
        lora_dropout: The rate of dropout before adapters.
        targets: Modules with an adapter, by their names in the model, or `("all-linear",)`.
        double_quantization: Whether the scales of quantized weights are quantized too.
        fp32_adapters: Whether adapters are kept in FP32.
        weights: Format in which trained weights are kept.
        compute: Format of products.
        unprepared: Whether what is not in 4 bits keeps 16, and is not made FP32.
        sums: Format in which gradients are summed.
        optimizer: A name from `list_optimizers()`.
        update: How the optimizer's step runs: `"fused"`, `"foreach"`.
        attention: Attention's implementation.
        checkpointing: Whether activations are recomputed.
        selective: Whether of them only attention is.
        reentrant: Whether by PyTorch's older, reentrant implementation.
        fused_loss: Whether logits are never kept whole (Liger, Unsloth, cut cross-entropy).
        fused_norm: Whether every RMSNorm runs as one kernel (Liger).
        compiled: Whether `torch.compile` runs the model.
        zero: What replicas divide, 0 to 3; FSDP's full sharding is 3.
        offload_optimizer: Whether optimizer states live in host memory.
        offload_parameters: Whether parameters do.
        offload_sizes: Sizes of DeepSpeed's buffers as `name:size` with commas between, `auto` where the model's width
            says them; with `double` of its bucket two.
        runtime: `"deepspeed"` or `"fsdp"`, where one of them divides the states.
        tensor: Devices that share every matrix.
        pipeline: Pipeline stages.
        context: Devices that share a sequence.
        expert: Devices that share experts.
        shard: Replicas that divide the states among them, where several such groups hold the same (hybrid sharding).
        copies: Such groups.
        hybrid: Whether every machine is one.
        sequence_parallel: Whether devices that share matrices divide norms and residuals too.
        balanced: Whether embedding and head count as a block each where stages divide a model.
        framework: Whose operations run, where they are not PyTorch's.
        dropout: The rate of hidden states and of attention, where both have one.
        shape: Sizes of the model that a command says, by its options.
        epochs: Passes over the data.
        steps: Updates of the run.
        eval_batch: Sequences of one device's forward pass in evaluation.
        eval_kept: Batches of evaluation whose logits are kept on the device.
        eval_logits: Whether evaluation has the logits whole even where a kernel never keeps them in training.
    """

    model: str | None = None
    gpu: str | None = None
    gpu_memory: Bytes | None = None
    devices: Count | None = None
    nodes: Count | None = None
    micro_batch: Count | None = None
    accumulate: Count | None = None
    accumulate_all: Count | None = None
    global_batch: Count | None = None
    sequence: Count | None = None
    packing: bool | None = None
    stage: Stage | None = None
    referenced: bool | None = None
    rollout: str | None = None
    method: Method | None = None
    rank: Count | None = None
    lora_dropout: Ratio | None = None
    targets: tuple[str, ...] | None = None
    double_quantization: bool | None = None
    fp32_adapters: bool | None = None
    weights: Format | None = None
    compute: Format | None = None
    unprepared: bool | None = None
    sums: Format | None = None
    optimizer: str | None = None
    update: str | None = None
    attention: Attention | None = None
    checkpointing: bool | None = None
    selective: bool | None = None
    reentrant: bool | None = None
    fused_loss: bool | None = None
    fused_norm: bool | None = None
    compiled: bool | None = None
    zero: Count | None = None
    offload_optimizer: bool | None = None
    offload_parameters: bool | None = None
    offload_sizes: str | None = None
    runtime: Literal["deepspeed", "fsdp"] | None = None
    tensor: Count | None = None
    pipeline: Count | None = None
    context: Count | None = None
    expert: Count | None = None
    shard: Count | None = None
    copies: Count | None = None
    hybrid: bool | None = None
    sequence_parallel: bool | None = None
    balanced: bool | None = None
    framework: Literal["megatron"] | None = None
    dropout: Ratio | None = None
    shape: tuple[tuple[str, int], ...] | None = None
    epochs: float | None = None
    steps: Count | None = None
    eval_batch: Count | None = None
    eval_kept: Count | None = None
    eval_logits: bool | None = None

    @property
    def together(self) -> Count:
        """Devices that hold one replica together, as far as it is said."""
        return (self.tensor or 1) * (self.pipeline or 1) * (self.context or 1)

    def said(self) -> dict[str, object]:
        """The facts that are said, by name."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def joined(self, other: Facts) -> Facts:
        """These facts and those of another file.

        Raises:
            EngineError: Both say something else of the same thing.
        """
        mine, theirs = self.said(), other.said()
        for one, another in ((mine, theirs), (theirs, mine)):
            if one.get("compute") in AUTO and "compute" in another:
                del one["compute"]  # what leaves it to the card agrees with what does not
        for name in mine.keys() & theirs.keys():
            # PyTorch counts a little less of a GPU's memory than the driver's table.
            if mine[name] != theirs[name] and not (
                name == "gpu_memory" and abs(self.gpu_memory / other.gpu_memory - 1) < FAR  # type: ignore[operator]
            ):
                why = "as another file says, and it is not read until they agree or one is taken away"
                raise EngineError(name.replace("_", " "), theirs[name], (mine[name],), because=why)
        return replace(self, **theirs)  # type: ignore[arg-type]

    def without(self, names: Collection[str]) -> Facts:
        """The facts but those of these names."""
        return Facts(**{name: value for name, value in self.said().items() if name not in names})  # type: ignore[arg-type]

    def completed(self, other: Facts) -> Facts:
        """These facts, and of another's those of which these say nothing."""
        mine = self.said()
        return replace(self, **{name: value for name, value in other.said().items() if name not in mine})  # type: ignore[arg-type]


@dataclass(frozen=True, kw_only=True)
class Observed:
    """What a log or a message says was measured; None is not said.

    Attributes:
        program: Whose lines they are.
        step_s: Seconds of an update, or of a forward and backward pass where the program prints these; the median.
        samples_per_step: Samples of an update, of the whole job.
        tokens_per_s: Tokens a second, of the whole job.
        tokens_per_s_device: Tokens a second of one GPU.
        mfu: Utilization as the program counts it.
        allocated: Largest memory that PyTorch allocated.
        reserved: Largest memory that PyTorch reserved.
        process: Memory that the driver counts.
        asked: Memory that an allocation asked for in vain.
        free: Memory that was free on the device then.
        in_use: Memory of the device that all programs together had then.
        lines: Lines with a time that were read.
    """

    program: str
    step_s: Seconds | None = None
    samples_per_step: Count | None = None
    tokens_per_s: float | None = None
    tokens_per_s_device: float | None = None
    mfu: Ratio | None = None
    allocated: Bytes | None = None
    reserved: Bytes | None = None
    process: Bytes | None = None
    asked: Bytes | None = None
    free: Bytes | None = None
    in_use: Bytes | None = None
    lines: Count = 0


@dataclass(frozen=True)
class Reading:
    """What was understood of one text.

    Attributes:
        kind: What it is.
        facts: Its settings, and what its program does where it is silent.
        measured: Its measurements, if it has any.
        keys: For a fact, the key that says it, so that a change can be written back.
        silent: Names of the facts that it does not say: its program's defaults. Another file that says them is right.
        missing: What it leaves to another file or to the reader, in sentences.
        config: A model's `config.json`, when the text is one.
        tensors: Shapes of a checkpoint's tensors by name, when it is the header of a safetensors file.
        called: The name that it gives its model, if it may be told.
        uncounted: What it says was on, changes memory or time and is not counted; each with the word of a setup that it
            answers.
    """

    kind: Kind
    facts: Facts = Facts()
    measured: Observed | None = None
    keys: Mapping[str, str] = field(default_factory=dict)
    silent: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()
    config: Mapping[str, object] | None = None
    tensors: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    called: str = ""
    uncounted: Mapping[str, str] = field(default_factory=dict)
