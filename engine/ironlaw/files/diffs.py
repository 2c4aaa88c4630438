"""A change as a diff of the file that somebody pasted: the lines that make it, with comments and order untouched.

An edit is believed only when the edited text, read again, says exactly the changed words and all others as before.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ironlaw.core.errors import EngineError
from ironlaw.files import command_line, documents, edits, launch, read
from ironlaw.files.evaluation import EVALUATION
from ironlaw.files.facts import Facts, Reading
from ironlaw.files.trainers import KINDS
from ironlaw.files.words import sequences, words_of

if TYPE_CHECKING:
    from ironlaw.answers.advice import Advice
    from ironlaw.hardware.accelerators import Accelerator

Edit = tuple[edits.Path, object]
_SILENT = ("base_format", "keep_logits", "micro_batches", "offload_sizes")
"""Words that come with others and that no file says."""
_DEFAULTS = {"accumulate": 1, "attention": "flash", "checkpointing": "none", "offload": "none", "optimizer": "adamw"}
_PRECISIONS: Mapping[str, Mapping[str, Mapping[str, object]]] = {
    "axolotl": {"bf16": {"bf16": True}, "fp16": {"fp16": True},
                "16-bit": {"peft_autocast_adapter_dtype": False}},
    "LLaMA-Factory": {"bf16": {"pure_bf16": True, "bf16": False}, "amp-bf16": {"bf16": True},
                      "amp-fp16": {"fp16": True}},
    "TRL": {"bf16": {"bf16": True, "dtype": "bfloat16"}, "amp-bf16": {"bf16": True},
            "amp-fp16": {"fp16": True, "bf16": False}, "none": {"precompute_ref_log_probs": True}},
    "Trainer": {"amp-bf16": {"bf16": True}, "amp-fp16": {"fp16": True}},
}  # fmt: skip
"""Formats of a precision, or of adapters, as a program is told of them; and that it needs no reference beside it."""
_ATTENTION: Mapping[str, Mapping[str, Mapping[str, object]]] = {
    "axolotl": {"flash_attention_2": {"flash_attention": True}, "sdpa": {"sdp_attention": True}},
    "LLaMA-Factory": {"flash_attention_2": {"flash_attn": "fa2"}, "sdpa": {"flash_attn": "sdpa"}},
    **{kind: {name: {"attn_implementation": name} for name in ("flash_attention_2", "sdpa")}
       for kind in ("TRL", "Trainer")},
}  # fmt: skip
"""How a program is told to call an implementation of fused attention (`ironlaw.files.launch.fused_attention`)."""
_LIGER = {
    "loss": {"axolotl": "liger_fused_linear_cross_entropy", "LLaMA-Factory": "enable_liger_kernel",
             "TRL": "use_liger_kernel", "Trainer": "use_liger_kernel"},
    "rms_norm": {"axolotl": "liger_rms_norm"},
}  # fmt: skip
"""Word -> the switch by which a program runs it as a kernel of Liger's."""
_ADAPTERS: Mapping[str, Mapping[str, Mapping[str, object]]] = {
    "axolotl": {
        "lora": {"adapter": "lora", "lora_r": 16, "lora_alpha": 32, "lora_target_linear": True},
        "qlora": {"adapter": "qlora", "load_in_4bit": True},
    },
    "LLaMA-Factory": {"lora": {"finetuning_type": "lora", "lora_rank": 16}, "qlora": {"quantization_bit": 4}},
    "TRL": {
        "lora": {"use_peft": True, "lora_r": 16, "lora_target_modules": "all-linear"},
        "qlora": {"load_in_4bit": True, "use_bnb_nested_quant": True},
    },
}
"""What makes a training one of adapters, and what makes that one over 4 bits; other scripts have no such options."""


class _UnwritableError(Exception):
    """No setting of this file says it."""


def diff(
    text: str, change: Advice | Mapping[str, Any], name: str = "settings", chip: Accelerator | None = None
) -> str | None:
    """A unified diff that makes a change in a file; None where the file has no setting for it.

    Args:
        text: The file as it was pasted: of axolotl, LLaMA-Factory, TRL, DeepSpeed, accelerate, or a launch command.
        change: Advice, or words of `ironlaw.setup` with their new values.
        name: Its name in the diff.
        chip: What it trains on, which says what implementation of attention to ask for.
    """
    after = edited(text, change, chip)
    if after is None or after == text:
        return None
    return unified(text, after, name, name)


def unified(before: str, after: str, old: str, new: str, around: int = 3) -> str:
    """A unified diff of two texts with these names and so many lines around a change."""
    texts = before.splitlines(keepends=True), after.splitlines(keepends=True)
    lines = difflib.unified_diff(texts[0], texts[1], old, new, n=around)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def edited(text: str, change: Advice | Mapping[str, Any], chip: Accelerator | None = None) -> str | None:
    """The file, for a chip, with the change made in it; None where it has no setting for it."""
    words = change if isinstance(change, Mapping) else change.words
    try:
        reading = read(text)
        after: str | None = text
        kind = str(command_line.program(text)) if reading.kind == "command" else reading.kind
        for path, value in _edits(kind, reading, _document(reading, text), words, chip):
            after = after and edits.set_value(reading.kind, after, path, value)
        return after if after and _says(reading, read(after), words) else None
    except (EngineError, _UnwritableError):
        return None


def _document(reading: Reading, text: str) -> Mapping[str, Any]:
    return command_line.options(text) if reading.kind == "command" else documents.mapping(text)[0] or {}


def _says(before: Reading, after: Reading, words: Mapping[str, Any]) -> bool:
    """Whether a reading says what another does, with these words changed."""
    told = [_words(before), _words(after)]
    expected = {**told[0], **{word: value for word, value in words.items() if word not in _SILENT}}
    if "execution" in words:  # which has the fused update by default
        expected["update"] = told[1].get("update", "fused")
        told[1].setdefault("update", "fused")
    if words.get("reference") == "none":
        del expected["reference"]
    if words.get("base_format") == "16-bit":
        expected.pop("base_format", None)  # the usual one
    if "method" in words:  # the adapter's own words follow from it
        of_method = ("lora", "double", "base")
        expected.pop("base_format", None)
        expected = {word: value for word, value in told[1].items() if word.startswith(of_method)} | expected
    for found in (expected, told[1]):  # sizes of buffers come and go with what is divided and offloaded
        found.pop("offload_sizes", None)
    if (words.get("offload"), told[1].get("offload")) == ("optimizer", "gradients"):
        expected["offload"] = "gradients"  # DeepSpeed takes them with the states
    return expected == told[1]


def _words(reading: Reading) -> dict[str, Any]:
    # Of how many devices divide a model most files say nothing, and without some there is nothing to divide.
    launched = Facts() if reading.facts.devices else Facts(devices=8)
    given = {"model": "gpt2", "gpu": "h100-sxm"}
    found = words_of([reading, Reading("command", launched)], given).words
    return {**_DEFAULTS, **found}


def _edits(
    kind: str, reading: Reading, document: Mapping[str, Any], words: Mapping[str, Any], chip: Accelerator | None
) -> Iterator[Edit]:
    if words.get("micro_batches", 1) > 1:
        raise _UnwritableError
    for word in words:
        if word == "base_format" and kind == "TRL" and "method" not in words:
            yield from (((key,), one) for key, one in _base(reading, document).items())
        if word in _SILENT or (word == "lora_rank" and "method" in words):
            continue
        if kind == "DeepSpeed" and word == "offload":
            yield from _offloaded(document, words[word])
        elif kind == "DeepSpeed":
            yield _of_deepspeed(word, words[word])
            if word == "batch":
                yield from _all_batches(reading.facts, words)
        elif kind == "accelerate":
            yield _of_accelerate(document, word, words[word])
        elif kind in KINDS:
            yield from _of_trainer(kind, reading, document, words, word, chip)
        else:
            raise _UnwritableError


def _of_deepspeed(word: str, value: Any) -> Edit:
    keys = {"batch": "train_micro_batch_size_per_gpu", "accumulate": "gradient_accumulation_steps"}
    if word in keys:
        return (keys[word],), value
    if word == "zero":
        return ("zero_optimization", "stage"), value
    raise _UnwritableError


def _all_batches(facts: Facts, words: Mapping[str, Any]) -> Iterator[Edit]:
    """DeepSpeed refuses a `train_batch_size` that is not what its other two counts come to."""
    batch, passes = facts.micro_batch, facts.accumulate or 1
    if batch and facts.global_batch and (facts.accumulate or "accumulate" not in words):
        after = words["batch"] * words.get("accumulate", passes)
        yield ("train_batch_size",), facts.global_batch * after // (batch * passes)


def _offloaded(document: Mapping[str, Any], offload: str) -> Iterator[Edit]:
    """Where DeepSpeed keeps states and weights: under ZeRO-2 and 3 gradients go where states do."""
    away = "none" if offload == "none" else "cpu"
    yield ("zero_optimization", "offload_optimizer", "device"), away
    if offload == "parameters" or edits.has(document, "zero_optimization", "offload_param"):
        yield ("zero_optimization", "offload_param", "device"), "cpu" if offload == "parameters" else "none"


def _host(offload: str) -> str:
    """Where DeepSpeed keeps the optimizer's states."""
    if offload not in ("none", "optimizer"):
        raise _UnwritableError
    return "none" if offload == "none" else "cpu"


def _of_accelerate(document: Mapping[str, Any], word: str, value: Any) -> Edit:
    if edits.has(document, "deepspeed_config"):
        block = "deepspeed_config"
        keys = {"zero": "zero_stage", "accumulate": "gradient_accumulation_steps"}
        if word == "offload":
            return (block, "offload_optimizer_device"), _host(value)
    else:
        block, keys = (
            "fsdp_config",
            {"checkpointing": "fsdp_activation_checkpointing", "offload": "fsdp_offload_params"},
        )
        if word == "zero" and value >= 2:
            new = edits.has(document, block, "fsdp_reshard_after_forward")
            strategy = "FULL_SHARD" if value == 3 else "SHARD_GRAD_OP"
            return ((block, "fsdp_reshard_after_forward"), value == 3) if new else (
                (block, "fsdp_sharding_strategy"), strategy)  # fmt: skip
        value = {"full": True, "optimizer": True, "none": False}.get(value, value)
    if word not in keys or isinstance(value, str):
        raise _UnwritableError
    return (block, keys[word]), value


def _of_trainer(
    kind: str,
    reading: Reading,
    document: Mapping[str, Any],
    words: Mapping[str, Any],
    word: str,
    chip: Accelerator | None,
) -> Iterator[Edit]:
    value = words[word]
    found: dict[str, object] = {}
    if word in ("batch", "accumulate", "eval_batch", "sequence"):
        found = dict.fromkeys(_keys_of_count(word, reading, document), _count(word, value, reading))
    elif word == "checkpointing" and value in ("none", "full"):
        found = {"gradient_checkpointing": value == "full"}
        if kind == "LLaMA-Factory":
            others = found if "gradient_checkpointing" in document else {}
            found = {"disable_gradient_checkpointing": value == "none", **others}
    elif word in ("optimizer", "update"):
        found = _optimizer(kind, reading, words)
    elif word == "execution" and value == "compiled":
        found = {"torch_compile": True}
    elif word in _LIGER and value not in ("full", "separate"):
        found = _by_liger(kind, document, _LIGER[word].get(kind))
    elif word == "attention" and value == "flash":
        found = _attention(kind, document, chip)
    elif word == "precision" and "method" in words:
        return  # adapters are trained under autocast as it is
    elif word in ("precision", "adapter_format", "reference"):
        found = {**_PRECISIONS[kind].get(str(value).partition(":")[0], {})}
    elif word == "method" and value in ("lora", "qlora"):
        found = _adapter(kind, reading, words)
    if not found:
        raise _UnwritableError
    yield from (((key,), one) for key, one in found.items())


def _count(word: str, value: int, reading: Reading) -> int:
    """A count as a file has it, whose batches are of examples."""
    each = sequences(reading.facts) if word.endswith("batch") else 1
    if value % each:
        raise _UnwritableError
    return value // each


def _keys_of_count(word: str, reading: Reading, document: Mapping[str, Any]) -> list[str]:
    """The settings of a file that say this count."""
    if word == "eval_batch":
        return [key for key in EVALUATION if key in document]
    key = reading.keys.get("micro_batch" if word == "batch" else word)
    return [key] if key else []


def _attention(kind: str, document: Mapping[str, Any], chip: Accelerator | None) -> dict[str, object]:
    name = launch.fused_attention(chip) if chip else "flash_attention_2"
    others: dict[str, object] = {key: False for key in ("eager_attention", "sdp_attention") if key in document}
    return {"attn_implementation": name} if "attn_implementation" in document else {**others, **_ATTENTION[kind][name]}


def _adapter(kind: str, reading: Reading, words: Mapping[str, Any]) -> dict[str, object]:
    """An adapter of the rank that the words say, over 4 bits where they ask for QLoRA; nothing where none is added."""
    ways = _ADAPTERS.get(kind, {"lora": {}, "qlora": {}})
    found = {} if reading.facts.method not in (None, "full") else dict(ways["lora"])
    found |= ways["qlora"] if words["method"] == "qlora" else {}
    if kind == "TRL" and words["method"] == "lora" and words.get("base_format") != "fp32":
        found |= _base(reading, {})
    if rank := words.get("lora_rank"):
        found |= {key: rank for key in ("lora_r", "lora_rank") if key in found}
    return found


def _base(reading: Reading, document: Mapping[str, Any]) -> dict[str, object]:
    """TRL loads a model in FP32 unless it is told otherwise, by either key."""
    key = next((key for key in ("dtype", "torch_dtype") if key in document), "dtype")
    return {key: "float16" if reading.facts.compute == "fp16" else "bfloat16"}


def _optimizer(kind: str, reading: Reading, words: Mapping[str, Any]) -> dict[str, object]:
    name = words.get("optimizer", reading.facts.optimizer or "adamw")
    known = launch.OPTIMIZERS.get((name, words.get("update"))) or launch.OPTIMIZERS.get((name, None))
    return {"optimizer" if kind == "axolotl" else "optim": known} if known else {}


def _by_liger(kind: str, document: Mapping[str, Any], key: str | None) -> dict[str, object]:
    """The switch of a kernel of Liger's. In axolotl it does nothing without its plugin."""
    if key is None:
        return {}
    if kind == "axolotl" and "liger" not in str(document.get("plugins")).lower():
        if "plugins" in document:
            return {}
        return {"plugins": "[axolotl.integrations.liger.LigerPlugin]", key: True}
    return {key: True}
