"""Settings that change memory or time and that no plan counts: they are told, and a verdict waits for them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Literal

from ironlaw.files.facts import Reading

Besides = Literal["more", "less", "both"]

SELECTIVE, FLOAT_8, BUDGET = "selective activation checkpointing", "float8", "memory budget"
"""As torchtitan's log names them."""
SCHEDULE = "pipeline schedule"
SHELL = "what the shell's variables hold"
LIGER, GATES = "Liger's kernels of norms and gates", "liger_glu_activation"
ANOTHER = "another run in the same text"
LOST = "options behind the command's end"
FROZEN = "frozen layers"
REFERENCE = "whether a reference is loaded"
HEAD = "a head of one number or two in place of the vocabulary"
VLLM = "whether vLLM runs on the same cards"
OWN_LOOP = "what a script with a loop of its own loads and updates"
DIVIDED = "Megatron-LM's ways to divide"
OTHERS = "the other models of its trainer"
SLICED = "MIG, which divides a card"
LESS, MORE, SHARES = (f"DeepSpeed's settings that {do}" for do in ("save memory", "take memory", "divide otherwise"))
UNWRAPPED = "FSDP that does not gather block by block"
_DEEPEST = 4
"""Blocks within blocks that are looked into."""
SHARED, HALF_BYTES = "sequence_parallel_size", "load_in_8bit"
_FIRST = (
    "lora_modules_to_save", "modules_to_save", "additional_target", "use_galore", "use_badam", "use_apollo",
    "lisa_n_layers", "sequence_parallel_degree", "activation_offloading",
)  # fmt: skip
_OFFLOADED = "gradient_checkpointing"
_LATER = (
    "use_adam_mini", "use_llama_pro", "expert_parallel_size", "tiled_mlp", "chunked_cross_entropy", "layer_offloading",
    HALF_BYTES, SHARED,
)  # fmt: skip
_OF_MEGATRON = (
    "recompute_num_layers", "optimizer_cpu_offload", "cpu_offloading_num_layers", "use_megatron_fsdp",
    "use_torch_fsdp2", "fp8_format", "num_layers_per_virtual_pipeline_stage",
)  # fmt: skip
_NEWER = ("fp8", "use_unsloth")
_OF_MEGATRON_TOO = (
    "num_virtual_stages_per_pipeline_rank", "use_custom_fsdp", "fp8_hybrid", "recompute_modules",
    "use_precision_aware_optimizer",
)  # fmt: skip
_OF_LIGER = {
    "use_liger_kernel": LIGER, "enable_liger_kernel": LIGER, "liger_glu_activation": GATES, "liger_swiglu": GATES,
}  # fmt: skip
"""Key -> what it switches on besides what is counted."""
UNFUSED = "no_gradient_accumulation_fusion"
UNCOUNTED = (
    *_FIRST,
    _OFFLOADED,
    SELECTIVE,
    *_LATER,
    *_OF_MEGATRON,
    FLOAT_8,
    BUDGET,
    SCHEDULE,
    *_NEWER,
    *_OF_MEGATRON_TOO,
    SHELL,
    LIGER,
    GATES,
    UNWRAPPED,
    UNFUSED,
    ANOTHER,
    LOST,
    FROZEN,
    OTHERS,
    SLICED,
    LESS,
    MORE,
    SHARES,
    REFERENCE,
    DIVIDED,
    OWN_LOOP,
    VLLM,
    HEAD,
)
"""All of them. Links of the planner hold their places: what is new comes last."""
_TRAINED_BESIDES = _FIRST[:3]
"""Those that train whole modules beside adapters."""
_MORE, _BOTH = (
    (
        "num_layers_per_virtual_pipeline_stage",
        "num_virtual_stages_per_pipeline_rank",
        SCHEDULE,
        UNWRAPPED,
        UNFUSED,
        OTHERS,
        SLICED,
        MORE,
    ),
    ("fp8_format", "fp8_hybrid", "fp8", FLOAT_8, SHELL, ANOTHER, LOST, SHARES, DIVIDED, OWN_LOOP, VLLM),
)
"""Those that take more memory, and those that take more of some and less of other; all others save memory."""
_NAMED = (*_FIRST, *_LATER, *_NEWER)
_SIZES = ("sequence_parallel_degree", "expert_parallel_size", SHARED)
"""Those that a single device has too, by which nothing is shared."""


def is_known(key: str) -> bool:
    """Whether a key of a trainer's file is told where it is on."""
    return key in _NAMED or key in _OF_LIGER or _OF_ANOTHER.fullmatch(key) is not None


_OF_ANOTHER = re.compile(r"(teacher|reward|critic|value|judge|assistant)_model(_name|_path|_name_or_path|_id)?")
"""Keys that name a model beside the one that is trained."""
OFF: tuple[object, ...] = (None, False, 0, "", "0", "none", "None", "null", "~", "false", "False", "no", [], {})


def written(document: Mapping[str, object], depth: int = 0) -> tuple[str, ...]:
    """The names of such settings that a trainer's document switches on, also within its blocks."""
    found = [*unwrapped(document)]
    for key, value in document.items():
        name = str(key).lower()
        if isinstance(value, Mapping) and depth < _DEEPEST:
            found += written(value, depth + 1)
        elif (name in _NAMED and _is_on(name, value)) or (name == _OFFLOADED and str(value).startswith("offload")):
            found.append(name)
        elif name == "quantization_bit" and str(value) == "8":
            found.append(HALF_BYTES)
        elif _OF_ANOTHER.fullmatch(name) and value not in (*OFF, True):
            found.append(OTHERS)
        elif name in _OF_LIGER and _is_on(name, value):
            found.append(_OF_LIGER[name])
    return tuple(dict.fromkeys(found))


def asked(given: Mapping[str, object]) -> tuple[str, ...]:
    """Those that the options of a command switch on."""
    names = (*_NAMED, *_OF_MEGATRON, *_OF_MEGATRON_TOO, UNFUSED)
    found = [name for name in names if name in given and _is_on(name, given[name])]
    found += [HALF_BYTES] if given.get("quantization_bit") == "8" else []
    found += [OTHERS] if any(map(_OF_ANOTHER.fullmatch, given)) else []
    found += [switched for name, switched in _OF_LIGER.items() if name in given and _is_on(name, given[name])]
    return (*found, *unwrapped(given))


def unwrapped(document: Mapping[str, object]) -> tuple[str, ...]:
    """`UNWRAPPED` where FSDP gathers more than a block at once: by its policy, or as a Trainer without `auto_wrap`."""
    policy = next((str(document[key]).upper() for key in _POLICIES if document.get(key) is not None), None)
    if policy is not None:
        return (UNWRAPPED,) if policy in ("NO_WRAP", "SIZE_BASED_WRAP") else ()
    ways, inside = document.get("fsdp"), document.get("fsdp_config")
    if isinstance(inside, Mapping) and any(key in inside for key in _POLICIES):
        return ()
    words = ways.split() if isinstance(ways, str) else [str(one) for one in ways] if isinstance(ways, list) else []
    return (UNWRAPPED,) if any(map(STRATEGIES.get, words)) and "auto_wrap" not in words else ()


STRATEGIES = {"full_shard": 3, "shard_grad_op": 2, "no_shard": 0, "hybrid_shard": 3, "hybrid_shard_zero2": 2}
"""FSDP's ways to divide, each with the stage of ZeRO that divides the same."""
_POLICIES = ("fsdp_auto_wrap_policy", "auto_wrap_policy")


def _is_on(name: str, value: object) -> bool:
    return value not in OFF and not (name in _SIZES and str(value) == "1")


def with_switches(read: Reading, names: Collection[str]) -> Reading:
    """A reading that tells what is not counted of it; the same where there is nothing."""
    names = [name for name in dict.fromkeys(names) if name not in read.uncounted]
    if not names:
        return read
    told = f"Not counted, though it changes memory or time: {', '.join(names)}."
    return replace(read, missing=(*read.missing, told), uncounted={**read.uncounted, **dict.fromkeys(names, "")})


def besides(names: Collection[str], *, adapters: bool) -> Besides | None:
    """Whether what is not counted takes more memory, less, or both; without adapters nothing is trained beside them."""
    more = any(name in (*_MORE, *_BOTH) or (adapters and name in _TRAINED_BESIDES) for name in names)
    less = any(name not in (*_MORE, *_TRAINED_BESIDES) for name in names)
    return ("both" if less else "more") if more else "less" if less else None


def waits(verdict: str, beside: Besides | None) -> bool:
    """Whether a verdict waits for it: what is too much is too much with more, and what fits does so with less."""
    return beside is not None and (beside, verdict) not in (("more", "not"), ("less", "fits"))
