"""How a job is divided: DeepSpeed's JSON and accelerate's YAML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ironlaw.core.errors import EngineError
from ironlaw.files import values
from ironlaw.files.facts import DIVIDES, FORMATS, Facts, Format, Reading
from ironlaw.files.options import Asked, not_understood
from ironlaw.files.switches import LESS, MORE, OFF, SHARED, SHARES, STRATEGIES, unwrapped, with_switches

Document = Mapping[str, Any]


def block(document: Document, name: str) -> Document:
    """A block of a file; empty where it is not there. Raises `EngineError` for what is none."""
    found = document.get(name)
    if found in values.ABSENT:
        return {}
    if not isinstance(found, Mapping):
        raise EngineError(name, found, "a block of settings")
    return found


_UNCOUNTED = ("zero_hpz_partition_size", "mics_shard_size", "zeropp_loco_param")
_SWITCHED = ("zero_quantized_weights", "zero_quantized_gradients")
_OF_OFFLOADING = {"offload_optimizer": ("ratio", 1), "offload_param": ("max_in_cpu", 1e9)}
"""Settings of what is offloaded that no plan counts, and their defaults."""
SIZES = {
    "bucket": "reduce_bucket_size",
    "prefetch": "stage3_prefetch_bucket_size",
    "live": "stage3_max_live_parameters",
    "reuse": "stage3_max_reuse_distance",
    "persistent": "stage3_param_persistence_threshold",
}
"""Sizes of DeepSpeed's buffers (`ironlaw.config.choices.Buffers`) by its keys."""
_KEPT_IN_HALVES = (
    "fp16_master_weights_and_grads", "bf16_master_weights_and_grads", "bf16_optimizer_states",
)  # fmt: skip
"""Switches by which DeepSpeed keeps in 16 bits what it else keeps in FP32."""
_KINDS = {
    **dict.fromkeys(_UNCOUNTED, MORE),
    **dict.fromkeys(("zero_quantized_weights", "zero_quantized_gradients", "optimizer.type"), SHARES),
    **dict.fromkeys(("tensor_parallel.autotp_size", "pipeline.stages"), SHARES),
    "offload_optimizer.ratio": MORE,
}
"""What such settings do; those that are not named here save memory."""
_UNCOUNTED_OF_RECOMPUTATION = ("cpu_checkpointing", "partition_activations", "contiguous_memory_optimization")
"""What changes memory or traffic in DeepSpeed, and in no plan."""


_OPTIMIZERS = {"adam": "adamw", "adamw": "adamw", "lion": "lion", "muon": "muon", "sgd": "sgd"}
"""Types of an optimizer of DeepSpeed's own; its Adam decays weights as AdamW does."""


def is_deepspeed(document: Document) -> bool:
    """Whether a document is a configuration of DeepSpeed."""
    return "zero_optimization" in document or "train_micro_batch_size_per_gpu" in document


def deepspeed(document: Document) -> Reading:
    """The facts of DeepSpeed's configuration. `auto` says nothing. Raises `EngineError` for a value it cannot have."""
    document = asked = Asked(document)
    zero = Asked(block(document, "zero_optimization"))
    stage = _stage("zero_optimization.stage", zero.get("stage", 0))
    chosen = [one for one in _HALVES if values.switch(f"{one}.enabled", _half(document, one).get("enabled"))]
    if len(chosen) > 1:
        raise EngineError("fp16.enabled", True, (False,), because="bf16 is enabled too")
    facts = Facts(
        runtime="deepspeed",
        optimizer=_OPTIMIZERS.get(_optimizer(document)),
        zero=stage,
        offload_optimizer=_away(zero, "offload_optimizer"),
        offload_parameters=_away(zero, "offload_param"),
        offload_sizes=_sizes(zero, stage),
        compute=chosen[0] if chosen else None,  # type: ignore[arg-type]
        sums=_sums(block(document, "data_types").get("grad_accum_dtype")),
        micro_batch=values.count("train_micro_batch_size_per_gpu", document.get("train_micro_batch_size_per_gpu")),
        accumulate=values.count("gradient_accumulation_steps", document.get("gradient_accumulation_steps")),
        global_batch=values.count("train_batch_size", document.get("train_batch_size")),
    )
    keys = {"zero": "zero_optimization.stage", "micro_batch": "train_micro_batch_size_per_gpu"}
    missing, uncounted = _uncounted(document, zero)
    read = Reading("DeepSpeed", facts, keys=keys, missing=missing, uncounted=dict.fromkeys(uncounted, ""))
    several = values.count(SHARED, document.get(SHARED)) or 1
    others = [key for part in (asked, zero) for key in part.unasked() if part[key] not in OFF]
    others = [key for key in others if not _OF_DEEPSPEED.fullmatch(key)]
    read = replace(read, missing=(*read.missing, *not_understood(others, "JSON of DeepSpeed", "")))
    return with_switches(read, (SHARED,) if several > 1 else ())


_OF_DEEPSPEED = re.compile(
    r"scheduler|wall_clock_breakdown|steps_per_print|gradient_clipping|prescale_gradients|zero_allow_\w+|zero_force_\w+|"
    r"log|cuda_visible_devices|aio|\w*_?monitor(_config)?|comms_\w+|tensorboard|wandb|comet|flops_profiler|_comment|"
    r"gradient_predivide_factor|dump_state|memory_breakdown|\w*communication_data_type|checkpoint|nebula|elasticity|"
    r"load_universal_checkpoint|use_node_local_storage|sparse_gradients|disable_allgather|timers|"
    r"overlap_comm|contiguous_gradients|sub_group_size|allgather_\w+|reduce_scatter|round_robin_gradients|"
    r"(stage3_)?gather_\w+|ignore_unused_parameters|legacy_stage1|load_from_fp32_weights|elastic_checkpoint|"
    r"cpu_offload_use_pin_memory|max_live_parameters|max_reuse_distance|log_trace_cache_warnings|use_multi_rank_\w+"
)
"""Settings of DeepSpeed that change neither memory nor time, or only where they are set otherwise than usual."""
_HALVES = ("bf16", "fp16")


def _half(document: Document, name: str) -> Document:
    """The block of a format of 16 bits, of BF16 also under its older name."""
    return block(document, name) or (block(document, "bfloat16") if name == "bf16" else {})


def _stage(what: str, value: object) -> int:
    stage = values.count(what, value, 0) or 0
    if stage > 3:
        raise EngineError(what, stage, (0, 1, 2, 3))
    return stage


def _optimizer(document: Document) -> str:
    """The kind of optimizer that DeepSpeed makes itself, in small letters; empty where it leaves that to the script."""
    return str(block(document, "optimizer").get("type", "")).lower()


def _uncounted(document: Document, zero: Document) -> tuple[tuple[str, ...], set[str]]:
    """Sentences on what a file of DeepSpeed asks for and no plan counts, and what kinds of settings these are."""
    recompute = block(document, "activation_checkpointing")
    asked = [name for name in _UNCOUNTED if zero.get(name) not in (*values.ABSENT, False, 0, 1, -1)]
    asked += [name for name in _SWITCHED if zero.get(name) is True]
    asked += [name for name in _UNCOUNTED_OF_RECOMPUTATION if recompute.get(name) is True]
    for place, (name, usual) in _OF_OFFLOADING.items():
        if block(zero, place).get(name, usual) != usual:
            asked.append(f"{place}.{name}")
    halves = ((half, _half(document, half)) for half in _HALVES)
    asked += [f"{half}.{key}" for half, said in halves for key in _KEPT_IN_HALVES if said.get(key) is True]
    if (values.count("autotp_size", block(document, "tensor_parallel").get("autotp_size")) or 1) > 1:
        asked.append("tensor_parallel.autotp_size")
    if (values.count("stages", block(document, "pipeline").get("stages")) or 1) > 1:
        asked.append("pipeline.stages")
    if _optimizer(document) not in ("", *_OPTIMIZERS):
        asked.append("optimizer.type")
    told = [f"Not counted of DeepSpeed's file: {', '.join(asked)}."] if asked else []
    disks = [name for name in _OF_OFFLOADING if block(zero, name).get("device") == "nvme"]
    if disks:
        told.append(f"Counted as host memory, and its time as that memory's: {' and '.join(disks)} on NVMe.")
    return tuple(told), {_KINDS.get(name, LESS) for name in asked}


def _sizes(zero: Document, stage: int) -> str | None:
    """The sizes of buffers that a file says; `auto` where Trainer and accelerate fill them in by the model's width."""
    found = {}
    for name, key in SIZES.items():
        if zero.get(key) == "auto" and name in ("bucket", "prefetch", "persistent"):
            found[name] = "auto"
        elif (size := values.amount(key, zero.get(key))) is not None:
            found[name] = f"{int(size)}"
    if stage == 2 and values.switch("overlap_comm", zero.get("overlap_comm")):
        found["double"] = "1"
    return ",".join(f"{name}:{size}" for name, size in found.items()) or None


def _sums(value: object) -> Format | None:
    names: dict[str, Format] = {"fp32": "fp32", "bf16": "bf16", "fp16": "fp16"}
    return values.named("data_types.grad_accum_dtype", value, {**names, **FORMATS}, tuple(names))


_OLDER = {"offload_optimizer": "cpu_offload", "offload_param": "cpu_offload_param"}
"""Switches that say the same, which DeepSpeed still takes (`runtime/zero/config.py`)."""


def _away(zero: Document, name: str) -> bool:
    older = bool(values.switch(_OLDER[name], zero.get(_OLDER[name])))
    return _on_host(block(zero, name), "device", f"{name}.device") or older


def _on_host(document: Document, key: str, what: str = "") -> bool:
    places = {"none": False, "cpu": True, "nvme": True}
    return values.named(what or key, document.get(key), places) or False


def is_accelerate(document: Document) -> bool:
    """Whether a document is a configuration of accelerate."""
    return "distributed_type" in document or "compute_environment" in document


def beside_accelerate(document: Document) -> dict[str, Any]:
    """What of a document is none of accelerate's: another file that stands in the same text."""
    if not is_accelerate(document):
        return {}
    return {
        key: value for key, value in document.items() if key not in _OF_ACCELERATE and key[:4] not in ("tpu_", "rdzv")
    }


_OF_ACCELERATE = frozenset((
    "compute_environment", "debug", "deepspeed_config", "distributed_type", "downcast_bf16", "dynamo_config",
    "enable_cpu_affinity", "fsdp_config", "gpu_ids", "machine_rank", "main_process_ip", "main_process_port",
    "main_training_function", "megatron_lm_config", "mixed_precision", "num_machines", "num_processes",
    "parallelism_config", "same_network", "use_cpu", "main_training_script", "ipex_config", "fp8_config",
))  # fmt: skip


def accelerate(document: Document) -> Reading:
    """The facts of accelerate's configuration. Raises `EngineError` for a value it cannot have."""
    facts = Facts(
        devices=values.count("num_processes", document.get("num_processes")),
        nodes=values.count("num_machines", document.get("num_machines")),
        compute=_precision(document.get("mixed_precision")),  # type: ignore[arg-type]
        context=_group(document, "parallelism_config_cp_size"),
        tensor=_group(document, "parallelism_config_tp_size"),
        shard=_group(document, "parallelism_config_dp_shard_size"),
        copies=_group(document, "parallelism_config_dp_replicate_size"),
        compiled=_compiled(block(document, "dynamo_config")),
    )
    if values.switch("use_cpu", document.get("use_cpu")):
        raise EngineError("use_cpu", True, (False,), because="a plan is of GPUs")
    how, missing = document.get("distributed_type"), []
    inside: dict[str, Any] = {}
    if how == "DEEPSPEED":
        engine = block(document, "deepspeed_config")
        if engine.get("deepspeed_config_file") not in values.ABSENT:
            missing.append(f"It names a DeepSpeed file, {DIVIDES}")
        else:
            inside = {
                "runtime": "deepspeed",
                "zero": _stage("zero_stage", engine.get("zero_stage", 2)),
                "offload_optimizer": _on_host(engine, "offload_optimizer_device"),
                "offload_parameters": _on_host(engine, "offload_param_device"),
                "accumulate": values.count("gradient_accumulation_steps", engine.get("gradient_accumulation_steps")),
            }
    elif how == "FSDP":
        inside = fsdp(block(document, "fsdp_config"))
    elif how not in (None, "NO", "MULTI_GPU", "MULTI_CPU"):
        raise EngineError("distributed_type", how, ("NO", "MULTI_GPU", "DEEPSPEED", "FSDP"))
    several = _group(document, "parallelism_config_sp_size") or 1
    read = Reading("accelerate", facts.joined(Facts(**inside)), missing=tuple(missing))
    wrapped = unwrapped(block(document, "fsdp_config")) if how == "FSDP" else ()
    return with_switches(read, (*((SHARED,) if several > 1 else ()), *wrapped))


def _group(document: Document, key: str) -> int | None:
    """Devices that share sequences or matrices, which accelerate's `ParallelismConfig` says."""
    return values.count(key, block(document, "parallelism_config").get(key))


def _compiled(dynamo: Document) -> bool | None:
    said = {key.removeprefix("dynamo_"): value for key, value in dynamo.items()}.get("backend")
    return None if said in values.ABSENT or said is False or str(said).lower() == "no" else True


_HYBRID = {"hybrid_shard", "hybrid_shard_zero2"}
_NUMBERED = dict(zip("12345", STRATEGIES, strict=True))


def fsdp(config: Document, named: str = "full_shard", *, away: bool = False) -> dict[str, Any]:
    """Facts of FSDP's settings, as accelerate and `transformers` write them.

    Args:
        config: The settings, with `fsdp_` before a key or without.
        named: The strategy, where they name none.
        away: Whether something else says that parameters live in host memory.

    Raises:
        EngineError: A value that they cannot have.
    """
    said = {key.removeprefix("fsdp_"): value for key, value in config.items()}

    def on(key: str) -> bool | None:
        return values.switch(f"fsdp_{key}", said.get(key))

    strategy = str(said.get("sharding_strategy") or named).lower()
    kept = said.get("reshard_after_forward")
    zero = values.named("fsdp_sharding_strategy", _NUMBERED.get(strategy, strategy), STRATEGIES)
    # Its first version takes a strategy there, its second a switch.
    if str(kept).lower() in STRATEGIES:
        zero = STRATEGIES[str(kept).lower()]
    elif on("reshard_after_forward") is False:
        zero = 2
    away = bool(on("offload_params") or away)
    found = {"runtime": "fsdp", "zero": zero, "offload_optimizer": away, "offload_parameters": away}
    if {_NUMBERED.get(strategy, strategy), str(kept).lower()} & _HYBRID:
        found["hybrid"] = True
    return found | {"checkpointing": on("activation_checkpointing") or None}


def _precision(value: object) -> str | None:
    names = {"no": None, "fp16": "fp16", "bf16": "bf16", "fp8": "fp8"}
    return values.named("mixed_precision", "no" if value is False else value, names)
