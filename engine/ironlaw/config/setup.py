"""`setup`: everything that says how somebody trains, from names, checked once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ironlaw.config.checks import require_gradients_kept, require_possible
from ironlaw.config.choices import LOSSES, Attention, Buffers, Framework, Loss
from ironlaw.config.choices import attention as attention_by_name
from ironlaw.config.choices import evaluation as evaluation_by_words
from ironlaw.config.choices import framework as framework_by_name
from ironlaw.config.choices import loss as loss_by_name
from ironlaw.config.choices import rollout as rollout_by_text
from ironlaw.config.choices import update as update_by_name
from ironlaw.config.layout import Layout
from ironlaw.config.optimizers import Optimizer, list_optimizers
from ironlaw.config.optimizers import optimizer as optimizer_by_name
from ironlaw.config.resolved import DataShape, Setup
from ironlaw.config.words import in_words, part
from ironlaw.core.arrays import probability, whole_numbers
from ironlaw.core.errors import MISSING, EngineError, whole_number
from ironlaw.core.units import Count, Ratio
from ironlaw.graph.checkpointing import POLICIES, Checkpointing
from ironlaw.graph.checkpointing import checkpointing as checkpointing_by_name
from ironlaw.hardware.accelerators import Accelerator, list_accelerators
from ironlaw.hardware.accelerators import accelerator as accelerator_by_name
from ironlaw.models.transformer import Transformer, list_models
from ironlaw.models.transformer import model as model_by_name
from ironlaw.numerics.dtypes import FP32, dtype
from ironlaw.numerics.precision import Precision, list_precisions
from ironlaw.numerics.precision import precision as precision_by_name

if TYPE_CHECKING:  # Imported only for several devices, so that a single one starts sooner.
    from ironlaw.graph.adaptation import Adaptation
    from ironlaw.hardware.cluster import Cluster

DEFAULT_GPU = "h100-sxm"
"""The accelerator of a question that names none."""
PASSES = tuple("123456789")
REFERENCES = ("none", "16-bit", "fp32", "either of these with its forward passes, as 16-bit:3")
DEFAULT_NETWORK = "infiniband-ndr"
"""The link between nodes of a question that names none."""


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
    dropout: Ratio | None = None,
    accumulate: Count = 1,
    optimizer_in_backward: bool = False,
    offload: str = "none",
    offload_sizes: str | Buffers | None = None,
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
    cp: Count = 1,
    ep: Count = 1,
    imbalance: Ratio = 1.0,
    node_size: Count = 8,
    link: str | None = None,
    network: str = DEFAULT_NETWORK,
    network_gbit: float | None = None,
    method: str | Adaptation = "full",
    lora_rank: Count | None = None,
    lora_targets: str | None = None,
    lora_dropout: Ratio = 0.0,
    dora: bool = False,
    adapter_format: str | None = None,
    base_format: str | None = None,
    double_quantization: bool | None = None,
    quantization_block: Count | None = None,
    frozen: str = "",
    keep_logits: bool = False,
    logits: str | None = None,
    eval_batch: Count | None = None,
    eval_kept: Count = 0,
    eval_logits: bool = False,
    reference: str = "none",
    rollout: str = "none",
) -> Setup:
    """A setup from names. The arguments are those of the command line.

    To ask for many batches or sequences, prepare a setup once and call what comes back, on one device with NumPy
    arrays too: `ironlaw.answers.prepare(setup("gpt2"))(batch, sequence)`.

    Args:
        model: A name from `list_models()` or a `Transformer`.
        gpu: A name from `list_accelerators()` or an `Accelerator`.
        batch: Sequences in a micro-batch of one replica.
        sequence: Tokens in a sequence; the model's longest when None.
        precision: A name from `list_precisions()`; autocast in the chip's 16-bit format when None.
        optimizer: A name from `list_optimizers()`.
        attention: `"flash"` or `"standard"`.
        attention_generation: Of the fused kernel, 1 or 2, or 3 or 4 on the chips that have it on record.
        checkpointing: `"none"`, `"selective"`, `"full"`, `"reentrant"`, these two with `"-offload"`, or
            `"every:K"` (see `ironlaw.graph.checkpointing`).
        loss: `"full"`, `"fused"` for a kernel that writes the gradient over the logits, `"fused-linear"` for Liger's
            that never has them whole, or `"chunked:K"` to compute logits and loss in K pieces of the sequence.
        metrics: Cross-entropies computed from the logits besides the loss.
        dropout: Probability of dropout, wherever the model has it; what its configuration says when None, or none.
        accumulate: Times that a step repeats its micro-batches before the update.
        optimizer_in_backward: Update each parameter as soon as its gradient is known, and free the gradient.
        offload: What lives in host memory: `"none"`, `"optimizer"` (states, master copy), `"gradients"` (these too), or
            `"parameters"` (the weights too, which DeepSpeed fetches block by block), or `"shards"` (the same by FSDP,
            which gathers a block from the devices' hosts).
        offload_sizes: Elements of DeepSpeed's buffers where it offloads gradients or weights or divides by ZeRO-2 or 3,
            as `"bucket:500000000"` (see `ironlaw.config.choices.Buffers`); with offloaded weights its own when None.
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
        zero: What devices with the same parameters divide, 0 to 3.
        micro_batches: Micro-batches of one replica in flight per pass through the pipeline.
        interleave: Model chunks per pipeline stage.
        schedule: `"1f1b"` or `"gpipe"`.
        balanced: Whether embedding and head count as a block each when a pipeline divides the model.
        overlap: Whether data parallelism's collectives run beside the work.
        overlap_tensor: Whether tensor parallelism's do.
        cp: Devices that share every sequence.
        ep: Devices that share the experts, of those that would divide by ZeRO.
        imbalance: Tokens of the fullest of these devices over their mean.
        node_size: Devices per node.
        link: Name of the link inside a node; the chip's fastest when None.
        network: Name of the link between nodes.
        network_gbit: Gbit/s of the network that each device has for itself; the link's own rate when None.
        method: `"full"` trains the model, `"lora"` adapters beside it, `"qlora"` adapters beside matrices in NF4.
        lora_rank: Rank of the adapters; 16 when None.
        lora_targets: `"all-linear"` (when None), or patterns of matrices with commas between, as `"q_proj,v_proj"`.
        lora_dropout: Probability of dropout before the adapters.
        dora: Whether the length of every row is trained too.
        adapter_format: `"fp32"` (when None, as peft) or `"16-bit"`, the format of adapters, gradients and states.
        base_format: `"fp32"` or `"16-bit"`, the format of what is frozen and not quantized. When None the format of the
            products; under autocast with NF4 FP32, as peft prepares a quantized model, unless replicas divide the
            weights.
        double_quantization: Whether NF4's scales are quantized too; they are when None.
        quantization_block: Weights of NF4 that share a scale; 64 when None.
        frozen: Patterns of parameters that are not trained, with commas between, as `"wte,blocks.0.*"`.
        keep_logits: Whether the training loop holds the logits until the backward pass is over.
        logits: What becomes of the logits before the loss: `"16-bit"`, `"fp32"`, these two with `"-shifted"`, or
            `"fp32-shifted-early"` (see `ironlaw.config.choices.Loss`); what the model's code does when None.
        eval_batch: Sequences that a device evaluates at once, between steps; the peak of a training is also that of
            its evaluation where one of these three words is given. The training's batch when None.
        eval_kept: Batches of evaluation whose logits stay on the device, for metrics (`eval_accumulation_steps`).
        eval_logits: Whether evaluation has the logits whole although the training's loss is in pieces.
        reference: `"16-bit"` or `"fp32"`, the format of a frozen model of the same size that every step asks too, as in
            DPO: its weights and a forward pass. Beside adapters it is the model without them. `"none"` has none, and
            `"16-bit:3"` three forward passes from which nothing is learnt, as in KTO.
        rollout: Who generates texts between steps, as in GRPO: the model itself, `"generate"`, all those of a step at
            once; or vLLM on the same device, with `"beside:0.3"` of its memory, and `"asleep:0.3"` while it generates.

    Raises:
        EngineError: An unknown name, a value out of range, or choices that exclude each other.
    """
    transformer = part("model", model, Transformer, list_models(), model_by_name)
    chip = part("gpu", gpu, Accelerator, list_accelerators(), accelerator_by_name)
    sequence = transformer.max_seq if sequence is None else whole_numbers("sequence", sequence)
    accumulate, micro_batches = whole_number("accumulate", accumulate), whole_number("micro_batches", micro_batches)
    require_gradients_kept(optimizer_in_backward, accumulate, micro_batches)
    code = framework_by_name(framework, execution, runtime, backend, accumulation, rms_norm)
    precision = default_precision(chip, code) if precision is None else precision
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
        context=cp,
        expert=ep,
        imbalance=imbalance,
    )
    c = Setup(
        model=transformer,
        chip=chip,
        data=DataShape(whole_numbers("batch", batch), sequence),
        precision=part("precision", precision, Precision, list_precisions(), precision_by_name),
        optimizer=part("optimizer", optimizer, Optimizer, list_optimizers(), optimizer_by_name),
        attention=attention_by_name(attention, attention_generation),
        dropout=_dropout(transformer, code) if dropout is None else probability("dropout", dropout),
        checkpointing=part("checkpointing", checkpointing, Checkpointing, POLICIES, checkpointing_by_name),
        loss=part("loss", loss, Loss, LOSSES, lambda name: loss_by_name(name, metrics, keep_logits, logits)),
        update=update_by_name(update, code, optimizer_in_backward, offload, offload_sizes),
        framework=code,
        layout=layout,
        cluster=_cluster(chip, layout.devices, whole_number("node_size", node_size), link, network, network_gbit),
        evaluation=evaluation_by_words(eval_batch, eval_kept, eval_logits),
        **_reference(reference, chip),
        rollout=rollout_by_text(rollout),
    )
    trained = {
        "lora_rank": lora_rank, "lora_targets": lora_targets, "lora_dropout": lora_dropout or None,
        "dora": dora or None, "adapter_format": adapter_format, "base_format": base_format,
        "double_quantization": double_quantization, "quantization_block": quantization_block, "frozen": frozen or None,
    }  # fmt: skip
    given = {word: value for word, value in trained.items() if value is not None}
    if method != "full" or given:
        from ironlaw.config.adaptations import adaptation

        c = replace(c, adaptation=adaptation(method, c.precision, given, divided=layout.divides_weights))
    require_possible(c)
    return c


def as_setup(asked: Setup | str | Transformer | None, *words: Any, **choices: Any) -> Setup:
    """The setup asked about: itself, or one made of words as `setup` takes them.

    Raises:
        EngineError: As `setup`, nothing to ask about, or words that come with a setup.
    """
    if asked is None and "model" not in choices:
        raise EngineError("model", MISSING, ("a Setup", "a model with which the words of one begin"))
    if not isinstance(asked, Setup):
        return setup(*(() if asked is None else (asked,)), *words, **choices)
    if words or choices:
        # A word without a name is the second of `setup`'s, whose first is the model.
        what, value = ("gpu", words[0]) if words else next(iter(choices.items()))
        raise EngineError(what, value, ("a Setup alone", "the words of one"), {"a Setup": MISSING})
    return asked


def joined(
    chip: Accelerator, node_size: Count, link: str | None, network: str, network_gbit: float | None = None
) -> Cluster:
    """Nodes of a chip, joined by links given by name. Raises `EngineError` for an unknown or unfit one."""
    from ironlaw.hardware.cluster import cluster

    return cluster(chip, node_size=node_size, inside=link, network=network, network_gbit=network_gbit)


def _dropout(m: Transformer, code: Framework) -> Ratio | None:
    """The one rate that a model's configuration says; None where PyTorch's model file has several."""
    if m.dropouts is None:
        return 0.0
    rate = m.dropouts.common(everywhere=code.by_hand)
    if rate is None and code.by_hand:
        raise EngineError("dropout", MISSING, "one number", {"framework": code.name}, "where places differ in it")
    return rate


def _reference(name: str, chip: Accelerator) -> dict[str, Any]:
    """A reference's format, and its forward passes."""
    formats = {"16-bit": dtype(chip.short_format or "bf16"), "fp32": FP32}
    kept, colon, passes = name.partition(":") if isinstance(name, str) else ("", "", "")
    if name == "none":
        return {}
    if kept not in formats or (colon and passes not in PASSES):
        raise EngineError("reference", name, REFERENCES)
    return {"reference": formats[kept], "reference_passes": int(passes or 1)}


def _cluster(
    chip: Accelerator, devices: Count, node_size: Count, link: str | None, network: str, network_gbit: float | None
) -> Cluster | None:
    """The devices and their links. A single device has none, but a link named for it must exist all the same."""
    if devices > 1:
        return joined(chip, node_size, link, network, network_gbit)
    if link is not None or network_gbit is not None or not isinstance(network, str) or network != DEFAULT_NETWORK:
        from ironlaw.hardware.cluster import inside_link, network_link

        if link is not None:
            inside_link(link)
        network_link(network, network_gbit)
    return None


def default_precision(chip: Accelerator, framework: Framework | None = None) -> str:
    """Autocast in the chip's 16-bit format, bf16 if it has both, fp32 if it has none; Megatron's own under megatron."""
    short = chip.short_format
    if short is None:
        return "fp32"
    if framework is not None and framework.by_hand:
        return "megatron" if short == "bf16" else "mixed"
    return f"amp-{short}"
