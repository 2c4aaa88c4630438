"""Settings of axolotl, LLaMA-Factory and of `transformers`' and TRL's trainers, as their files and commands say them.

What a program does when a file is silent is part of what the file says (`Reading.silent`): without a word of adapters
axolotl, TRL's and `transformers`' trainers train every weight, and LLaMA-Factory trains adapters; axolotl and
LLaMA-Factory load a model in its 16-bit format; LLaMA-Factory and TRL's trainers recompute activations unless told
otherwise, `transformers`' does not; TRL cuts sequences to 1,024 tokens and computes in BF16. Sources: the argument
classes of the programs, read in November 2026.
"""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any

from ironlaw.config.words import LONGEST_NAME
from ironlaw.core.errors import EngineError
from ironlaw.files import values
from ironlaw.files.cluster_files import block, deepspeed, fsdp
from ironlaw.files.facts import DIVIDES, FORMATS, MAYBE_ALONE, STRANGE, Attention, Facts, Format, Kind, Reading, Stage
from ironlaw.files.options import Asked, means_nothing, not_understood
from ironlaw.files.switches import DIVIDED, FROZEN, OTHERS, OWN_LOOP, REFERENCE, with_switches

Document = Mapping[str, Any]
Found = dict[str, Any]
Convert = Callable[[str, object], object]
_SWITCH, _COUNT, _AMOUNT = values.switch, values.count, values.amount
_COMMON: dict[str, tuple[str, Convert]] = {
    "accumulate": ("gradient_accumulation_steps", _COUNT),
    "checkpointing": ("gradient_checkpointing", _SWITCH),
    "packing": ("packing", _SWITCH),
    "epochs": ("num_train_epochs", _AMOUNT),
    "rank": ("lora_r", _COUNT),
    "compiled": ("torch_compile", _SWITCH),
    "fused_loss": ("use_liger_kernel", _SWITCH),
    "micro_batch": ("per_device_train_batch_size", _COUNT),
}
"""Fact -> the key that `transformers` gives it, and how its value is read."""
_LENGTHS = ("max_length", "max_seq_length", "max_seq_len", "block_size", "model_max_length", "cutoff_len")
_OTHERS = {"micro_batch": ("per_gpu_train_batch_size", "micro_batch_size"), "rank": ("lora_rank",)}
EVALUATION = ("per_device_eval_batch_size", "per_gpu_eval_batch_size", "eval_batch_size")
"""Keys of the sequences that a device evaluates at once."""
EVALUATED = 8
"""Sequences that a device evaluates at once where nobody says how many: `transformers`' default. axolotl takes the
training's."""
_STRATEGIES = ("eval_strategy", "evaluation_strategy")
_LOADERS = ("axolotl", "LLaMA-Factory")
"""Programs that leave out peft's preparation of 4 bits, or take back its FP32 (`convert_embedding_modules_dtype`), and
that call Liger's kernel themselves, which outside of training has the logits whole; Trainer's own
`use_liger_kernel` leaves them out of an evaluation that keeps the loss alone (transformers 5.23, `prediction_step`),
and so does cut cross-entropy."""
_MODELS = ("model_name_or_path", "model_name", "model_id", "base_model", "pretrained_model_name_or_path")
"""What scripts around a Trainer call the same."""
_FOUR_BITS = ("q_lora", "use_qlora", "qlora")
_ADAPTERS = ("use_peft", "use_lora", "lora_enable")
"""Switches by which such scripts train adapters, over four bits or over the model as it is."""


@dataclass(frozen=True)
class Dialect:
    """How one program writes the facts.

    Attributes:
        kind: The program.
        marks: Keys that only its files have.
        keys: Fact -> its key and how its value is read, where it is one plain value.
        models: The keys of the model's name, of which the first counts.
        rest: The facts that follow from several keys.
        silent: What the program does by default, of a document and the facts that it says; those that it says are
            passed over.
        others: Fact -> other keys for it, of which the first counts that has a value.
    """

    kind: Kind
    marks: frozenset[str]
    keys: Mapping[str, tuple[str, Convert]]
    models: tuple[str, ...]
    rest: Callable[[Document], Found]
    silent: Callable[[Document, Found], Found]
    others: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read(document: Document, dialect: Dialect) -> Reading:
    """The facts of a file of a program.

    Raises:
        EngineError: A value is none of those that the program takes.
    """
    by_command = isinstance(document, Asked)  # which tells itself what nobody asked for
    document = options = document if isinstance(document, Asked) else Asked(document)
    keys = {fact: _key(document, key, dialect.others.get(fact, ())) for fact, (key, _) in dialect.keys.items()}
    plain = {fact: convert(keys[fact], document.get(keys[fact])) for fact, (_, convert) in dialect.keys.items()}
    name = document.get(_key(document, dialect.models[0], dialect.models[1:]))
    steps = document.get("max_steps")
    plain["steps"] = values.count("max_steps", None if steps in (-1, 0, "-1", "0") else steps)
    rest = {**dialect.rest(document), **_evaluation(document, dialect.kind)}
    rest["unprepared"] = dialect.kind in _LOADERS or None
    rest["referenced"] = False if _is_alone(document) else None
    sharding = _sharding(document)
    recomputed = sharding.pop("checkpointing", None)
    plain = {fact: value for fact, value in plain.items() if value is not None}
    asked = {**rest, **sharding, **plain, **generation(document, rest.get("stage"))}
    if recomputed:
        # FSDP recomputes by a setting of its own, beside which Trainer refuses its own.
        asked["checkpointing"] = True
    named = {fact: value for fact, value in asked.items() if value is not None}
    own = document.get("deepspeed")
    if own is True or (own and not isinstance(own, str | Mapping)):
        raise EngineError("deepspeed", own, "a file's name, or its settings")
    divided = deepspeed(own) if isinstance(own, Mapping) else Reading("DeepSpeed")
    named = {**divided.facts.said(), **named}
    by_default = {**dialect.silent(document, named), **_named_file(document, dialect.kind)}
    silent = {fact: value for fact, value in by_default.items() if fact not in named}
    found = {**silent, **named}
    if found.get("method") in ("full", "freeze"):
        found.pop("rank", None)  # a rank without an adapter trains nothing
    facts = Facts(**{**found, "model": values.model(name)})
    said = facts.said().keys()
    read = Reading(
        dialect.kind,
        facts,
        keys=keys,
        silent=frozenset(silent.keys() & said),
        missing=(
            *divided.missing,
            *_missing(document, name, facts, dialect.kind),
            *(_idle(document) if dialect.kind == "LLaMA-Factory" else ()),
        ),
        called=_called(name) if facts.model else "",
        uncounted=divided.uncounted,
    )
    names = {
        FROZEN: facts.method == "freeze",
        OTHERS: facts.stage == "ppo",
        OWN_LOOP: dialect.kind == "TRL" and bool(document.keys() & _OF_OWN_LOOPS),
        DIVIDED: dialect.kind == "LLaMA-Factory" and any(document.get(key) not in (None, 1) for key in _BY_MEGATRON),
    }
    if not by_command:
        others = [key for key in options.unasked() if not means_nothing(key, options[key])]
        read = replace(read, missing=(*read.missing, *not_understood(others, "file", "")))
    if dialect.kind in ("TRL", "Trainer") and _may_be_alone(document, facts):
        read = replace(read, missing=(*read.missing, MAYBE_ALONE), uncounted={**read.uncounted, REFERENCE: "reference"})
    return with_switches(read, [name for name, there in names.items() if there])


_BY_MEGATRON = (
    "tensor_model_parallel_size", "pipeline_model_parallel_size", "expert_model_parallel_size", "context_parallel_size",
)  # fmt: skip
"""LLaMA-Factory's keys for Megatron-LM."""


def _key(document: Document, key: str, others: tuple[str, ...]) -> str:
    """The first of the keys that has a value in a document; `key` where none has."""
    return next((one for one in (key, *others) if document.get(one) not in values.ABSENT), key)


def _missing(document: Document, name: object, facts: Facts, kind: Kind) -> tuple[str, ...]:
    told = []
    if name is not None and facts.model is None:
        told.append(f"{_called(name)} {STRANGE}: add its config.json.")
    if document.get("adapter") == "qlora" and 4 not in _bits(document):
        told.append("adapter: qlora is read as QLoRA; axolotl runs it only with load_in_4bit: true.")
    if str(document.get("fsdp_config")).endswith(".json"):
        told.append(f"It names FSDP's file, {DIVIDES}")
    if values.switch("precompute_ref_log_probs", document.get("precompute_ref_log_probs")):
        told.append("precompute_ref_log_probs: the reference's pass before the training is not counted.")
    if file := _deepspeed_file(document):
        known = _OWN_FILE.fullmatch(file) if kind in _NAMING else None
        own = "It names its program's own file for DeepSpeed, ZeRO {}, which is counted: add yours if it differs."
        told.append(own.format(known[1]) if known else f"It names a DeepSpeed file, {DIVIDES}")
    key = _key(document, EVALUATION[0], EVALUATION[1:])
    if _is_unevaluated(document) and (size := values.count(key, document.get(key))):
        told.append(f"{key}: {size:,} counts for nothing: evaluation is off.")
    return tuple(told)


def _idle(document: Document) -> tuple[str, ...]:
    """A sentence on a switch of recomputation that does nothing in LLaMA-Factory beside the other one."""
    disabled, asked = _checkpointing_of_llama_factory(document)
    if disabled and asked:
        return ("disable_gradient_checkpointing: true counts for nothing beside gradient_checkpointing: true.",)
    if asked is False and not disabled:
        told = "LLaMA-Factory recomputes unless disable_gradient_checkpointing is true"
        return (f"gradient_checkpointing: false counts for nothing: {told}.",)
    return ()


def _evaluation(document: Document, kind: Kind) -> Found:
    """How many sequences are evaluated at once, and of how many batches logits are kept, where a file evaluates.

    Who has no metrics does not ask for `eval_accumulation_steps`, after which logits leave the device.
    """
    key = _key(document, EVALUATION[0], EVALUATION[1:])
    size = values.count(key, document.get(key))
    if size is None and kind != "axolotl" and _is_evaluated(document):
        size = EVALUATED
    if size is None or _is_unevaluated(document):
        return {}
    kept = values.count("eval_accumulation_steps", document.get("eval_accumulation_steps"))
    if values.switch("prediction_loss_only", document.get("prediction_loss_only")):
        kept = None
    whole = kind in _LOADERS and not _cuts(document)
    return {"eval_batch": size, "eval_kept": kept, "eval_logits": whole or None}


def _strategy(document: Document) -> object:
    """When a file evaluates: "steps", "epoch", "no", or None where it does not say. YAML reads a bare `no` as false."""
    key = next((key for key in _STRATEGIES if document.get(key) not in (None, "")), _STRATEGIES[0])
    asked = document.get(key)
    said = "no" if asked is False or asked == "none" else asked
    return values.named(key, said, {name: name for name in ("no", "steps", "epoch")})


def _is_evaluated(document: Document) -> bool:
    """Whether a file asks for evaluation."""
    return _strategy(document) in ("steps", "epoch") or bool(values.switch("do_eval", document.get("do_eval")))


def _is_unevaluated(document: Document) -> bool:
    """Whether a file turns evaluation off."""
    off = _strategy(document) == "no" or document.get("val_set_size") in (0, "0", "0.0")
    asked = values.switch("do_eval", document.get("do_eval")) or bool(document.get("test_datasets"))
    return off and not asked


def _is_file(value: object) -> bool:
    """Whether a value is a file's name, and no switch."""
    return isinstance(value, str) and value.lower() not in (*values.ABSENT, "true", "false")


def _called(name: object) -> str:
    """A model's name on the hub, which is public; a path may say more than its owner wants."""
    known = isinstance(name, str) and len(name) <= LONGEST_NAME and re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name)
    return str(name) if known and not str(name).startswith(".") else "What the file names"


def _adapter(document: Document, bits: tuple[int, ...]) -> dict[str, Any]:
    """Facts of an adapter over weights of `bits` bits, if any are quantized."""
    plain = "dora" if values.switch("use_dora", document.get("use_dora")) else "lora"
    found: dict[str, Any] = {"method": "qlora" if 4 in bits else plain}
    if 8 in bits:
        found["weights"] = "int8"
    double = document.get("double_quantization", document.get("bnb_4bit_use_double_quant"))
    if 4 in bits and double is not None:
        found["double_quantization"] = values.switch("double_quantization", double)
    return found


_OWN_FILE = re.compile(r"(?:ds_z|zero)([0-3])(?:_\w{1,40})?\.json", re.ASCII)
"""Names of files for DeepSpeed that LLaMA-Factory (`examples/deepspeed`) and axolotl (`deepspeed_configs`) bring."""
_NAMING = ("LLaMA-Factory", "axolotl")


def _deepspeed_file(document: Document) -> str:
    """The name, without folders, of a file for DeepSpeed that a document names; empty where it names none."""
    named = (document.get(key) for key in ("deepspeed", "deepspeed_config"))
    return next((str(one).replace("\\", "/").rpartition("/")[2] for one in named if _is_file(one)), "")


def _named_file(document: Document, kind: str) -> Found:
    """Facts of such a file of a program's own, which give way to the file itself."""
    file = _deepspeed_file(document)
    if kind not in _NAMING or not (known := _OWN_FILE.fullmatch(file)):
        return {}
    stage = int(known[1])
    found: Found = {"runtime": "deepspeed", "zero": stage}
    if stage == 3:
        kept = ",live:0,reuse:0" if kind == "axolotl" else ""
        found["offload_sizes"] = f"bucket:auto,prefetch:auto,persistent:auto{kept}"
    if "offload" in file:
        found |= {"offload_optimizer": "params" not in file, "offload_parameters": stage == 3}
    return found


_PROMPT, _COMPLETION, _VLLM = 512, 256, 0.3
"""Tokens of a prompt and of a completion, and vLLM's share of a card, where TRL is not told (`GRPOConfig`)."""


def generation(document: Document, stage: object) -> Found:
    """Facts of GRPO as TRL runs it: its texts are prompts and completions, which the model generates or vLLM."""
    if stage != "grpo":
        return {}
    inner = document.get("trl")
    said = inner if isinstance(inner, Mapping) else document
    lengths = {key: values.count(key, said.get(key)) for key in ("max_prompt_length", "max_completion_length")}
    found: Found = {"referenced": bool(values.amount("beta", said.get("beta")))}
    if any(lengths.values()):
        found["sequence"] = (lengths["max_prompt_length"] or _PROMPT) + (
            lengths["max_completion_length"] or _COMPLETION
        )
    if not values.switch("use_vllm", said.get("use_vllm")):
        return {**found, "rollout": "generate"}
    if said.get("vllm_mode", "colocate") != "colocate":
        return found
    share = values.amount("vllm_gpu_memory_utilization", said.get("vllm_gpu_memory_utilization")) or _VLLM
    how = "asleep" if values.switch("sleep", said.get("vllm_enable_sleep_mode")) else "beside"
    return {**found, "rollout": f"{how}:{min(max(share, 0.01), 0.99):.2f}"}


def _is_alone(document: Document) -> bool:
    """Whether preferences are trained without a reference, or it has answered before the training."""
    answered = any(values.switch(key, document.get(key)) for key in ("precompute_ref_log_probs", "reference_free"))
    pairs = values.named("pref_loss", document.get("pref_loss"), dict(zip(_PAIRS, _PAIRS, strict=True)))
    named = any(way in _ALONE for way in (pairs, document.get("rl"), document.get("loss_type")))
    return answered or named or bool(document.keys() & _WITHOUT_REFERENCE)


_WITHOUT_REFERENCE = {"gamma_beta_ratio", "simpo_gamma", "cpo_alpha", "lambda_orpo"}
"""Keys of SimPO, CPO and ORPO alone."""
_WITH_REFERENCE = {
    "ref_model", "ref_model_name_or_path", "ref_model_init_kwargs", "ref_model_revision", "sync_ref_model",
    "precompute_ref_log_probs", "reference_free", "rpo_alpha", "ld_alpha", "f_divergence_type", "use_weighting", "rl",
    "pref_loss", "force_use_ref_model", "model_adapter_name", "ref_adapter_name",
}  # fmt: skip
"""Keys of which ORPO's and SimPO's files have none."""


def _may_be_alone(document: Document, facts: Facts) -> bool:
    """Whether a file is DPO's by keys that those of ORPO and SimPO have too, which train without a reference."""
    return facts.stage == "dpo" and facts.referenced is not False and not document.keys() & _WITH_REFERENCE


def _bits(document: Document) -> tuple[int, ...]:
    asked = {4: "load_in_4bit", 8: "load_in_8bit"}
    return tuple(bits for bits, key in asked.items() if values.switch(key, document.get(key)))


def _axolotl_bits(document: Document) -> tuple[int, ...]:
    """Its QLoRA is over 4 bits: without `load_in_4bit` axolotl asks for it, with `load_in_8bit` it refuses."""
    bits = _bits(document)
    if document.get("adapter") != "qlora":
        return bits
    if 8 in bits:
        raise EngineError("load_in_8bit", True, (False,), {"adapter": "qlora"})
    return (4,)


def _targets(value: object) -> tuple[str, ...] | None:
    """Names of modules that models are known to have, so that nothing else travels on."""
    if value in values.ABSENT:
        return None
    if value in ("all", "all-linear", ["all-linear"]):
        return ("all-linear",)
    names = value.strip("[]").split(",") if isinstance(value, str) else value
    plain = [str(one).strip(" \"'") for one in names] if isinstance(names, (list, tuple)) else []
    if not plain or not all(map(values.is_module, plain)):
        raise EngineError("targets of LoRA", value, "names of modules, such as q_proj, or all-linear")
    return tuple(plain)


def _compute(document: Document) -> Found:
    """The format of products, where `bf16` or `fp16` says something."""
    said = any(document.get(key) == "auto" or document.get(key) not in values.ABSENT for key in ("bf16", "fp16"))
    return {"compute": _format(document)} if said else {}


def _format(document: Document) -> Format:
    """The format of products that `bf16` and `fp16` choose."""
    long, short = (values.switch(key, document.get(key)) for key in ("bf16", "fp16"))
    if short or long:
        return "fp16" if short else "bf16"
    if "auto" not in (document.get("bf16"), document.get("fp16")):
        return "fp32"
    return "auto" if short is None else "auto-fp32"


def _optimizer(document: Document, key: str) -> dict[str, Any]:
    found = values.optimizer(key, document.get(key))
    if found is None:
        return {}
    return {"optimizer": found[0], "update": found[1]}


def _attention(value: object) -> Attention | None:
    names: dict[str, Attention] = {
        "eager": "eager", "disabled": "eager", "sdpa": "sdpa", "flash": "flash", "fa2": "flash", "fa3": "flash",
        "flash_attention_2": "flash", "flash_attention_3": "flash", "kernels-community/flash-attn": "flash",
        "kernels-community/flash-attn2": "flash", "kernels-community/flash-attn3": "flash",
        "kernels-community/vllm-flash-attn3": "flash", "flex_attention": "sdpa", "xformers": "sdpa",
    }  # fmt: skip
    return values.named("attention", value, names, tuple(name for name in names if "/" not in name))


def _object(text: str) -> object:
    """What a text says as JSON; the text itself where it says nothing."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _reentrant(document: Document) -> Found:
    """Which recomputation PyTorch runs, where the options of `gradient_checkpointing_kwargs` say it."""
    said = document.get("gradient_checkpointing_kwargs")
    if isinstance(said, str) and said.lstrip().startswith("{"):
        document = {"gradient_checkpointing_kwargs": _object(said)}  # a command gives it as JSON
    asked = block(document, "gradient_checkpointing_kwargs").get("use_reentrant")
    return {"reentrant": values.switch("use_reentrant", asked)}


def _sharding(document: Document) -> dict[str, Any]:
    """Facts of FSDP as axolotl and `transformers` write it."""
    options, config = document.get("fsdp"), document.get("fsdp_config")
    if isinstance(config, str) and config not in values.ABSENT:
        # A command gives it as JSON; a file that it names is asked for (`_missing`).
        said = {} if config.endswith(".json") else _object(config)
        if not isinstance(said, dict):
            raise EngineError("fsdp_config", config, "its settings, or a JSON file of them")
        document = {"fsdp_config": said}
    config = block(document, "fsdp_config")
    named = options.split() if isinstance(options, str) else options
    if named in (None, False, [], ["false"]) and not config:
        return {}
    named = [] if named in (None, False, True, ["true"]) else named
    if not isinstance(named, list):
        raise EngineError("fsdp", options, "names such as full_shard and auto_wrap")
    strategy = next((str(one) for one in named if one not in ("offload", "auto_wrap")), "full_shard")
    return fsdp(config, strategy, away="offload" in named)


def _cuts(document: Document) -> bool:
    """Whether cut cross-entropy takes the loss: axolotl's plugin for it does unless told otherwise."""
    said = values.switch("cut_cross_entropy", document.get("cut_cross_entropy"))
    plugins = document.get("plugins")
    brought = isinstance(plugins, list) and any("CutCrossEntropyPlugin" in str(one) for one in plugins)
    return brought if said is None else said


def _axolotl(document: Document) -> Found:
    adapter = values.named("adapter", document.get("adapter"), {"lora": "lora", "qlora": "qlora"})
    # Its own default is `bf16: auto`.
    silent = document.get("bf16") is None and not values.switch("fp16", document.get("fp16"))
    found: dict[str, Any] = {} if silent else _compute(document)
    linear = values.switch("lora_target_linear", document.get("lora_target_linear"))
    targets = ("all-linear",) if linear else _targets(document.get("lora_target_modules"))
    if adapter:
        found |= _adapter(ChainMap({"use_dora": document.get("peft_use_dora")}, document), _axolotl_bits(document))  # type: ignore[arg-type]
        found["targets"] = targets
    elif document.get("unfrozen_parameters"):
        found["method"] = "freeze"
    for key, name in (("flash_attention", "flash"), ("sdp_attention", "sdpa"), ("eager_attention", "eager")):
        if values.switch(key, document.get(key)):
            found["attention"] = name
    if document.get("attention") is not None or document.get("attn_implementation") is not None:
        found["attention"] = _attention(document.get("attention", document.get("attn_implementation")))
    if document.get("rl") not in values.ABSENT:
        names = dict.fromkeys(("dpo", "ipo", *_ALONE), "dpo") | {"kto": "kto", "grpo": "grpo"}
        found["stage"] = values.named("rl", str(document["rl"]).lower(), names)
    elif values.switch("reward_model", document.get("reward_model")):
        found["stage"] = "reward"
    recompute = document.get("gradient_checkpointing")
    if isinstance(recompute, str) and recompute not in ("true", "false"):
        # `offload` and `offload_disk` keep the inputs of recomputed blocks elsewhere.
        found["checkpointing"] = True
    found |= _reentrant(document)
    fused = ("liger_fused_linear_cross_entropy", "unsloth_cross_entropy_loss")
    found["fused_loss"] = any(values.switch(key, document.get(key)) for key in fused) or _cuts(document)
    liger = "liger" in str(document.get("plugins")).lower()
    found["fused_norm"] = (liger and values.switch("liger_rms_norm", document.get("liger_rms_norm"))) or None
    return {**found, **_optimizer(document, "optimizer")}


def _axolotl_silent(document: Document, named: Found) -> Found:
    auto = ChainMap({"bf16": "auto"}, document) if document.get("bf16") is None else document  # type: ignore[arg-type]
    compute = named.get("compute") or _format(auto)
    found = {"method": "full", "stage": "sft", "checkpointing": False, "compute": compute, "weights": compute}
    return {**found, "micro_batch": 1, "sequence": 512}


def _recomputes(what: str, value: object) -> bool | None:
    return True if isinstance(value, str) and value.startswith(("offload", "unsloth")) else values.switch(what, value)


def _checkpointing_of_llama_factory(document: Document) -> tuple[bool | None, bool | None]:
    """LLaMA-Factory's own switch, without which it recomputes, and its Trainer's, which can only switch it on too."""
    disabled, asked = (
        values.switch(key, document.get(key)) for key in ("disable_gradient_checkpointing", "gradient_checkpointing")
    )
    return disabled, asked


def _llama_factory(document: Document) -> Found:
    method, stage = document.get("finetuning_type", "lora"), document.get("stage", "sft")
    if method not in ("full", "freeze", "lora", "oft"):
        raise EngineError("finetuning_type", method, ("full", "freeze", "lora", "oft"))
    found: dict[str, Any] = _compute(document)
    if values.switch("pure_bf16", document.get("pure_bf16")):
        found |= {"compute": "bf16", "weights": "bf16"}
    if "finetuning_type" in document:
        found["method"] = method if method != "oft" else "lora"
    kept, asked = _checkpointing_of_llama_factory(document)
    found["checkpointing"] = True if asked else None if kept is None else not kept
    found["stage"] = {"pt": "pretrain", "rm": "reward"}.get(str(stage), stage)
    if found["stage"] not in ("pretrain", "sft", "dpo", "kto", "reward", "ppo"):
        raise EngineError("stage", stage, ("pt", "sft", "rm", "ppo", "dpo", "kto"))
    bits, targets = values.count("quantization_bit", document.get("quantization_bit")), document.get("lora_target")
    if method in ("lora", "oft"):
        adapter = _adapter(document, (bits,) if bits else ())
        if "method" not in found and adapter["method"] == "lora":
            del adapter["method"]  # by default
        found |= adapter
        found["targets"] = _targets("all" if targets is None else targets)
    found["attention"] = _attention(document.get("flash_attn", "auto"))
    found["fused_loss"] = bool(values.switch("enable_liger_kernel", document.get("enable_liger_kernel")))
    own = {"optimizer": "muon", "update": None} if values.switch("use_muon", document.get("use_muon")) else {}
    return {**found, **_optimizer(document, "optim"), **own}


def _llama_factory_silent(document: Document, named: Found) -> Found:
    compute, method = named.get("compute", "fp32"), named.get("method", "lora")
    # Trained weights are cast to FP32 unless the file asks for pure BF16.
    weights = "fp32" if method in ("full", "freeze") else compute
    found = {"method": method, "checkpointing": True, "compute": compute, "weights": weights}
    return {**found, "micro_batch": 8, "sequence": 2048, "rank": 8}


def _adapted(document: Document) -> bool | None:
    """Whether the options of a Trainer's script ask for adapters; None where they do not say."""
    asked = [values.switch(key, document.get(key)) for key in (*_FOUR_BITS, *_ADAPTERS)]
    if any(asked) or _bits(document):
        return True
    ranked = any(document.get(key) not in values.ABSENT for key in ("lora_r", "lora_rank"))
    # Whoever switches four bits off has said nothing of adapters, which a rank asks for.
    return False if False in (asked[len(_FOUR_BITS) :] if ranked else asked) else ranked or None


def _of_a_script(document: Document) -> Found:
    """What the options of `transformers`' Trainer, of TRL and of scripts around them say."""
    key = _key(document, "dtype", ("torch_dtype",))
    kept = values.named(key, document.get(key), {**FORMATS, **_SHORT}, tuple(FORMATS))
    found: dict[str, Any] = {**_compute(document), "weights": kept}
    targets = _targets(document.get("lora_target_modules"))
    adapted = _adapted(document)
    if adapted is False:
        found["method"] = "full"
    elif adapted:
        short = any(values.switch(key, document.get(key)) for key in _FOUR_BITS)
        asked = values.count("bits", document.get("bits"))
        bits = (*_bits(document), *((4,) if short else ()), *((asked,) if asked else ()))
        # TRL's own key for double quantization, which it leaves out where its file is silent, and QLoRA's script's.
        nested = document.get("use_bnb_nested_quant", document.get("double_quant", False))
        found |= _adapter(ChainMap(document, {"double_quantization": nested}), bits)  # type: ignore[arg-type]
        found["targets"] = targets
    found["attention"] = _attention(document.get("attn_implementation"))
    if any(values.switch(key, document.get(key)) for key in ("use_flash_attn", "use_flash_attention_2")):
        found["attention"] = "flash"
    if lengths := [values.count(key, document.get(key)) for key in _TWO_LENGTHS if document.get(key)]:
        found["sequence"] = sum(filter(None, lengths))
    # Other trainers have the one key beside the length of a whole example, which GRPO's has not.
    keys = document.keys() - ({"max_completion_length"} if "max_length" in document else set())
    found["stage"] = next((stage for stage, marks in _STAGES.items() if marks & keys), None)
    return {**found, **_reentrant(document), **_optimizer(document, "optim")}


_TWO_LENGTHS = ("source_max_len", "target_max_len")
"""Of a question and of its answer, as QLoRA's script cuts them."""
_SHORT: Mapping[str, Format] = {"bf16": "bf16", "fp16": "fp16", "half": "fp16", "fp32": "fp32", "float": "fp32"}
"""Names of formats that scripts take beside PyTorch's."""
_ALONE = ("orpo", "simpo")
"""Ways to train by pairs without a reference."""
_PAIRS = ("sigmoid", "hinge", "ipo", "kto_pair", *_ALONE)
"""LLaMA-Factory's ways to train by pairs."""
OF_GRPO = frozenset(("num_generations", "max_completion_length"))
"""Keys by which a file is GRPO's where nothing else says what it is."""
_STAGES: Mapping[Stage, Set[str]] = {
    "grpo": OF_GRPO,
    "kto": {"desirable_weight", "undesirable_weight"},
    "dpo": {"beta", "max_prompt_length", "precompute_ref_log_probs", "reference_free"},
}
"""Keys that only TRL's trainers of preferences have, the most telling first: KTO and GRPO have `beta` too."""


_OF_OWN_LOOPS = {"with_tracking", "use_lora", "use_qlora", "use_slow_tokenizer"}
"""Options of scripts around accelerate with a loop of their own, as open-instruct's."""


def _trl_silent(document: Document, named: Found) -> Found:
    found = {"method": "full", "compute": "bf16", "weights": "fp32", "stage": "sft"}
    # Scripts with a loop of their own recompute nothing by default (open-instruct, `finetune.py`).
    recomputes = not document.keys() & _OF_OWN_LOOPS
    return {**found, "checkpointing": recomputes, "micro_batch": 8, "sequence": 1024, "rank": 16}


def _trainer_silent(document: Document, named: Found) -> Found:
    return {"method": "full", "compute": "fp32", "checkpointing": False, "micro_batch": 8}


DIALECTS = (
    Dialect(
        "axolotl",
        frozenset({"base_model", "micro_batch_size", "sequence_len", "sample_packing", "lora_target_linear"}),
        {
            "micro_batch": ("micro_batch_size", _COUNT),
            "accumulate": _COMMON["accumulate"],
            "sequence": ("sequence_len", _COUNT),
            "packing": ("sample_packing", _SWITCH),
            "checkpointing": ("gradient_checkpointing", _recomputes),
            "epochs": ("num_epochs", _AMOUNT),
            "rank": ("lora_r", _COUNT),
            "fp32_adapters": ("peft_autocast_adapter_dtype", _SWITCH),
            "compiled": _COMMON["compiled"],
            "tensor": ("tensor_parallel_size", _COUNT),
            "context": ("context_parallel_size", _COUNT),
            "shard": ("dp_shard_size", _COUNT),
            "copies": ("dp_replicate_size", _COUNT),
        },
        ("base_model",),
        _axolotl,
        _axolotl_silent,
    ),
    Dialect(
        "LLaMA-Factory",
        frozenset({"finetuning_type", "cutoff_len", "lora_target", "stage", "template"}),
        {
            **{fact: _COMMON[fact] for fact in ("micro_batch", "accumulate", "packing", "epochs", "compiled")},
            "sequence": ("cutoff_len", _COUNT),
            "rank": ("lora_rank", _COUNT),
        },
        ("model_name_or_path",),
        _llama_factory,
        _llama_factory_silent,
    ),
    Dialect(
        "Trainer",
        frozenset({"block_size", "model_max_length"}),
        {**_COMMON, "sequence": ("block_size", _COUNT)},
        _MODELS,
        _of_a_script,
        _trainer_silent,
        {**_OTHERS, "sequence": _LENGTHS},
    ),
    Dialect(
        "TRL",
        frozenset({"per_device_train_batch_size", "max_length", "max_seq_length", "dataset_name", "use_peft"}),
        {**_COMMON, "sequence": ("max_length", _COUNT)},
        _MODELS,
        _of_a_script,
        _trl_silent,
        {**_OTHERS, "sequence": _LENGTHS},
    ),
)
"""The programs, those with the most telling keys first."""
KINDS = frozenset(one.kind for one in DIALECTS)
"""Their names."""


_OF_OTHERS = frozenset(("peft_config", "quant_config", "dist_config", "kernel_config", "init_config", "model_class"))
"""Keys of LLaMA-Factory's newer files, which none of these programs reads."""


def dialect_of(document: Document) -> Dialect | None:
    """The program whose file this is, by the keys that only its files have; None for another file, as torchtune's."""
    if document.keys() & _OF_OTHERS or isinstance(document.get("model"), Mapping):
        return None
    merges = "export_dir" in document and "stage" not in document
    if merges or (document.get("do_predict") is True and not document.get("do_train")):
        return None
    if any(isinstance(part, Mapping) and "_component_" in part for part in document.values()):
        return None
    found = max(DIALECTS, key=lambda one: len(one.marks & document.keys()))
    return found if found.marks & document.keys() else None
