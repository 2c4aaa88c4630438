"""A setup as settings of the programs that train: `transformers`' and TRL's Trainer, Megatron-LM, DeepSpeed, FSDP.

Each function gives the settings by name, or None where the program has no setting for what the setup asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ironlaw.config.choices import Buffers
from ironlaw.config.layout import Layout
from ironlaw.config.resolved import Setup
from ironlaw.files import cluster_files, values
from ironlaw.hardware.accelerators import Accelerator
from ironlaw.models.layers import Attention, FeedForward

Settings = Mapping[str, Any]

OPTIMIZERS = {
    **{known: name for name, known in reversed([*values.OPTIMIZERS.items()]) if known[0] != "adam"},
    ("adamw", "foreach"): "adamw_torch",
}
"""The engine's optimizer, and how its step runs, by the name that `transformers` gives it."""
FIRST = "FIRST_MACHINE"
"""In the place of the name of one of several machines."""
_DTYPES = {"fp32": "float32", "tf32": "float32", "amp-bf16": "float32", "amp-fp16": "float32", "bf16": "bfloat16",
           "fp16": "float16", "deepspeed": None, "mixed": None,
           "mixed-bf16": None}  # fmt: skip
"""The precisions that a Trainer has, and the format in which it loads weights for them; None leaves it open."""
OF_MEGATRON, AS_MEGATRON = ("megatron", "mixed", "fp32"), ("amp-bf16", "amp-fp16", "fp32")
"""Precisions as which its `--bf16`, `--fp16` and neither are read, and those of PyTorch that compute so."""
_POSITIONS = {"learned": "learned_absolute", "rope": "rope"}
_NORMS = {("layernorm", True): "LayerNorm", ("rmsnorm", False): "RMSNorm"}
"""A model's positions and norms (with a bias or not) as Megatron-LM names them."""
STEPS, RATE = 100, 1e-4
"""Updates and learning rate of a run that tries a plan: Megatron-LM starts with neither left out."""
OF_DEEPSPEED = ("deepspeed", "mixed")
"""Precisions with a master copy, which DeepSpeed keeps."""
DIVIDED = "mixed-bf16"
"""The precision of FSDP's mixed precision, and of DeepSpeed's ZeRO: only where something is divided."""


def uses_deepspeed(c: Setup) -> bool:
    """Whether DeepSpeed divides or offloads what the setup does."""
    own = c.framework.runtime == "deepspeed" or c.precision.name in OF_DEEPSPEED or c.layout.zero == 1
    return own or c.update.buffers is not None


def sizes_buffers(c: Setup) -> bool:
    """Whether DeepSpeed's buffers are not of its usual sizes, which its own file alone can say."""
    return c.update.buffers not in (None, Buffers())


def uses_fsdp(c: Setup) -> bool:
    """Whether PyTorch's FSDP divides what the setup does."""
    return c.layout.peers > 1 and c.layout.zero >= 2 and not uses_deepspeed(c)


def _keeps_its_formats(c: Setup) -> bool:
    """Whether programs that divide keep the formats: with FSDP accelerate makes FP32 shards, gathered in 16 bits."""
    if c.precision.name == DIVIDED:
        return (c.layout.peers > 1 and c.layout.zero > 0) or c.update.buffers is not None
    divides = c.adaptation.everything or (c.layout.zero == 3 and c.adaptation.method == "lora")
    return not (uses_fsdp(c) and divides and c.precision.autocast)


def _prepared(c: Setup) -> bool:
    """Whether what is not in 4 bits is FP32: programs that divide by FSDP leave it in 16."""
    return c.adaptation.quantization is not None and c.precision.autocast and c.adaptation.base == "fp32"


def _said_by_fsdp(c: Setup) -> bool:
    """Whether FSDP's settings can say how devices divide a model.

    What lives in the host's memory is nothing, or what FSDP takes there: all shards, where it divides weights.
    """
    away = "shards" if c.layout.zero == 3 else "optimizer"
    return uses_fsdp(c) and not _prepared(c) and c.update.offload in ("none", away)


def fused_attention(chip: Accelerator) -> str:
    """The implementation that Trainers call for fused attention. FlashAttention 2 is for Ampere and later GPUs.

    These are the ones with BF16 products; earlier ones have PyTorch's own fused kernels.
    """
    return "flash_attention_2" if chip.short_format == "bf16" else "sdpa"


def nodes(c: Setup) -> tuple[int, int]:
    """Machines and devices on each: the fewest equal ones."""
    size = c.cluster.filled(c.devices, c.layout.tensor) if c.cluster else 1
    return c.devices // size, size


def trainer(c: Setup) -> Settings | None:
    """The settings of a Trainer."""
    optimizer = OPTIMIZERS.get((c.optimizer.name, c.update.kind)) or OPTIMIZERS.get((c.optimizer.name, None))
    recompute = c.checkpointing.name in ("none", "full")
    elsewhere = c.framework.by_hand or c.layout.model_parallel or c.update.in_backward or c.reference or c.rollout
    frozen = c.adaptation.frozen and not c.adaptation.has_adapters
    # `dtype` is that of the frozen weights, and adapters are FP32 beside them: 16-bit adapters cannot be said.
    rounded = c.adaptation.has_adapters and c.precision.name in ("bf16", "fp16")
    # Of its own accord it makes what is not in 4 bits FP32, as long as nothing divides it.
    own = (
        c.adaptation.quantization
        and c.precision.autocast
        and c.adaptation.base != "fp32"
        and not (uses_fsdp(c) or c.layout.divides_weights)
    )
    kept = recompute and c.precision.name in _DTYPES and _keeps_its_formats(c)
    if optimizer is None or elsewhere or frozen or rounded or own or not kept:
        return None
    compute = c.precision.compute.name
    # Mixed precision makes FP32 of what FSDP divides.
    pure = uses_fsdp(c) and c.adaptation.everything and c.precision.name in ("bf16", "fp16")
    found: dict[str, Any] = {
        "per_device_train_batch_size": c.batch,
        "gradient_accumulation_steps": c.micro_batches,
        "max_length": c.sequence,
        "bf16": compute == "bf16" and not pure,
        "fp16": compute == "fp16" and not pure,
        "optim": optimizer,
        "gradient_checkpointing": c.checkpointing.kind == "full",
        "attn_implementation": "eager" if c.attention.kernel == "standard" else fused_attention(c.chip),
    }
    if c.loss.in_pieces:
        found["use_liger_kernel"] = True
    if c.framework.compiled:
        found["torch_compile"] = True
    if c.evaluation and c.evaluation.batch:
        found["per_device_eval_batch_size"] = c.evaluation.batch
        if c.evaluation.kept:
            found["eval_accumulation_steps"] = c.evaluation.kept
    dtype = _DTYPES[c.precision.name]
    if c.adaptation.has_adapters and compute != "fp32" and (c.adaptation.quantization or c.adaptation.base != "fp32"):
        # TRL loads in FP32 where nothing is said: frozen weights of twice the size, and products in FP32 over 4 bits.
        dtype = "bfloat16" if compute == "bf16" else "float16"
    if dtype:
        found["dtype"] = dtype
    return found | _adapter(c)


def _adapter(c: Setup) -> dict[str, Any]:
    a = c.adaptation
    if not a.has_adapters:
        return {}
    # Where nothing is said TRL's rate is 0.05.
    found: dict[str, Any] = {"use_peft": True, "lora_r": a.rank, "lora_target_modules": list(a.targets)}
    found["lora_dropout"] = a.dropout
    if a.magnitudes:
        found["use_dora"] = True
    if a.quantization:
        found |= {"load_in_4bit": True, "use_bnb_nested_quant": a.quantization.nested}
    return found


def fsdp(c: Setup) -> Settings | None:
    """Those settings of a Trainer that divide by FSDP."""
    if not _said_by_fsdp(c):
        return None
    away = c.update.offload != "none"
    return {
        "fsdp": " ".join(("full_shard" if c.layout.zero == 3 else "shard_grad_op", "auto_wrap", *(["offload"] * away))),
        "fsdp_config": {"reshard_after_forward": c.layout.zero == 3, "offload_params": away},
    }


def megatron(c: Setup) -> Settings | None:
    """The settings of Megatron-LM, with invented data."""
    if (shape := _shape(c)) is None or not c.adaptation.everything or c.checkpointing.every > 1 or c.layout.zero > 1:
        return None
    if c.dropout is None or c.reference:  # several rates, in other places than its own; two models
        return None
    # What its own options cannot say, and of a plan that is counted with PyTorch's operations what stands beside them.
    own, formats = c.framework.by_hand, OF_MEGATRON if c.framework.by_hand else AS_MEGATRON
    ways = replace(c.layout, data=1, tensor=1, pipeline=1, context=1, micro_batches=1, zero=0)
    ways = replace(ways, sequence_parallel=False, balanced=False)
    runs, fused = c.framework.runtime != "none", c.framework.accumulation == "fused"
    elsewhere = c.loss.in_pieces or c.update.offload != "none" or c.update.in_backward or ways != Layout()
    elsewhere = elsewhere or c.evaluation is not None or runs or fused is not own
    plain = c.attention.kernel == "flash" and c.precision.name in formats and c.optimizer.name == "adamw"
    if elsewhere or not plain or c.framework.compiled is not own or c.update.kind != ("fused" if own else "foreach"):
        return None
    compute = c.precision.compute.name
    found: dict[str, Any] = {
        "tensor-model-parallel-size": c.layout.tensor,
        "pipeline-model-parallel-size": c.layout.pipeline,
        "micro-batch-size": c.batch,
        "global-batch-size": c.batch * c.micro_batches * c.replicas,
        "seq-length": c.sequence,
        **({"context-parallel-size": c.layout.context} if c.layout.context > 1 else {}),
        **shape,
        "hidden-dropout": c.dropout,
        "attention-dropout": c.dropout,
        "train-iters": STEPS,
        "lr": RATE,
        "tokenizer-type": "NullTokenizer",
        "vocab-size": c.model.vocab,
    }
    switches = {
        compute: compute in ("bf16", "fp16"),
        "sequence-parallel": c.layout.sequence_parallel,
        "account-for-embedding-in-pipeline-split": c.layout.balanced,
        "account-for-loss-in-pipeline-split": c.layout.balanced,
        "use-distributed-optimizer": c.layout.zero == 1,
        "use-flash-attn": c.attention.kernel == "flash",
        "mock-data": True,
    }
    if c.checkpointing.kind != "none":
        found["recompute-granularity"] = c.checkpointing.kind
    if c.checkpointing.kind == "full":
        found |= {"recompute-method": "uniform", "recompute-num-layers": 1}
    return found | {name: None for name, on in switches.items() if on}


def _shape(c: Setup) -> Settings | None:
    """The model as Megatron-LM's options say it; None for layers that they cannot say."""
    m, layer = c.model, c.model.stack[0][0]
    attention, part = layer.attention, layer.feed_forward
    if len(m.stack) > 1 or not isinstance(attention, Attention) or not isinstance(part, FeedForward):
        return None
    other = attention.window or attention.sinks or attention.gated or attention.head_norm == "width"
    other = other or attention.out_bias is not part.bias or layer.parallel or layer.after or not layer.before
    turned = attention.head_size if m.position == "rope" else 0
    position, norm = _POSITIONS.get(m.position), _NORMS.get((layer.norm, layer.bias))
    known = part.activation in (("silu",) if part.gated else ("gelu", "gelu-new"))
    if other or attention.rotated != turned or not (position and norm and known):
        return None
    found: dict[str, Any] = {
        "num-layers": m.layers,
        "hidden-size": m.hidden,
        "ffn-hidden-size": part.width,
        "num-attention-heads": attention.heads,
        "kv-channels": attention.head_size,
        "max-position-embeddings": max(m.max_seq, c.sequence),
        "position-embedding-type": position,
        "normalization": norm,
    }
    if attention.kv_heads < attention.heads:
        found |= {"group-query-attention": None, "num-query-groups": attention.kv_heads}
    switches = {
        "swiglu": part.gated,
        "qk-layernorm": attention.head_norm == "head",
        "disable-bias-linear": not part.bias,
        "add-qkv-bias": attention.bias and not part.bias,
        "untie-embeddings-and-output-weights": not m.tied,
    }
    return found | {name: None for name, on in switches.items() if on}


def deepspeed(c: Setup) -> Settings | None:
    """DeepSpeed's configuration, as a Trainer takes it, with what it needs to clip gradients and to save the model."""
    own = (*OF_DEEPSPEED, DIVIDED, "fp32")
    plain = c.precision.master is None if c.adaptation.has_adapters else c.precision.name in own
    alone = c.layout.peers == 1 and c.precision.name in OF_DEEPSPEED
    divided = c.layout.zero or c.update.offload != "none" or c.framework.runtime == "deepspeed" or alone
    if not plain or not divided or not _keeps_its_formats(c) or c.layout.model_parallel:
        return None
    if c.layout.data > 1 and c.layout.zero <= 1 and c.framework.runtime != "deepspeed":
        return None  # at these stages its buffers are counted, and they are not those of the setup
    if c.layout.zero >= 2 and c.adaptation.everything and c.update.offload == "optimizer":
        return None  # gradients go with the states
    if c.update.offload == "gradients" and not (c.update.buffers and c.adaptation.everything):
        return None
    zero: dict[str, Any] = {"stage": c.layout.zero}
    if c.update.offload != "none":
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if c.update.offload == "parameters":
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
    if sizes := c.update.buffers:
        zero["stage"] = zero["stage"] or (3 if c.update.offload == "parameters" else 2)
        zero |= {key: getattr(sizes, name) for name, key in cluster_files.SIZES.items()}
    if zero["stage"] == 3:
        zero["stage3_gather_16bit_weights_on_model_save"] = True
    found: dict[str, Any] = {
        "train_micro_batch_size_per_gpu": c.batch,
        "gradient_accumulation_steps": c.micro_batches,
        # A Trainer puts its `max_grad_norm` there, and leaves clipping to DeepSpeed.
        "gradient_clipping": "auto",
        "zero_optimization": zero,
    }
    if (compute := c.precision.compute.name) in ("bf16", "fp16"):
        found[compute] = {"enabled": True}
    if c.precision.accumulation and c.layout.zero:
        found["data_types"] = {"grad_accum_dtype": c.precision.accumulation.name}
    return found


def accelerate(c: Setup) -> Settings | None:
    """The configuration of accelerate.

    Checkpointing is asked for by the script's own options (`trainer`): a Trainer refuses both at once.
    """
    if c.layout.model_parallel or not _keeps_its_formats(c):
        return None
    engine, compute = deepspeed(c) if uses_deepspeed(c) else None, c.precision.compute.name
    autocast = compute in ("bf16", "fp16") and c.precision.name not in ("bf16", "fp16")
    found: dict[str, Any] = {
        "compute_environment": "LOCAL_MACHINE",
        "num_machines": nodes(c)[0],
        **({"main_process_ip": FIRST, "main_process_port": 29500} if nodes(c)[0] > 1 else {}),
        "num_processes": c.devices,
        "machine_rank": 0,
        "mixed_precision": compute if autocast else "no",
    }
    if engine:
        away = "cpu" if c.update.offload != "none" else "none"
        inside = {"zero_stage": engine["zero_optimization"]["stage"], "offload_optimizer_device": away}
        if c.update.offload == "parameters":
            inside["offload_param_device"] = away
        if inside["zero_stage"] == 3:
            inside["zero3_save_16bit_model"] = True
        if sizes_buffers(c):
            return None  # it has no keys for them
        inside["gradient_accumulation_steps"] = c.micro_batches
        return found | {"distributed_type": "DEEPSPEED", "deepspeed_config": inside}
    if _said_by_fsdp(c):
        config: dict[str, Any] = {
            "fsdp_version": 2,
            "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "fsdp_reshard_after_forward": c.layout.zero == 3,
            "fsdp_offload_params": c.update.offload != "none",
        }
        return found | {"distributed_type": "FSDP", "fsdp_config": config}
    if c.layout.zero or c.update.offload != "none":
        return None
    return found | {"distributed_type": "MULTI_GPU" if c.devices > 1 else "NO"}
