"""A command that starts a training: `torchrun`, `accelerate launch`, `deepspeed`, `python`, with the script's options.

The options of `transformers`' and TRL's trainers, and of scripts around them, are read as in their files, those of
Megatron-LM by their own names. Options that change memory or time and are not understood are told by their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from ironlaw.core.errors import EngineError
from ironlaw.core.units import Count
from ironlaw.files import cluster_files, nano_gpt, shell, trainers, values
from ironlaw.files.facts import DIVIDES, NOT_UNDERSTOOD, OVERRIDDEN, Facts, Reading
from ironlaw.files.switches import ANOTHER, LOST, OTHERS, SHELL, asked, with_switches

_PROGRAM = re.compile(r"(?:\S*/)?(?:torchrun|accelerate|deepspeed|python[\d.]*|llamafactory-cli|axolotl|trl)")
_BEFORE = re.compile(r"\w+=.*|nohup|time|sudo|env|exec|do|then|else|[{(!]|CMD|RUN|ENTRYPOINT", re.DOTALL)
"""What stands before a program: variables, words of the shell, programs that start it."""
_NO_TRAININGS = {
    "trl": ("vllm-serve", "chat", "env"),
    "llamafactory-cli": ("chat", "api", "export", "webui", "webchat", "eval", "version", "env"),
    "axolotl": ("preprocess", "inference", "evaluate", "merge-lora", "fetch", "vllm-serve", "quantize", "lm-eval"),
}
"""Program -> those of its commands that train nothing."""
_RUNNERS = ("uv", "poetry")
_SCHEDULED = {
    "nnodes": r"(?:-N\s?|--nodes[= ])(?:\d+-)?(\d+)",
    "gpus_per_node": r"--g(?:pus-per-node|res)[= ](?:\w+:)*(\d+)",
}
"""Option of a launcher -> how the scheduler writes it: its others change nothing here."""
_PROCESSES = ("nproc_per_node", "num_gpus", "gpus_per_node")
_NODES = ("nnodes", "num_nodes", "num_machines")
LONGEST = 50_000
"""Characters of a command, whose words are found slowly."""
_VARIABLE = re.compile(r"\$(?:\w+|[@*]|\{[^}]+\}|\(.*)|`.*`", re.DOTALL)
"""A word that is all a variable's, or what another command prints."""
_DEFAULT = re.compile(r"\A\$\{\w+:?-([^${}]*)\}\Z")
"""A variable with what it holds where nobody sets it."""
_TURNS = re.compile(
    r"config|config_file|deepspeed\w*|mixed_precision|zero_stage|fsdp\w*|offload_\w+|stage|include|use_\w+|num_processes"
)
"""Options whose values decide what is counted, though some of them only start processes."""
_LASTS = re.compile(r"(num_|max_)?(train_)?(epochs|steps|iters)|max_train_steps|num_train_epochs|train_iters")
"""How long a training lasts changes neither the memory nor the time of a step."""
_OF_OPTIONS = re.compile(
    r"\$(?:[@*]|\{\w+\[[@*]\]\}|\{?\w{0,40}(?:ARG|OPT|FLAG|PARAM|EXTRA)\w{0,40}\}?)", re.IGNORECASE
)
"""A shell's variable that holds several words, by its form or its name."""
MOST_TOLD = 4
"""Options that are told by name where they are not understood."""
_LISTS = {"lora_target_modules": ",", "fsdp": " "}
"""Options that take several values, and what stands between these."""
_PLAIN = re.compile(r"(?![.]{2})[\w./:,+-]+")
"""A word that goes on with the values of an option: nothing of a word processor, no file of options, no ellipsis."""
_SETTINGS = re.compile(r"(?!-)\S+\.(?:ya?ml|json|toml)")
_MEGATRON = {
    "tensor_model_parallel_size": "tensor", "pipeline_model_parallel_size": "pipeline",
    "context_parallel_size": "context", "expert_model_parallel_size": "expert", "micro_batch_size": "micro_batch",
    "global_batch_size": "global_batch", "seq_length": "sequence", "train_iters": "steps",
}  # fmt: skip
_OF_A_TRAINER = frozenset((
    "model_name_or_path", "block_size", "model_max_length", "max_seq_length", "max_length", "cutoff_len",
    "per_device_train_batch_size", "per_gpu_train_batch_size", "gradient_accumulation_steps", "num_train_epochs",
    "fp16", "bf16", "gradient_checkpointing", "optim", "deepspeed", "deepspeed_config", "fsdp", "use_peft", "lora_r",
    "use_lora", "lora_enable", "dataset_name",
))  # fmt: skip
"""Options by which a script takes those of `transformers`' Trainer."""
_OF_TRL = frozenset(("use_peft", "max_length", "completion_only_loss"))
_OF_LLAMA_FACTORY = frozenset(("finetuning_type", "lora_target"))
_TRL = re.compile(
    r"(^|[\s/.])trl[\s/.]|(^|[\s/])(run_|train_)?(sft|dpo|kto|grpo|reward|orpo|cpo|bco|ppo|rloo|gkd|online_dpo|nash_md|xpo)(_\w+)?\.py(\s|$)"
)
_PREFERENCES = re.compile(r"(?:\S*/)?(?:run_|train_)?(dpo|kto|grpo|ppo|reward|orpo|cpo|bco)(?:_\w+)?(?:\.py)?")
"""TRL's command or script whose trainer takes preferences, or has more than one model."""
_WITH_OTHERS = re.compile(r"(?:\S*/)?(?:run_|train_)?(ppo|rloo|gkd|online_dpo|nash_md|xpo)(?:_\w+)?(?:\.py)?")
"""Those whose trainer has models that no plan counts."""
_SCRIPT = re.compile(r"\.py\Z|\Atrl\.scripts\.")
_ALONE, _COUNTED_AS = ("orpo", "cpo"), {"orpo": "dpo", "cpo": "dpo", "bco": "kto"}
"""Those that train by pairs without a reference, and as what trainers are counted that the engine does not know."""
_USUAL = {
    "qlora.py": {
        "lora_r": "64", "bits": "4", "double_quant": "true", "gradient_checkpointing": "true",
        "per_device_train_batch_size": "1", "gradient_accumulation_steps": "16", "source_max_len": "1024",
        "target_max_len": "256", "optim": "paged_adamw_32bit",
    },
    "train_lora.py": {"lora_r": "8"},
}  # fmt: skip
"""What the scripts of QLoRA and of FastChat do where nobody says otherwise."""
_RUN_CLM = re.compile(r"(^|[\s/])run_clm\w*\.py(\s|$)")
"""The script of `transformers`' examples, which cuts to 1,024 tokens unless told otherwise."""
_NANO_GPT = (re.compile(r"(^|[\s/])train\.py(?=\s)"), re.compile(r"\sconfig/\w+\.py(\s|$)"))
"""nanoGPT's script with a file of its settings; that of GPT-2 says what the script says by itself."""
_LAUNCHES = re.compile(
    r"u|use_env|master_\w+|main_process_\w+|rdzv_\w+|node_rank|machine_rank|local_rank|standalone|hostfile|launcher|m|module|"
    r"max_restarts|monitor_interval|start_method|role|tee|redirects|multi_gpu|same_network|gpu_ids|num_processes|"
    r"num_cpu_threads_per_process|mixed_precision|config_file|use_deepspeed|use_fsdp|fsdp_\w+|"
    r"offload_(optimizer|param)_device|deepspeed_\w+|job\.\w+|zero3_\w+|no_(python|ssh_check|local_rank)|include|exclude|"
    r"gradient_clipping"
)
"""Options of the programs that start processes."""
_CHANGES_NOTHING = re.compile(
    r"adam_\w+|(max_)?(lr|learning_rate|warmup|weight_decay|grad_norm|label_smoothing)\w*|max_grad_norm|"
    r"(logging|log|save|eval|hub|push_to_hub|report|wandb|run|output|overwrite|resume|metric|load_best|seed|data_seed|"
    r"validation|val|test|tokenizer|cache|preprocessing|dataloader|ddp|disable_tqdm|greater|"
    r"remove_unused|trust_remote|use_auth|token|auth|model_revision|report_to|prediction|"
    r"per_device_eval|per_gpu_eval|max_eval|num_workers|num_proc|chat_template|use_fast|evaluation)(_\w+)?|"
    r"\w*_(dir|path|file|files|name|seed|split|url|id|column)|lora_(alpha|dropout|bias)|(bnb_4bit_)?quant_type|beta|seed|tf32|epochs|"
    r"stage|lazy_preprocess|is_multimodal|verbose|help|debug|user|mm_use_im_\w+|group_by_length|"
    r"full_determinism|skip_memory_metrics|label_names|accelerator_config|average_tokens_across_devices|past_index|"
    r"split_batches|keep_linebreaks|model_type|low_cpu_mem_usage|with_tracking|num_warmup_steps|checkpointing_steps|"
    r"early_stopping_\w+|padding_side|use_slow_tokenizer|(eos|pad)_token|truncation_mode|shuffle_dataset|use_rslora|"
    r"lora_task_type|router_aux_loss_coef|neftune_noise_alpha|(rpo|ld|cpo)_alpha|disable_dropout|simpo_gamma|pref_beta|"
    r"(un)?desirable_weight|f_divergence_type|discopop_tau|loss_type|max_(prompt|completion)_length|temperature|"
    r"top_[pk]|min_p|repetition_penalty|epsilon\w*|delta|scale_rewards|reward_weights|mask_truncated_completions|"
    r"importance_sampling_level|vllm_server_\w+|num_(generations|iterations|completions_to_print)|missing_eos_penalty|total_episodes|"
    r"enable_thinking|mask_history|buffer_size|mix_strategy|interleave_probs|loraplus_lr_ratio|\w*swanlab\w*|"
    r"hf_hub_token|tool_format|default_system|data_shared_file_system"
)
"""Options that change neither memory nor time."""
_MOSTLY_NOTHING = re.compile(
    r"(do|dataset|data|train|config|include|ignore|max_train|max_samples|template|plot|streaming|text|prompt|version|"
    r"project|experiment|exp|name|group|conv|no)(_\w+)?"
)
_MAY_MATTER = re.compile(
    r"(^|_)(batch\w*|micro|length|len|seq\w*|q?lora|dora|peft|bits|overrides|layers?|hidden|heads|rank|full|dtype|"
    r"precision|offload\w*|compile|checkpointing|modules|encoder|images?|resolution|pixels|frames|parallel|train_type)(_|$)"
)
"""What makes one of those an option that may change something all the same."""


def _changes_nothing(name: str) -> bool:
    """Whether an option changes neither memory nor time."""
    mostly = _MOSTLY_NOTHING.fullmatch(name) and not _MAY_MATTER.search(name)
    return bool(_CHANGES_NOTHING.fullmatch(name) or mostly)


_OF_MEGATRON = re.compile(
    r"(kv_channels|max_position_embeddings|position_embedding_type|normalization|"
    r"group_query_attention|swiglu|squared_relu|qk_layernorm|\w*bias_linear|add_qkv_bias|"
    r"untie_embeddings_and_output_weights|vocab_size|make_vocab_size_divisible_by|use_rotary_position_embeddings|"
    r"rotary_\w+|norm_epsilon|layernorm_epsilon|init_method_\w+|moe_(router|grouped|token|aux|z_loss)_\w+|"
    r"moe_ffn_hidden_size|moe_grouped_gemm)|"
    r"use_mcore_models|use_legacy_models|overlap_\w+|tp_comm_\w+|"
    r"mock_data|split|lr\w*|min_lr\w*|clip_grad|train_samples|exit_\w+|distributed_\w+|ckpt_\w+|load|timing_\w+|"
    r"manual_gc\w*|attention_softmax_in_fp32|use_cpu_initialization|initial_loss_scale|loss_scale\w*|"
    r"rampup_batch_size|async_\w+|use_dist_ckpt|dist_ckpt_\w+|tensorboard_\w+|seed|enable_one_logger|"
    r"(start|end)_weight_decay|weight_decay_incr_style|auto_detect_ckpt_format|reset_(position_ids|attention_mask)|"
    r"eod_mask_loss|override_opt_param_scheduler|finetune|profile\w*|use_checkpoint_args|tiktoken_pattern|"
    r"high_priority_stream_groups"
)
"""Megatron-LM's options that say the model's sizes, and those that change neither memory nor time."""


_DENIES = re.compile(r"no_(gradient_checkpointing|bf16|fp16|packing|use_peft)")
"""Options by which a script's argument parser switches off what is on by default."""


class _Asked(dict[str, Any]):
    """The options of a command, with the names of those that were looked up: they were understood."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)

    def not_understood(self) -> tuple[str, ...]:
        """The options that may change memory or time, and that nobody asked for."""
        others = (key for key in self if key not in self.asked)
        return tuple(key for key in others if not (_LAUNCHES.fullmatch(key) or _changes_nothing(key)))


@dataclass(frozen=True)
class Start:
    """A command that starts a training: its words, and where it begins and ends in the text."""

    words: tuple[str, ...]
    start: Count
    end: Count

    @property
    def line(self) -> str:
        """Its words with a blank between them."""
        return " ".join(self.words)


def is_command(text: str) -> bool:
    """Whether a text begins as a command that starts a training, if need be behind others of the same line."""
    if not _MENTIONED.search(text, 0, LONGEST):
        return False
    for at, command in enumerate(shell.commands(text[:LONGEST])):
        if at and not command.follows:
            return False
        if any(_starts(command)):
            return True
    return False


_MENTIONED = re.compile(r"torchrun|accelerate|deepspeed|python|llamafactory-cli|axolotl|trl")


def _starts(command: shell.Command) -> Iterator[Start]:
    """The trainings that a command starts: one at most, but by a shell of its own."""
    words = [word.text for word in command.words]
    if len(words) > 2 and re.fullmatch("-l?c", words[-2]) and re.fullmatch(r"(?:\S*/)?(?:ba)?sh", words[-3]):
        place = command.words[-1].start + 1  # behind its quotation mark
        for inner in shell.commands(words[-1]):
            if (started := _started([*words[:-3], *(word.text for word in inner.words)])) is not None:
                yield Start(started, place + inner.start, place + inner.end)
    elif (started := _started(words)) is not None:
        yield Start(started, command.start, command.end)


def _started(words: Sequence[str]) -> tuple[str, ...] | None:
    """Words without a scheduler and its options, which say sizes as a launcher's; None where they start no training."""
    at = _program_at(words, 0)
    if at < len(words) and words[at] == "srun":
        after = next((one for one in range(at + 1, len(words)) if _is_program(words, one)), None)
        if after is None:
            return None
        while _BEFORE.fullmatch(words[after - 1]):
            after -= 1
        said = " ".join(words[at + 1 : after])
        told = ((name, re.search(rf"(?<!\S){option}(?!\S)", said)) for name, option in _SCHEDULED.items())
        return (*words[:at], *(f"{name.upper()}={size[1]}" for name, size in told if size), *words[after:])
    return tuple(words) if _is_program(words, at) else None


def _program_at(words: Sequence[str], at: int) -> int:
    """Where the program of a command stands, behind what may stand before it from a place on."""
    while at < len(words):
        if words[at] in _RUNNERS and words[at + 1 : at + 2] == ["run"]:
            at += 2
        elif _BEFORE.fullmatch(words[at]):
            at += 1
        else:
            break
    return at


def _is_program(words: Sequence[str], at: int) -> bool:
    """Whether a program that starts trainings stands at a place, with something behind it."""
    if at >= len(words) or not _PROGRAM.fullmatch(words[at]):
        return False
    if at + 1 == len(words) or words[at + 1] in _NO_TRAININGS.get(words[at].rpartition("/")[2], ()):
        return False
    return not words[at].endswith("accelerate") or (words[at + 1] == "launch" and at + 2 < len(words))


@lru_cache(maxsize=8)
def starts(text: str) -> tuple[Start, ...]:
    """The trainings that a text starts, in order.

    Raises:
        EngineError: It is too long, or a quotation mark has no second one.
    """
    if len(text) > LONGEST:
        raise EngineError("command", f"of {len(text)} characters", f"at most {LONGEST} characters long")
    try:
        return tuple(one for command in shell.commands(text, strict=True) for one in _starts(command))
    except shell.OpenQuoteError:
        raise EngineError("command", "with an open quotation mark", "with pairs of quotation marks") from None


def chosen(text: str) -> Start:
    """The last training that a text starts whose options are a known program's; the last one where none has such."""
    found = starts(text)
    return next((one for one in reversed(found) if _program(one) is not None), found[-1])


def options(text: str) -> dict[str, str]:
    """The options of a text's command by name, with `_` for `-`; one without a value is `true`.

    Raises:
        EngineError: It is too long, or a quotation mark has no second one.
    """
    return _options(chosen(text))[0]


def _options(start: Start) -> tuple[dict[str, str], list[str]]:
    """The options of a command, and those of its words that belong to none."""
    words, script, overrides = _words(start), _script_at(start.words), "llamafactory-cli" in start.words
    found: dict[str, str] = {}
    beside: list[str] = []
    name = last = ""
    for at, word in enumerate(words):
        if name and _VARIABLE.fullmatch(word):
            del found[name]  # nobody knows what it holds
            name = ""
        elif re.match(r"--?[A-Za-z]", word):
            name, equals, value = word.lstrip("-").partition("=")
            last = name = name.replace("-", "_")
            if denied := _DENIES.fullmatch(name):
                found[denied[1]] = "false"
                name = ""
                continue
            found[name] = value if equals else "true"
            name = "" if equals else name
        elif launched := re.fullmatch(r"(NPROC_PER_NODE|NNODES|GPUS_PER_NODE)=(\d+)", word):
            found[launched[1].lower()] = launched[2]  # variables of LLaMA-Factory's launcher
        elif word.endswith(".py"):
            name = ""  # the script, behind an option of its launcher without a value
        elif name:
            found[name] = word if found[name] == "true" else f"{found[name]}{_LISTS[name]}{word}"
            if word == "None":
                del found[name]
            name = name if name in _LISTS and name in found else ""
        elif overrides and (given := re.fullmatch(r"(\w+)=(.*)", word)):
            found[given[1]] = given[2]
        elif at > script and not (_SETTINGS.fullmatch(word) or (_is_harmless(last) and _PLAIN.fullmatch(word))):
            beside.append(word)
    return found, [word for word in beside if not _VARIABLE.fullmatch(word)]


def _script_at(words: Sequence[str]) -> int:
    """Where a command's script or subcommand stands; what stands before it is its launcher's."""
    places = (at for at, word in enumerate(words) if at and (word.endswith(".py") or words[at - 1] == "-m"))
    of_script = max(places, default=-1)
    return of_script if of_script >= 0 else _program_at(words, 0) + 1


def _is_harmless(name: str) -> bool:
    """Whether an option changes neither memory nor time, or is the launcher's."""
    return _changes_nothing(name) or any(one.fullmatch(name) for one in (_LAUNCHES, _OF_MEGATRON, _LASTS))


def _words(start: Start) -> list[str]:
    """A command's words: a variable with what it holds by default is that, and one behind `=` a word of its own."""
    found: list[str] = []
    for word in start.words:
        name, equals, value = word.partition("=") if word[:1] == "-" else ("", "", word)
        value = _DEFAULT.sub(r"\1", value)
        found += [name, value] if equals and _VARIABLE.fullmatch(value) else [f"{name}{equals}{value}"]
    return found


def unread(text: str) -> tuple[str, ...]:
    """What else decides in a text that nobody reads: variables that hold anything, options behind the command's end."""
    lost = any(re.match("--?[A-Za-z]", command.words[0].text) for command in shell.commands(text))
    return (*((SHELL,) if _has_variables(chosen(text)) else ()), *((LOST,) if lost else ()))


def _has_variables(start: Start) -> bool:
    words = _words(start)
    for before, word in pairwise(["", *words]):
        if before[:1] != "-" or "=" in before:
            if _VARIABLE.fullmatch(word) or _OF_OPTIONS.fullmatch(word):
                return True
        elif ("$" in word or _VARIABLE.fullmatch(word)) and _matters(
            before.lstrip("-").replace("-", "_"), whole=_VARIABLE.fullmatch(word) is not None
        ):
            return True
    return False


def _matters(name: str, *, whole: bool) -> bool:
    """Whether an option may change memory or time; where a variable is a part of its value, whether it does."""
    return bool(_TURNS.fullmatch(name)) or name in (*_PROCESSES, *_NODES) or (whole and not _is_harmless(name))


def program(text: str) -> str | None:
    """The program whose options a text's script takes: a kind of file, `"Megatron-LM"`, or None for another."""
    return _program(chosen(text))


def _program(start: Start) -> str | None:
    found, line = _options(start)[0], start.line
    given = found.keys()
    if given & {"tensor_model_parallel_size", "num_attention_heads"}:
        return "Megatron-LM"
    if given & _OF_LLAMA_FACTORY or ("llamafactory-cli" in line and given & (_OF_A_TRAINER | {"stage", "template"})):
        return "LLaMA-Factory"
    if nano_gpt.is_its(found) or ((script := _NANO_GPT[0].search(line)) and _NANO_GPT[1].search(line, script.end())):
        return "nanoGPT"
    if not given & _OF_A_TRAINER:
        return None
    return "TRL" if given & _OF_TRL or _TRL.search(line) else "Trainer"


def read(text: str) -> Reading:
    """The facts of a text's command. Raises `EngineError` for a value that the program would refuse."""
    runs = [one for one in starts(text) if _program(one) is not None]
    readings = [_read(one) for one in runs or [chosen(text)]]
    several = len({repr(one.facts) for one in readings}) > 1
    return with_switches(readings[-1], (*unread(text), *((ANOTHER,) if several else ())))


def _read(start: Start) -> Reading:
    found, beside = _options(start)
    script = next((word.rpartition("/")[2] for word in start.words if word.endswith(".py")), "")
    usual = {} if "full_finetune" in found else _USUAL.get(script, {})
    given, kind = _Asked({**usual, **found}), _program(start)
    launched, missing = _launched(given, by_deepspeed="deepspeed" in start.words)
    missing += _not_understood((*(f" {word}" for word in beside),))
    if kind == "Megatron-LM":
        facts = launched.joined(_megatron(given))
        partly = ("recompute_num_layers",) if _recomputes_partly(given) else ()
        names = (*partly, *(one for one in asked(given) if one != "recompute_num_layers"))
        missing += _not_understood(tuple(one for one in given.not_understood() if not _OF_MEGATRON.fullmatch(one)))
        return with_switches(Reading("command", facts, missing=tuple(missing)), names)
    if kind == "nanoGPT":
        files = [word for word in _positional(start) if re.fullmatch(r"\S*config/\w+\.py", word)]
        named = any(not word.endswith("/train_gpt2.py") for word in files)
        inside = nano_gpt.read(given, "command", alone=not named)
        missing += [OVERRIDDEN] if named else []
        return replace(inside, facts=inside.facts.joined(launched), missing=tuple(missing))
    dialect = next((one for one in trainers.DIALECTS if one.kind == kind), None)
    named_file = _settings_file(start, given)
    if dialect is None:
        missing.append(named_file or "The script's own settings are not in it: add its file.")
        launched = launched.joined(_preferred(start, given)[0]) if named_file else launched
        return Reading("command", launched, missing=(*missing, *_not_understood(given.not_understood())))
    preferred, told = _preferred(start, given) if kind == "TRL" else (Facts(), ())
    if preferred.stage not in (None, "grpo"):
        for key in trainers.OF_GRPO:
            given.pop(key, None)  # others have them too
    inside = trainers.read(given, dialect)
    if preferred.stage:
        facts = preferred.completed(inside.facts)
        inside = replace(inside, facts=facts, silent=inside.silent - {"stage", "sequence"})
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
    others = kind == "TRL" and any(map(_WITH_OTHERS.fullmatch, _named(start)))
    switched = (*asked(given), *((OTHERS,) if others else ()))
    missing += [*inside.missing, *_not_understood(given.not_understood())]
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
    facts = Facts(stage=stage, **trainers.generation(given, stage))
    facts = replace(facts, referenced=False) if told[1] in _ALONE else facts
    return facts, ("BCO is counted as KTO.",) if told[1] == "bco" else ()


def _named(start: Start) -> tuple[str, ...]:
    """What may be the name of TRL's command or script among a command's words."""
    scripts = (word.removeprefix("trl.scripts.") for word in _words(start) if _SCRIPT.search(word))
    return (*_positional(start), *scripts) if _TRL.search(start.line) else ()


def _launched(given: Mapping[str, Any], *, by_deepspeed: bool) -> tuple[Facts, list[str]]:
    """What the program says that starts the processes: how many, and with accelerate what they divide."""
    # Each is looked up, so that none is told as not understood.
    per_node, nodes = (
        next(iter([given[one] for one in names if one in given]), None) for names in (_PROCESSES, _NODES)
    )
    nodes = _nodes(nodes)
    if per_node is None and (slots := re.fullmatch(r"[\w.-]+:(\d+(?:,\d+)*)", str(given.get("include", "")))):
        per_node = slots[1].count(",") + 1  # the cards of one machine, which DeepSpeed's launcher is told by number
    here = None if per_node in ("gpu", "auto") else values.count("nproc-per-node", per_node)
    devices = here * (nodes or 1) if here else values.count("num-processes", given.get("num_processes"))
    facts, missing = Facts(devices=devices, nodes=nodes), []
    if "config_file" in given:
        missing.append(f"It names accelerate's file, {DIVIDES}")
    how = next((way for way in ("deepspeed", "fsdp") if f"use_{way}" in given), None)
    named = any(str(given.get(key, "")).endswith(".json") for key in ("deepspeed", "deepspeed_config"))
    if by_deepspeed and not named and re.fullmatch("[0-3]", str(given.get("zero_stage", ""))):
        facts = facts.joined(Facts(runtime="deepspeed", zero=int(given["zero_stage"])))  # a script's own option
    groups = {key: given[key] for key in given if key.startswith("parallelism_config_")}
    if how or groups or "mixed_precision" in given or "deepspeed_config_file" in given:
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
        how = "deepspeed" if "deepspeed_config_file" in given else how
        inside = cluster_files.accelerate(document | ({"distributed_type": how.upper()} if how else {}))
        facts, missing = facts.joined(inside.facts), [*missing, *inside.missing]
    return facts, missing


def _settings_file(start: Start, given: Mapping[str, Any]) -> str:
    """A sentence on the file of settings that a command names; nothing where it names none."""
    script, words = _script_at(start.words), start.words
    named = any(re.fullmatch(r"(?!-)\S+\.ya?ml", word) for word in _positional(start))
    named |= any(_SETTINGS.fullmatch(word) for word in words[script + 1 : script + 2])
    if not named and not str(given.get("config", "")).endswith((".yaml", ".yml", ".json")):
        return ""
    return OVERRIDDEN


def _positional(start: Start) -> Iterable[str]:
    """The words of a command that follow no option."""
    return (word for before, word in pairwise(["", *_words(start)]) if not before.startswith("-"))


def _not_understood(names: tuple[str, ...]) -> tuple[str, ...]:
    """A sentence on options that were not understood, with the first of their names; nothing where there are none."""
    plain = [name for name in names if re.fullmatch(r"[a-z][a-z0-9_]{1,39}", name)]
    told, more = plain[:MOST_TOLD], len(names) - len(plain[:MOST_TOLD])
    if not names:
        return ()
    listed = ", ".join(f"--{name}" for name in told) + (f" and {more} more" if more and told else "")
    return (f"{NOT_UNDERSTOOD}, and not counted: {listed or f'{more} of its options'}.",)


def _nodes(value: object) -> int | None:
    # `1:4` means from one to four machines; a plan is for the most.
    return values.count("nnodes", str(value).rpartition(":")[2] if value is not None else None)


def _megatron(given: dict[str, Any]) -> Facts:
    found: dict[str, Any] = {
        fact: values.count(name.replace("_", "-"), given.get(name)) for name, fact in _MEGATRON.items()
    }
    found["compute"] = next((form for form in ("bf16", "fp16") if form in given), "fp32")
    found["method"], found["stage"] = "full", "pretrain"
    if "use_distributed_optimizer" in given:
        found["zero"] = 1
    recompute = given.get("recompute_granularity", "selective" if "recompute_activations" in given else None)
    found["checkpointing"] = None if recompute is None else recompute == "full" and not _recomputes_partly(given)
    found["selective"] = True if recompute == "selective" else None
    found["framework"] = "megatron"
    ends = ("account_for_embedding_in_pipeline_split", "account_for_loss_in_pipeline_split")
    given_too = [name in given for name in ends]
    found["balanced"] = True if all(given_too) else None
    found["sequence_parallel"] = True if "sequence_parallel" in given else None
    local = given.get("transformer_impl") == "local" and "use_flash_attn" not in given
    found["attention"] = "eager" if given.get("attention_backend", "local" if local else "") in _UNFUSED else None
    hidden, inside = (_rate(name, given) for name in ("hidden_dropout", "attention_dropout"))
    # Fused attention keeps no mask of its scores.
    found["dropout"] = max(hidden, inside) if found["attention"] else hidden
    sizes = ((name, values.count(name.replace("_", "-"), given.get(name))) for name in _SIZES)
    found["shape"] = tuple((name, size) for name, size in sizes if size) or None
    found["optimizer"] = values.named("optimizer", given.get("optimizer", "adam"), _MEGATRON_OPTIMIZERS)
    if found["optimizer"] == "momentum" and not values.amount("sgd-momentum", given.get("sgd_momentum", "0.9")):
        found["optimizer"] = "sgd"
    return Facts(**found)


_UNFUSED = ("unfused", "local")
_MEGATRON_OPTIMIZERS = {"adam": "adamw", "sgd": "momentum", "muon": "muon", "dist_muon": "muon"}
_SIZES = ("num_layers", "hidden_size", "ffn_hidden_size", "num_attention_heads", "num_query_groups", "num_experts")
"""Options that say a model's sizes, which are held against the model that is counted."""


def _rate(name: str, given: Mapping[str, Any]) -> float:
    """A rate of dropout, 0.1 where nobody says one."""
    rate = values.amount(name.replace("_", "-"), given.get(name, "0.1")) or 0.0
    if rate >= 1:
        raise EngineError(name.replace("_", "-"), given.get(name), "a number from 0, below 1")
    return rate


def _recomputes_partly(given: Mapping[str, Any]) -> bool:
    """Whether Megatron-LM recomputes some layers of a stage alone, or several as one, which no plan counts."""
    if given.get("recompute_granularity") != "full":
        return False
    layers = values.count("recompute-num-layers", given.get("recompute_num_layers"))
    if given.get("recompute_method", "uniform") == "uniform":
        return (layers or 1) > 1
    whole = values.count("num-layers", given.get("num_layers"))
    stages = values.count("pipeline-model-parallel-size", given.get("pipeline_model_parallel_size")) or 1
    return layers is None or whole is None or layers < whole // stages
