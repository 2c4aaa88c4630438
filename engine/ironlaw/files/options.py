"""The options of a command that starts a training: their values, and which of them change memory or time.

Options that may do so and that nobody asked for are told by their names.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from ironlaw.files import megatron
from ironlaw.files.facts import NOT_UNDERSTOOD
from ironlaw.files.starts import Start, program_at
from ironlaw.files.switches import OFF, is_known

PROCESSES = ("nproc_per_node", "num_gpus", "gpus_per_node")
NODES = ("nnodes", "num_nodes", "num_machines")
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
SETTINGS = re.compile(r"(?!-)\S+\.(?:ya?ml|json|toml)")
_LAUNCHES = re.compile(
    r"u|use_env|master_\w+|main_process_\w+|rdzv_\w+|node_rank|machine_rank|local_rank|standalone|hostfile|launcher|m|module|"
    r"max_restarts|monitor_interval|start_method|role|tee|redirects|multi_gpu|same_network|gpu_ids|num_processes|"
    r"num_cpu_threads_per_process|mixed_precision|config_file|use_deepspeed|use_fsdp|fsdp_\w+|"
    r"offload_(optimizer|param)_device|deepspeed_\w+|job\.\w+|zero3_\w+|no_(python|ssh_check|local_rank)|include|exclude|"
    r"gradient_clipping"
)
"""Options of the programs that start processes."""
_CHANGES_NOTHING = re.compile(
    r"adam_(beta_?[12]|betas|eps(ilon)?)|max_grad_norm|label_smoothing|per_(device|gpu)_eval_\w+|eval_batch_size|"
    r"max_eval_samples|lora_(alpha|bias)|(bnb_4bit_)?quant_(type|storage(_dtype)?)|beta|seed|tf32|epochs|"
    r"save_strategy|(eval|evaluation|logging|hub|lr_scheduler)_strategy|metric_for_best_model|report_to|"
    r"stage|lazy_preprocess|is_multimodal|verbose|help|debug|user|mm_use_im_\w+|group_by_length|"
    r"full_determinism|skip_memory_metrics|label_names|accelerator_config|average_tokens_across_devices|past_index|"
    r"split_batches|keep_linebreaks|model_type|low_cpu_mem_usage|with_tracking|num_warmup_steps|checkpointing_steps|"
    r"early_stopping_\w+|padding_side|use_slow_tokenizer|(eos|pad)_token|truncation_mode|shuffle_dataset|use_rslora|"
    r"lora_task_type|router_aux_loss_coef|neftune_noise_alpha|(rpo|ld|cpo)_alpha|disable_dropout|simpo_gamma|pref_beta|"
    r"(un)?desirable_weight|f_divergence_type|discopop_tau|max_(prompt|completion)_length|temperature|"
    r"top_[pk]|min_p|repetition_penalty|epsilon\w*|delta|scale_rewards|reward_weights|mask_truncated_completions|"
    r"importance_sampling_level|vllm_server_\w+|num_(generations|iterations|completions_to_print)|missing_eos_penalty|total_episodes|"
    r"enable_thinking|mask_history|buffer_size|mix_strategy|interleave_probs|loraplus_lr_ratio|\w*swanlab\w*|"
    r"hf_hub_token|tool_format|default_system|data_shared_file_system"
)
"""Options that change neither memory nor time."""
_MOSTLY_NOTHING = re.compile(
    r"(do|dataset|data|config|include|ignore|max_train|max_samples|template|plot|streaming|text|prompt|version|"
    r"project|experiment|exp|name|group|conv|no|max_lr|lr|learning_rate|warmup|weight_decay|grad_norm|max_grad_norm|"
    r"logging|log|save|eval|hub|push_to_hub|report|wandb|run|output|overwrite|resume|metric|load_best|seed|data_seed|"
    r"validation|val|test|tokenizer|cache|preprocessing|dataloader|ddp|disable_tqdm|greater|"
    r"remove_unused|trust_remote|use_auth|token|auth|model_revision|report_to|prediction|"
    r"max_eval|num_workers|num_proc|chat_template|use_fast|evaluation|"
    r"train(ing)?_(data|file|files|path|dir|split|set|dataset|datasets|on|ratio|size|sample|samples|name|prompt|json))(_\w+)?|"
    r"(lr|learning_rate|warmup|weight_decay)\w*|train|\w*_(dir|path|file|files|name|seed|split|url|id|column)"
)
"""Forms of the names of most of those, which some options have that change something."""
_MAY_MATTER = re.compile(
    r"(^|_)(batch\w*|micro|length|len|seq\w*|q?lora|dora|peft|adapters?|bits|\d*bit|overrides|layers?|hidden|heads?|rank|full|"
    r"dtype|precision|offload\w*|compile|checkpointing|modules|encoder|vision|images?|resolution|pixels|frames|parallel|"
    r"train_type|optim\w*|quant\w*|freeze|frozen|unfreeze|tun(e|ing)|method|embed\w*|teacher|reward|critic|draft|pretrained)(_|$)"
)
"""What makes one of those an option that may change something all the same."""
_DENIES = re.compile(r"no_(gradient_checkpointing|bf16|fp16|packing|use_peft)")
"""Options by which a script's argument parser switches off what is on by default."""


_OF_FILES = re.compile(
    r"datasets|pretraining_dataset|(saves|evals)_per_epoch|special_tokens|tokens|eot_tokens|added_tokens\w*|add_bos|"
    r"(loss_watchdog|nemo_gym|otel|ray|cosine|kto|hf|jagged_restart|pissa|freeze_trainable|export|loftq)_\w+|"
    r"(apollo|badam|galore|lisa|relora|unfrozen)_\w+|use_(otel_metrics|ray)|pad_to_sequence_len|processor_type|"
    r"skip_prepare_dataset|shuffle_\w+|sample_packing_sequentially|curriculum_sampling|revision_of_model|eta_min|"
    r"min_sample_len|rl_beta|orpo_alpha|center_rewards_coefficient|base_model_ignore_patterns|device_map|num_labels|"
    r"(lora_|peft_)?(fan_in_fan_out|use_rslora)|resize_token_embeddings_to_32x|infer_backend|predict_with_generate|"
    r"quantization_(method|type)|gradient_checkpointing_kwargs|lora_target_modules|num_epochs|reward_funcs|"
    r"system_prompt|keep_last_n_checkpoints|(code|pass_rate|reward_weights|benchmarks)(_\w+)?|callbacks|"
    r"conversation_template|packing_strategy|assistant_only_loss|apply_chat_template|gamma_beta_ratio|plugins|"
    r"model_name|hub_\w+|chat_template\w*|split_thinking|roles\w*|message_\w+|field_\w+|warmup_\w+|strict|"
    r"lora_model_dir|liger_(rope|rms_norm|rms_norm_gated|layer_norm)|tokenizer_\w+|type_of_model|is_\w+_derived_model|mlflow_\w+|comet_\w+|lightning_\w+|gc_steps|loraplus_\w+"
)
"""Keys of trainers' files that change neither memory nor time, and those that go with one that is told."""


def means_nothing(key: str, value: object) -> bool:
    """Whether a key of a trainer's file changes neither memory nor time, or is switched off."""
    if value in OFF or is_known(key):
        return True  # what is on and known is told by `switches`
    return bool(_OF_FILES.fullmatch(key) or is_of_a_launcher(key) or _changes_nothing(key))


def is_of_a_launcher(name: str) -> bool:
    """Whether an option is one of the programs that start processes."""
    return name in (*PROCESSES, *NODES) or _LAUNCHES.fullmatch(name) is not None


def _changes_nothing(name: str) -> bool:
    """Whether an option changes neither memory nor time."""
    mostly = _MOSTLY_NOTHING.fullmatch(name) and not _MAY_MATTER.search(name)
    return bool(_CHANGES_NOTHING.fullmatch(name) or mostly)


class Asked(dict[str, Any]):
    """The options of a command, with the names of those that were looked up: they were understood."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()

    def get(self, key: str, default: Any = None) -> Any:
        """The value of an option, which is understood from now on."""
        self.asked.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)

    def unasked(self) -> list[str]:
        """The options that nobody asked for."""
        return [key for key in self if key not in self.asked]

    def not_understood(self) -> tuple[str, ...]:
        """The options that may change memory or time, and that nobody asked for."""
        harmless = (is_of_a_launcher, is_known, _changes_nothing)
        return tuple(key for key in self.unasked() if not any(one(key) for one in harmless))


def read_options(start: Start) -> tuple[dict[str, str], list[str]]:
    """The options of a command, and those of its words that belong to none."""
    words, script, overrides = words_of(start), script_at(start.words), "llamafactory-cli" in start.words
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
        elif at > script and not (SETTINGS.fullmatch(word) or (_is_harmless(last) and _PLAIN.fullmatch(word))):
            beside.append(word)
    return found, [word for word in beside if not _VARIABLE.fullmatch(word)]


def script_at(words: Sequence[str]) -> int:
    """Where a command's script or subcommand stands; what stands before it is its launcher's."""
    places = (at for at, word in enumerate(words) if at and (word.endswith(".py") or words[at - 1] == "-m"))
    of_script = max(places, default=-1)
    return of_script if of_script >= 0 else program_at(words, 0) + 1


def _is_harmless(name: str) -> bool:
    """Whether an option changes neither memory nor time, or is the launcher's."""
    return _changes_nothing(name) or any(one.fullmatch(name) for one in (_LAUNCHES, megatron.IGNORED, _LASTS))


def words_of(start: Start) -> list[str]:
    """A command's words: a variable with what it holds by default is that, and one behind `=` a word of its own."""
    found: list[str] = []
    for word in start.words:
        name, equals, value = word.partition("=") if word[:1] == "-" else ("", "", word)
        value = _DEFAULT.sub(r"\1", value)
        found += [name, value] if equals and _VARIABLE.fullmatch(value) else [f"{name}{equals}{value}"]
    return found


def has_variables(start: Start) -> bool:
    """Whether a command takes options that decide from variables of its shell, which hold anything."""
    words = words_of(start)
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
    return bool(_TURNS.fullmatch(name)) or name in (*PROCESSES, *NODES) or (whole and not _is_harmless(name))


def positional(start: Start) -> Iterable[str]:
    """The words of a command that follow no option."""
    return (word for before, word in pairwise(["", *words_of(start)]) if not before.startswith("-"))


def not_understood(names: Sequence[str], where: str = "command", mark: str = "--") -> tuple[str, ...]:
    """A sentence on options that were not understood, with the first of their names; nothing where there are none."""
    plain = [name for name in names if re.fullmatch(r"[a-z][a-z0-9_]{1,39}", name)]
    plain.sort(key=lambda name: not _MAY_MATTER.search(name))  # the most telling ones first
    told, more = plain[:MOST_TOLD], len(names) - len(plain[:MOST_TOLD])
    if not names:
        return ()
    listed = ", ".join(f"{mark}{name}" for name in told) + (f" and {more} more" if more and told else "")
    return (f"{NOT_UNDERSTOOD} {where}, and not counted: {listed or f'{more} of its options'}.",)
