"""A command that starts a training: `torchrun`, `accelerate launch`, `deepspeed`, `python`, with the script's options.

The options of `transformers`' and TRL's trainers, and of scripts around them, are read as in their files, those of
Megatron-LM by their own names. Options that change memory or time and are not understood are told by their names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ironlaw.files import cluster_files, megatron, nano_gpt, shell, trainers, values
from ironlaw.files.facts import DIVIDES, OVERRIDDEN, Facts, Reading
from ironlaw.files.options import (
    NODES,
    PROCESSES,
    SETTINGS,
    Asked,
    has_variables,
    is_of_a_launcher,
    not_understood,
    positional,
    read_options,
    script_at,
    words_of,
)
from ironlaw.files.preferences import generation, generation_by_default
from ironlaw.files.starts import Start, starts
from ironlaw.files.switches import ANOTHER, HEAD, LOST, OTHERS, OWN_LOOP, SHELL, asked, with_switches
from ironlaw.files.trl import OF_GRPO

_OF_A_TRAINER = frozenset((
    "model_name_or_path", "block_size", "model_max_length", "max_seq_length", "max_length", "cutoff_len",
    "per_device_train_batch_size", "per_gpu_train_batch_size", "gradient_accumulation_steps", "num_train_epochs",
    "fp16", "bf16", "gradient_checkpointing", "optim", "deepspeed", "deepspeed_config", "fsdp", "use_peft", "lora_r",
    "use_lora", "lora_enable", "dataset_name",
))  # fmt: skip
"""Options by which a script takes those of `transformers`' Trainer."""
_OF_TRL = frozenset(("use_peft", "max_length", "completion_only_loss"))
_OF_LLAMA_FACTORY = frozenset(("finetuning_type", "lora_target"))
_PREFERRED = "dpo|kto|grpo|ppo|reward|orpo|cpo|bco|mpo"
_SEVERAL = "ppo|rloo|gkd|gold|distillation|minillm|online_dpo|dpo_online|nash_md|xpo"
_OF_ANY = {"model_name_or_path", "dataset_name"}
"""Those of them that a script has too which trains nothing."""
_TRAINS = re.compile(rf"(?i)train|tun(e|ing)|sft|lora|run_clm|{_PREFERRED}|{_SEVERAL}")
"""What a command says somewhere that trains."""
_TRL = re.compile(rf"(^|[\s/.])trl[\s/.]|(^|[\s/])(run_|train_)?(sft|{_PREFERRED}|{_SEVERAL}|prm)(_\w+)?\.py(\s|$)")
_PREFERENCES, _WITH_OTHERS = (
    re.compile(rf"(?:\S*/)?(?:run_|train_)?({names})(?:_\w+)?(?:\.py)?") for names in (_PREFERRED, _SEVERAL)
)
"""TRL's commands and scripts that take preferences, and those whose trainers have models that no plan counts."""
_OF_STEPS = re.compile(r"(?:\S*/)?(?:run_|train_)?prm(?:_\w+)?\.py")
"""TRL's script that trains rewards of steps, with a head of two numbers."""
_SCRIPT = re.compile(r"\.py\Z|\Atrl\.scripts\.")
_ALONE, _COUNTED_AS = ("orpo", "cpo"), {"orpo": "dpo", "cpo": "dpo", "mpo": "dpo", "bco": "kto"}
"""Those that train by pairs without a reference, and as what trainers are counted that the engine does not know."""
_USUAL = {
    "qlora.py": {
        "lora_r": "64", "bits": "4", "double_quant": "true", "gradient_checkpointing": "true",
        "per_device_train_batch_size": "1", "gradient_accumulation_steps": "16", "source_max_len": "1024",
        "target_max_len": "256", "optim": "paged_adamw_32bit",
    },
    "train_lora.py": {"lora_r": "8", "lora_dropout": "0.05"},
}  # fmt: skip
"""What the scripts of QLoRA and of FastChat do where nobody says otherwise."""
_RUN_CLM = re.compile(r"(^|[\s/])run_clm\w*\.py(\s|$)")
"""The script of `transformers`' examples, which cuts to 1,024 tokens unless told otherwise."""
_NANO_GPT = (re.compile(r"(^|[\s/])train\.py(?=\s)"), re.compile(r"\sconfig/\w+\.py(\s|$)"))
"""nanoGPT's script with a file of its settings; that of GPT-2 says what the script says by itself."""


def chosen(text: str) -> Start:
    """The last training that a text starts whose options are a known program's; the last one where none has such."""
    found = starts(text)
    return next((one for one in reversed(found) if _program(one) is not None), found[-1])


def options(text: str) -> dict[str, str]:
    """The options of a text's command by name, with `_` for `-`; one without a value is `true`.

    Raises:
        EngineError: It is too long, or a quotation mark has no second one.
    """
    return read_options(chosen(text))[0]


def unread(text: str) -> tuple[str, ...]:
    """What else decides in a text that nobody reads: variables that hold anything, options behind the command's end."""
    lost = any(re.match("--?[A-Za-z]", command.words[0].text) for command in shell.commands(text))
    return (*((SHELL,) if has_variables(chosen(text)) else ()), *((LOST,) if lost else ()))


def program(text: str) -> str | None:
    """The program whose options a text's script takes: a kind of file, `"Megatron-LM"`, or None for another."""
    return _program(chosen(text))


def _program(start: Start) -> str | None:
    found, line = read_options(start)[0], start.line
    given = found.keys()
    if given & {"tensor_model_parallel_size", "num_attention_heads"}:
        return "Megatron-LM"
    if given & _OF_LLAMA_FACTORY or ("llamafactory-cli" in line and given & (_OF_A_TRAINER | {"stage", "template"})):
        return "LLaMA-Factory"
    script = _NANO_GPT[0].search(line)
    own = nano_gpt.is_its(found) and nano_gpt.is_all(name for name in given if not is_of_a_launcher(name))
    if script and (own or _NANO_GPT[1].search(line, script.end())):
        return "nanoGPT"
    if not given & (_OF_A_TRAINER if _TRAINS.search(line) else _OF_A_TRAINER - _OF_ANY):
        return None
    return "TRL" if given & _OF_TRL or _TRL.search(line) else "Trainer"


def read(text: str) -> Reading:
    """The facts of a text's command. Raises `EngineError` for a value that the program would refuse."""
    runs = [one for one in starts(text) if _program(one) is not None]
    readings = [_read(one) for one in runs or [chosen(text)]]
    several = len({repr(one.facts) for one in readings}) > 1
    return with_switches(readings[-1], (*unread(text), *((ANOTHER,) if several else ())))


def _read(start: Start) -> Reading:
    found, beside = read_options(start)
    script = next((word.rpartition("/")[2] for word in start.words if word.endswith(".py")), "")
    usual = {} if "full_finetune" in found else _USUAL.get(script, {})
    given, kind = Asked({**usual, **found}), _program(start)
    launched, missing = _launched(given, by_deepspeed="deepspeed" in start.words)
    missing += not_understood((*(f" {word}" for word in beside),))
    if kind == "Megatron-LM":
        facts = launched.joined(megatron.facts_of(given))
        partly = ("recompute_num_layers",) if megatron.recomputes_partly(given) else ()
        names = (*partly, *(one for one in asked(given) if one != "recompute_num_layers"))
        missing += not_understood(tuple(one for one in given.not_understood() if not megatron.IGNORED.fullmatch(one)))
        return with_switches(Reading("command", facts, missing=tuple(missing)), names)
    if kind == "nanoGPT":
        files = [word for word in positional(start) if re.fullmatch(r"\S*config/\w+\.py", word)]
        named = any(not word.endswith("/train_gpt2.py") for word in files)
        inside = nano_gpt.read(given, "command", alone=not named)
        missing += [OVERRIDDEN] if named else []
        return replace(inside, facts=inside.facts.joined(launched), missing=tuple(missing))
    dialect = next((one for one in trainers.DIALECTS if one.kind == kind), None)
    named_file = _settings_file(start, given)
    if dialect is None:
        missing.append(named_file or "The script's own settings are not in it: add its file.")
        launched = launched.joined(_preferred(start, given)[0]) if named_file else launched
        unread = Reading("command", launched, missing=(*missing, *not_understood(given.not_understood())))
        return with_switches(unread, (OTHERS,) if _has_others(start) else ())
    preferred, told = _preferred(start, given) if kind == "TRL" else (Facts(), ())
    if preferred.stage not in (None, "grpo"):
        for key in OF_GRPO:
            given.pop(key, None)  # others have them too
    inside = trainers.read(given, dialect)
    if preferred.stage:
        vllm = Facts(**generation_by_default(given, preferred.stage))
        silent = inside.silent - preferred.said().keys() | vllm.said().keys()
        inside = replace(inside, facts=preferred.completed(inside.facts).completed(vllm), silent=silent)
        missing += told
    by_default = inside.facts.without(inside.facts.said().keys() - inside.silent)
    if kind == "Trainer" and _RUN_CLM.search(start.line):
        by_default = by_default.completed(Facts(sequence=1024))
    if named_file:
        # That file says the rest, and not the program's defaults.
        missing.append(named_file)
        by_default = Facts()
    said = inside.facts.without(inside.silent)
    facts = said.joined(launched.without({"compute"} & said.said().keys()))
    others = kind == "TRL" and _has_others(start)
    # DeepSpeed without a file has its settings in the script's code.
    own_loop = given.get("deepspeed") == "true" or any("open_instruct/" in word for word in start.words)
    head = facts.stage == "reward" or (kind == "TRL" and any(map(_OF_STEPS.fullmatch, _named(start))))
    also = {OTHERS: others, OWN_LOOP: own_loop, HEAD: head}
    switched = (*asked(given), *(name for name, there in also.items() if there))
    missing += [*inside.missing, *not_understood(given.not_understood())]
    read = Reading(
        "command",
        facts.completed(by_default),
        keys=inside.keys,
        silent=frozenset(by_default.said().keys() - facts.said().keys()),
        missing=tuple(missing),
        called=inside.called,
        uncounted=inside.uncounted,
    )
    return with_switches(read, switched)


def _preferred(start: Start, given: Mapping[str, Any]) -> tuple[Facts, tuple[str, ...]]:
    """What the name of TRL's command or script says, and a sentence where the engine counts another trainer for it."""
    told = next(filter(None, map(_PREFERENCES.fullmatch, _named(start))), None)
    if told is None:
        return Facts(), ()
    stage: Any = _COUNTED_AS.get(told[1], told[1])
    facts = Facts(stage=stage, **generation(given, stage))
    facts = replace(facts, referenced=False) if told[1] in _ALONE else facts
    return facts, ("BCO is counted as KTO.",) if told[1] == "bco" else ()


def _has_others(start: Start) -> bool:
    """Whether the trainer that TRL's command or script names has models that no plan counts."""
    return any(map(_WITH_OTHERS.fullmatch, _named(start)))


def _named(start: Start) -> tuple[str, ...]:
    """What may be the name of TRL's command or script among a command's words."""
    scripts = (word.removeprefix("trl.scripts.") for word in words_of(start) if _SCRIPT.search(word))
    return (*positional(start), *scripts) if _TRL.search(start.line) else ()


def _launched(given: Mapping[str, Any], *, by_deepspeed: bool) -> tuple[Facts, list[str]]:
    """What the program says that starts the processes: how many, and with accelerate what they divide."""
    # Each is looked up, so that none is told as not understood.
    per_node, nodes = (next(iter([given[one] for one in names if one in given]), None) for names in (PROCESSES, NODES))
    nodes = _nodes(nodes)
    if per_node is None and (slots := re.fullmatch(r"[\w.-]+:(\d+(?:,\d+)*)", str(given.get("include", "")))):
        per_node = slots[1].count(",") + 1  # the cards of one machine, which DeepSpeed's launcher is told by number
    here = None if per_node in ("gpu", "auto") else values.count("nproc-per-node", per_node)
    devices = here * (nodes or 1) if here else values.count("num-processes", given.get("num_processes"))
    facts, missing = Facts(devices=devices, nodes=nodes), []
    if "config_file" in given:
        missing.append(f"It names accelerate's file, {DIVIDES}")
    how = next((way for way in ("deepspeed", "fsdp") if f"use_{way}" in given), None)
    how = "deepspeed" if "deepspeed_config_file" in given else how
    named = any(str(given.get(key, "")).endswith(".json") for key in ("deepspeed", "deepspeed_config"))
    if by_deepspeed and not named and re.fullmatch("[0-3]", str(given.get("zero_stage", ""))):
        facts = facts.joined(Facts(runtime="deepspeed", zero=int(given["zero_stage"])))  # a script's own option
    groups = {key: given[key] for key in given if key.startswith("parallelism_config_")}
    if how or groups or "mixed_precision" in given:
        engine = {
            key: given[key] for key in given if key.startswith(("zero_stage", "offload_", "deepspeed_config_file"))
        }
        sharding = {key: given[key] for key in given if key.startswith("fsdp_")}
        document = {
            "mixed_precision": given.get("mixed_precision"),
            "deepspeed_config": engine,
            "fsdp_config": sharding,
            "parallelism_config": groups,
        }
        inside = cluster_files.accelerate(document | ({"distributed_type": how.upper()} if how else {}))
        facts, missing = facts.joined(inside.facts), [*missing, *inside.missing]
    return facts, missing


def _settings_file(start: Start, given: Mapping[str, Any]) -> str:
    """A sentence on the file of settings that a command names; nothing where it names none."""
    script, words = script_at(start.words), start.words
    named = any(re.fullmatch(r"(?!-)\S+\.ya?ml", word) for word in positional(start))
    named |= any(SETTINGS.fullmatch(word) for word in words[script + 1 : script + 2])
    if not named and not str(given.get("config", "")).endswith((".yaml", ".yml", ".json")):
        return ""
    return OVERRIDDEN


def _nodes(value: object) -> int | None:
    # `1:4` means from one to four machines; a plan is for the most.
    return values.count("nnodes", str(value).rpartition(":")[2] if value is not None else None)
