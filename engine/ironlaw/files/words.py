"""From what files say to the words of a setup; and what had to be assumed where they say nothing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any

from ironlaw.config.checks import unshared
from ironlaw.core.errors import MISSING, EngineError
from ironlaw.files import trainers, values
from ironlaw.files.division import division, grouped, model_of, offload, unshared_experts
from ironlaw.files.facts import (
    ADD,
    ASIDE,
    MAYBE_ALONE,
    NOT_UNDERSTOOD,
    STRANGE,
    UNKNOWN,
    UNREAD,
    Facts,
    Format,
    Reading,
)
from ironlaw.files.switches import Besides, besides
from ironlaw.files.together import Joined, joined, makes_optimizer, trains_everything
from ironlaw.graph.adaptation import routing
from ironlaw.hardware.accelerators import accelerator
from ironlaw.models import checkpoints
from ironlaw.models.layers import Attention, Experts, FeedForward
from ironlaw.models.transformer import Transformer

SEQUENCE = 2048
"""Tokens of a sequence where no file says how many: never a model's longest, which few train with."""
CHUNKS = 8
"""Pieces of the loss where a kernel never keeps the logits whole."""
_PRECISIONS: Mapping[tuple[Format, Format], str] = {
    ("fp32", "fp32"): "fp32",
    ("fp32", "bf16"): "amp-bf16",
    ("fp32", "fp16"): "amp-fp16",
    ("bf16", "bf16"): "bf16",
    ("fp16", "fp16"): "fp16",
    ("bf16", "fp8"): "fp8",
    ("fp32", "fp8"): "amp-fp8",
}
"""Formats of weights and of products, and the precision that has both."""
DIVIDED: Mapping[str, str] = {"bf16": "mixed-bf16", "fp16": "mixed"}
"""Format of products -> the precision of programs that divide FP32 weights: FSDP's mixed precision, ZeRO."""
DECIDED = {"checkpointing": "checkpointing", "compute": "precision", "attention": "attention", "compiled": "execution",
          "update": "update"}  # fmt: skip
"""Fact -> the word that it decides."""
_OF_A_RUN = "What a run printed does not say what is trained: all of it is counted. Add its command, or say --method."
_HOW_MANY = "Nobody says how many devices divide it: it is counted on one. Say how many by --dp."
PAIRED = ("dpo", "reward")
"""Stages whose examples are two sequences, the chosen and the rejected one."""
_AUTO = {"auto": "BF16, on a card without it in FP16", "auto-fp32": "BF16, on a card without it in FP32"}
"""What a format that is the card's is called."""


@dataclass(frozen=True)
class Understood:
    """Understood of a setup.

    Attributes:
        words: For `ironlaw.setup`, by name.
        assumed: What no file said, a sentence each.
        missing: What a file left to another one, a sentence each.
        readings: The files, as they were understood.
        besides: Whether what files switch on and no plan counts takes more memory, less, or both, as what stands in a
            file that is not here may; None for nothing.
    """

    words: Mapping[str, Any]
    assumed: tuple[str, ...]
    missing: tuple[str, ...]
    readings: tuple[Reading, ...]
    besides: Besides | None = None


def words_of(files: Iterable[Reading] | Joined, given: Mapping[str, Any] | None = None) -> Understood:
    """The words of the setup that files describe together.

    Args:
        files: The files, or what they say together where that is known already.
        given: Understood that somebody chose, which count before those of files.

    Raises:
        EngineError: Files contradict each other, or none says which model is trained.
    """
    said, given = files if isinstance(files, Joined) else joined(files), dict(given or {})
    read, facts, silent = said.readings, said.facts, said.silent
    if "method" in given:
        facts = replace(facts, method=given["method"])
    assumed: list[str] = []
    words: dict[str, Any] = {"model": facts.model, "gpu": facts.gpu}
    config = next((reading.config for reading in read if reading.config is not None), None)
    if config is not None:
        from ironlaw.models import from_config
        from ironlaw.models.families import FAMILIES

        # A file's own name for a model may be a path, which travels no further.
        kind = config.get("model_type")
        named = kind if isinstance(kind, str) and kind in FAMILIES else "model"
        name = values.model(config.get("_name_or_path")) or named
        words["model"] = from_config(config, str(name))
    grouped(facts, said.groups, given, assumed)
    by_default = _by_default(facts, silent - given.keys())
    facts = _by_card(facts, given.get("gpu") or facts.gpu)
    facts = _operations(facts, given.get("model") or words["model"], assumed)
    words |= _step(facts, assumed, given, silent) | _method(facts, assumed)
    words["lora_dropout"] = _dropout(facts, given.get("model") or words["model"], assumed)
    assumed += by_default
    if makes_optimizer(read) and any(one.facts.optimizer not in (None, facts.optimizer) for one in read):
        assumed.append("DeepSpeed makes the optimizer of its own file, and the script's counts for nothing.")
    model = given.get("model") or words["model"]
    if (facts.context or 1) > 1 and model is not None and (why := unshared(model_of(model))):
        assumed.append(f"Context parallelism is not counted for a model {why}: the answer is without it.")
        facts = replace(facts, context=None)
    if (facts.expert or 1) > 1 and (why := unshared_experts(facts, words, model)):
        assumed.append(
            f"Expert parallelism over {facts.expert} devices is not counted {why}: the answer is without it."
        )
        facts = replace(facts, expert=None)
    words |= division(facts, {**facts.said(), **given}, assumed)
    words |= offload(facts, model, {**words, **given})
    words = {**{word: value for word, value in words.items() if value is not None}, **given}
    if "model" not in words:
        raise EngineError("model", _strange(read) or MISSING, ("a config.json", "a name that the engine knows"))
    if "gpu" not in words:
        table = "the table of nvidia-smi" + " of a card that it knows" * any(one.kind == "nvidia-smi" for one in read)
        raise EngineError("gpu", MISSING, ("a name that the engine knows", table))
    # With everything from files there, a sentence on what is missing in one of them says nothing any more.
    known = config is not None or facts.model is not None
    kinds = {reading.kind for reading in read}
    missing = [line for reading in read for line in reading.missing if not _answered(line, facts, kinds, known=known)]
    if tensors := {name: shape for reading in read for name, shape in reading.tensors.items()}:
        missing.append(_audited(tensors, words["model"]))
    stands = words["model"] if isinstance(words["model"], str) else words["model"].name
    unknown = "add its config.json"
    missing = [f"{line} Until then {stands} stands instead." if unknown in line else line for line in missing]
    if words.get("zero") is None and facts.zero and facts.devices is None and "dp" not in given:
        missing.append(_HOW_MANY)
    if kinds & {"log", "out of memory"} and facts.method is None and "method" not in given:
        missing.append(_OF_A_RUN)
    answered = {MAYBE_ALONE} if "reference" in given else set()
    told = tuple(line for line in dict.fromkeys(filter(None, missing)) if line not in answered)
    uncounted = [name for reading in read for name, word in reading.uncounted.items() if word not in given]
    adapters = words.get("method") in ("lora", "qlora")
    return Understood(words, tuple(assumed), told, read, _beside(told, besides(uncounted, adapters=adapters)))


def _beside(told: Iterable[str], uncounted: Besides | None) -> Besides | None:
    """Which way a verdict may turn by what is not counted, and by what is told to be missing."""
    lines = tuple(told)
    if is_partly_read(lines) or any(line.endswith(ADD) for line in lines):
        return "both"
    if _HOW_MANY not in lines and _OF_A_RUN not in lines:
        return uncounted
    return "less" if uncounted in (None, "less") else "both"  # dividing takes less, and so do adapters


def is_partly_read(told: Iterable[str]) -> bool:
    """Whether these sentences tell of something that was not read, or not understood, and may decide."""
    return any(
        line.startswith(NOT_UNDERSTOOD) or (line.startswith(UNREAD) and UNKNOWN not in line and ASIDE not in line)
        for line in told
    )


def _strange(readings: Iterable[Reading]) -> str:
    """The name on the hub that a file gives a model which the engine does not know; empty where it may not be told."""
    lines = (line for reading in readings for line in reading.missing)
    found = (re.match(rf"([\w./-]+) {STRANGE}", line) for line in lines)
    return next((one[1] for one in found if one), "")


def _operations(facts: Facts, model: Any, assumed: list[str]) -> Facts:
    """The facts with Megatron-LM's operations where the engine knows them of the model, and a sentence elsewhere."""
    if model is None or (facts.framework is None and facts.shape is None):
        return facts
    m = model_of(model)
    said, counted = dict(facts.shape or ()), _shape(m)
    if other := [name for name, size in said.items() if counted.get(name, size) != size]:
        theirs = ", ".join(f"--{name.replace('_', '-')} {said[name]:,}" for name in other)
        ours = ", ".join(f"{counted[name]:,}" for name in other)
        assumed.append(f"The command's model has {theirs}; {m.name}, which is counted, has {ours}.")
    if facts.framework and not all(layer.plain for layer, _ in m.kinds):
        assumed.append(f"Counted with PyTorch's operations: Megatron-LM's are not known of {m.name}'s layers.")
        return replace(facts, framework=None)
    return facts


def _shape(m: Transformer) -> Mapping[str, int]:
    """A model's sizes by Megatron-LM's options, as far as all its layers have the same."""
    found = {"num_layers": m.layers, "hidden_size": m.hidden}
    if len(m.kinds) > 1:
        return found
    attention, part = m.kinds[0][0].attention, m.kinds[0][0].feed_forward
    if isinstance(attention, Attention):
        found |= {"num_attention_heads": attention.heads, "num_query_groups": attention.kv_heads}
    if isinstance(part, FeedForward):
        found |= {"ffn_hidden_size": part.width, "num_experts": 0}
    return found | ({"num_experts": part.count} if isinstance(part, Experts) else {})


def _audited(tensors: Mapping[str, checkpoints.Shape], model: Any) -> str:
    """What a checkpoint and the model do not have of each other; nothing where they agree."""
    m = model_of(model)
    found = checkpoints.audit(tensors, m)
    if not (found.unexplained or found.absent):
        return ""
    return (
        f"The checkpoint's header, {found.elements:,} parameters, is not the whole of {m.name}, {m.parameters:,}: "
        f"{len(found.unexplained)} of its tensors are no part of that model, and {len(found.absent)} of the model are "
        "not in it. Of a checkpoint in several files add every header."
    )


def _answered(line: str, facts: Facts, kinds: Set[str], *, known: bool) -> bool:
    answers = {
        "config.json": known,
        "DeepSpeed file": facts.runtime == "deepspeed",
        "own file for DeepSpeed": "DeepSpeed" in kinds,
        "accelerate's file": "accelerate" in kinds,
        "script's": bool(kinds & {*trainers.KINDS, "nanoGPT"}) or ("log" in kinds and facts.sequence is not None),
    }
    return not line.startswith(UNREAD) and any(there and about in line for about, there in answers.items())


def said_words(readings: Iterable[Reading]) -> frozenset[str]:
    """Words of a setup of which texts say how they were."""
    files = tuple(readings)
    said = {name for one in files for name in one.facts.said().keys() - one.silent}
    answered = {word for one in files for word in one.uncounted.values() if word}
    return frozenset(word for name, word in DECIDED.items() if name in said) | answered


def _by_card(facts: Facts, gpu: Any) -> Facts:
    """Facts with the formats that a card has where a file leaves them to it; BF16 where nobody says which card."""
    chip = accelerator(gpu) if isinstance(gpu, str) else gpu
    short: Any = chip.short_format or "fp32" if chip else "bf16"
    compute = facts.compute
    if compute in _AUTO:
        compute = short if compute == "auto" or short == "bf16" else "fp32"
    return replace(facts, compute=compute, weights=compute if facts.weights in _AUTO else facts.weights)


def _by_default(facts: Facts, silent: Collection[str]) -> list[str]:
    """A sentence on what no file says and programs do by default, where it changes the answer."""
    unit = "pair" if sequences(facts) > 1 else "sequence"
    told = {
        "method": "LoRA is trained" if facts.method == "lora" else "everything is trained",
        "rank": f"adapters of rank {facts.rank}",
        "lora_dropout": f"with a dropout of {facts.lora_dropout}",
        "micro_batch": f"{facts.micro_batch} {unit}{'s' * (facts.micro_batch != 1)} a forward pass",
        "sequence": f"{facts.sequence or 0:,} tokens a sequence",
        "checkpointing": "every block is recomputed" if facts.checkpointing else "nothing is recomputed",
        "compute": f"products in {_AUTO.get(str(facts.compute)) or str(facts.compute).upper()}",
    }
    if facts.method in ("lora", "dora") and facts.weights == "fp32":
        told["weights"] = "frozen weights in FP32"
    if facts.rollout:
        told["rollout"] = f"vLLM has {float(facts.rollout.partition(':')[2] or 0):.0%} of each card of the training"
    parts = [text for name, text in told.items() if name in silent]
    return [f"Not said, so as the program does by default: {', '.join(parts)}."] if parts else []


def _step(facts: Facts, assumed: list[str], given: Mapping[str, Any], silent: Collection[str]) -> dict[str, Any]:
    """Batch, sequence, formats, kernels."""
    each = sequences(facts)
    found: dict[str, Any] = {"batch": each * (facts.micro_batch or 1), "sequence": facts.sequence or SEQUENCE}
    if facts.micro_batch is None and "batch" not in given:
        assumed.append("One example a forward pass: no file says how many.")
    elif each > 1 and "batch" not in given:
        assumed.append(
            f"Examples are pairs, chosen and rejected: {facts.micro_batch:,} are {found['batch']:,} sequences."
        )
    if facts.sequence is None and "sequence" not in given:
        assumed.append(f"Sequences of {SEQUENCE:,} tokens: no file says how long they are.")
    elif facts.sequence is not None and not facts.packing and "sequence" not in silent:
        assumed.append(f"Every sequence has {facts.sequence:,} tokens; shorter ones need less.")
    found["precision"] = _precision(facts)
    if facts.compute is None and "precision" not in given:
        assumed.append("Products in the default format: no file says which.")
    found["optimizer"], found["update"] = facts.optimizer, facts.update
    if facts.attention is not None:
        found["attention"] = "standard" if facts.attention == "eager" else "flash"
    if facts.checkpointing is not None:
        found["checkpointing"] = "selective" if facts.selective else "full" if facts.checkpointing else "none"
    if facts.fused_loss:
        found["loss"] = f"chunked:{CHUNKS}"
        assumed.append(f"The fused loss is counted as {CHUNKS} pieces.")
    if facts.fused_norm:
        found["rms_norm"] = "fused"
    if facts.compiled:
        found["execution"] = "compiled"
    found["framework"], found["dropout"] = facts.framework, facts.dropout if facts.framework else None
    if facts.eval_batch:
        found["eval_batch"], found["eval_kept"] = each * facts.eval_batch, facts.eval_kept
        found["eval_logits"] = facts.eval_logits if facts.fused_loss else None
        assumed.append(_evaluated(found["eval_batch"], facts.eval_kept or 0))
    return found


def _evaluated(batch: int, kept: int) -> str:
    """What of evaluation is counted, in a sentence."""
    at_once = f"Evaluation is counted with {batch:,} sequence{'s' * (batch > 1)} at a time"
    if kept:
        return f"{at_once}, and keeps the logits of {kept:,} batch{'es' * (kept > 1)}, as it does for metrics."
    return f"{at_once}, and keeps the loss alone: a script's own metrics would keep the logits too."


def _precision(facts: Facts) -> str | None:
    if facts.compute is None:
        return None
    if facts.framework == "megatron":
        return {"bf16": "megatron", "fp16": "mixed", "fp8": "fp8"}.get(facts.compute, "fp32")
    everything, stage = trains_everything(facts), facts.zero or 0
    if facts.runtime == "deepspeed" and everything:
        # Under ZeRO gradients stay in the model's format, unless the file says that they are summed in FP32.
        summed = facts.sums == "fp32" if facts.sums or stage else True
        return "deepspeed" if summed and facts.compute == "bf16" else DIVIDED.get(facts.compute, "fp32")
    adapters = facts.method in ("lora", "dora") and stage == 3 and (facts.devices or 1) > 1
    if facts.runtime == "fsdp" and (adapters or (everything and stage > 1 and facts.weights in (None, "fp32"))):
        # accelerate gives FSDP a policy of mixed precision: shards of what is trained in FP32, gathered in 16 bits.
        return DIVIDED.get(facts.compute, _PRECISIONS.get(("fp32", facts.compute)))
    if facts.method in ("lora", "dora", "qlora") or facts.weights is None:
        # Of a model with adapters only these are trained, in FP32 under autocast.
        return "fp32" if facts.compute == "fp32" else f"amp-{facts.compute}"
    return _PRECISIONS.get((facts.weights, facts.compute))


def _method(facts: Facts, assumed: list[str]) -> dict[str, Any]:
    if facts.method == "freeze":
        assumed.append("All layers are trained: which ones the file freezes is not read.")
    if facts.stage in ("reward", "ppo"):
        assumed.append("Only the model that is trained is counted: no reference model, no rewards, no generation.")
    if facts.stage == "grpo":
        assumed.append("Prompts count as completions, whose scores GRPO needs alone; rewards are not counted.")
    reference = _reference(facts, assumed)
    if facts.method not in ("lora", "dora", "qlora"):
        return {"method": "full" if facts.method else None, "reference": reference, "rollout": facts.rollout}
    targets = None if facts.targets in (None, ("all-linear",)) else ",".join(facts.targets or ())
    # What is not in 4 bits has 16 under FSDP; where it divides the weights that stands by itself.
    apart = facts.unprepared or (facts.runtime == "fsdp" and facts.zero == 2)
    base = "fp32" if facts.weights == "fp32" != facts.compute else None
    return {
        "method": "qlora" if facts.method == "qlora" else "lora",
        "base_format": ("16-bit" if apart else None) if facts.method == "qlora" else base,
        "lora_rank": facts.rank,
        "lora_targets": targets,
        "dora": True if facts.method == "dora" else None,
        "double_quantization": facts.double_quantization if facts.method == "qlora" else None,
        "adapter_format": "16-bit" if facts.fp32_adapters is False else None,
        "reference": reference,
        "rollout": facts.rollout,
    }


def _dropout(facts: Facts, model: Any, assumed: list[str]) -> float | None:
    """The rate of dropout before adapters, where the engine counts it."""
    if not facts.lora_dropout or trains_everything(facts):
        return None
    experts = facts.targets in (None, ("all-linear",)) and model is not None and routing(model_of(model)) == "folded"
    if experts or facts.method == "dora":
        where = "adapters of experts, for which peft refuses it" if experts else "adapters with magnitudes (DoRA)"
        assumed.append(
            f"Dropout before {where}, is not counted." if experts else f"Dropout before {where} is not counted."
        )
        return None
    return facts.lora_dropout


def sequences(facts: Facts) -> int:
    """Sequences of an example."""
    return 2 if facts.stage in PAIRED else 1


def _reference(facts: Facts, assumed: list[str]) -> str | None:
    """The format of a frozen reference: TRL loads it as the model, others and DeepSpeed in that of products.

    Sources: TRL (`DPOTrainer.__init__`), LLaMA-Factory (`create_ref_model`).
    """
    if facts.stage not in ("dpo", "kto", "grpo") or facts.referenced is False:
        return None
    # KTO asks both models for mismatched examples too (TRL, `KTOTrainer.get_batch_loss_metrics`).
    passes, told = (":3", "three forward passes") if facts.stage == "kto" else ("", "a forward pass")
    if not trains_everything(facts):
        told = f"{told} more {'are' if passes else 'is'} counted, each as long as its own"
        assumed.append(f"The reference is the model without its adapters: {told}.")
        return f"16-bit{passes}"
    short = facts.unprepared or facts.runtime == "deepspeed" or facts.weights in ("bf16", "fp16")
    kept = "16-bit" if short and facts.compute != "fp32" else "fp32"
    named = "FP32" if kept == "fp32" else "16 bits"
    assumed.append(f"A frozen reference model in {named} is counted, and {told} without a backward pass.")
    return f"{kept}{passes}"
