"""What a reader of the planner can choose, and the words of a setup that the choices make."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any, get_args

from explorable import live
from ironlaw import (
    EngineError,
    Setup,
    Transformer,
    accelerator,
    list_accelerators,
    list_models,
    list_optimizers,
    model,
    setup,
)
from ironlaw.config.layout import expert_shard
from ironlaw.files import Facts, switches
from ironlaw.files.documents import is_too_deep
from ironlaw.files.facts import SMALLEST, Format
from ironlaw.files.together import Joined
from ironlaw.files.trainers import KINDS
from ironlaw.files.words import DECIDED, DIVIDED
from ironlaw.files.words import words_of as of_files
from ironlaw.models import from_config
from ironlaw.models.config_json import essentials, published

from .word_forms import MORE

PASTED = "pasted"
"""The model of the reader's own configuration."""
MODEL, CARD = "meta-llama/Meta-Llama-3-8B", "h100-sxm"
"""What is shown first."""
EXAMPLE = ""
"""The model that is shown first, as long as nobody has chosen one: whoever chooses the same has chosen."""
FORMATS = {
    "": "as your files have them, or as usual on these cards",
    "amp-bf16": "FP32 trained weights, BF16 autocast",
    "bf16": "BF16 throughout",
    "amp-fp16": "FP32 trained weights, FP16 autocast",
    "fp16": "FP16 throughout",
    "mixed-bf16": "BF16 with FP32 copies (FSDP, ZeRO)",
    "mixed": "FP16 with FP32 copies (FSDP, ZeRO)",
    "megatron": "BF16 with FP32 copies and gradients",
    "deepspeed": "BF16 with FP32 copies and sums (DeepSpeed)",
    "tf32": "TF32",
    "fp32": "FP32",
    "fp8": "FP8 products",
    "amp-fp8": "FP32 trained weights, FP8 autocast",
}
"""Precisions of the engine, as the page calls them."""
SPECIAL = ("glasses", "microcontroller", "phone", "tpu-v4", "tpu-v5p")
"""Devices on which nobody trains a language model with PyTorch."""
SAID = "said"
"""Beside them: what files say from which words follow only together with what they leave open."""
LEAN = "lean_loading"
"""Beside them: that one process of a machine reads the model where FSDP divides it."""
PAIRS = "pairs"
"""Beside them: that files count examples which are pairs of sequences."""
WAS = "was"
"""Beside them: of a word that a change has set, what stood before and after of all that changed with it."""
FOLLOW = ("offload", "offload_sizes", "runtime", "base_format")
"""Words that follow from it."""
_DTYPES = get_args(Format)
_SIZES = re.compile(r"(^|,)(bucket|prefetch|live|reuse|persistent|double):(auto|[0-9]{1,15})(?=,|$)")
KEPT: Mapping[str, Callable[[object], bool]] = {
    **dict.fromkeys(("compute", "weights", "sums"), _DTYPES.__contains__),
    "runtime": ("deepspeed", "fsdp").__contains__,
    **dict.fromkeys(("offload_optimizer", "offload_parameters", "unprepared"), (True, False).__contains__),
    "offload_sizes": lambda value: not _SIZES.sub("", str(value)),
}
"""Facts of files that are kept so, and what they can be."""
MEASURED = frozenset((
    "step_s", "tokens_per_s", "tokens_per_s_device", "mfu", "allocated", "reserved", "process", "asked", "free",
    "in_use", "samples_per_step",
))  # fmt: skip
"""What logs and messages say was measured: fields of `ironlaw.files.facts.Observed`."""
LEFT = ("model", "zero")
"""Controls on which a verdict rests that is to be on somebody's files; where these say nothing, it is told instead."""
BESIDES = "besides"
"""Beside them: what files switch on that is not counted takes `"more"` memory, `"less"`, or `"both"`."""
NAMED, BY = "named", "by"
"""Beside them: the engine's name of a model that a file names and whose sizes are others, and the kind of that file."""
NAMES_MODEL = (*KINDS, "nanoGPT", "command", "name", "log")
"""Kinds of text that name a model."""
KNOWN, KNOWABLE = "known", tuple(DECIDED.values())
"""Beside them: of which words texts said how they were, by their places as bits (`ironlaw.files.words.said_words`)."""
UNCOUNTED, UNCOUNTABLE = "uncounted", switches.UNCOUNTED
"""Beside them: what texts say was on and is not counted, by its places as bits."""
READ_AT = "read_at"
"""Beside them: a check sum of the plan as it stood when they were read (`mark_of`)."""
_OF_ADAPTERS = ("lora", "dora", "base_format")
"""Beginnings of words that mean nothing where everything is trained."""
_WORD = re.compile(r"[A-Za-z0-9_.*,:-]{1,300}")


def _menu(
    name: str, label: str, options: Mapping[Any, str], default: Any, text: str = "", *, more: bool = False
) -> live.Choice:
    made = tuple(live.ControlOption(value, shown) for value, shown in options.items())
    return live.Choice(name, label, made, default, text, menu=True, more=more)


def _slider(name: str, label: str, most: int) -> live.Slider:
    return live.Slider(name, label, 1, most, 1, scale="log", integer=True, typed=True, more=True)


def _counts(*values: int) -> dict[int, str]:
    return {value: f"{value:,}" for value in values}


def _cards() -> dict[str, str]:
    return {name: accelerator(name).title for name in list_accelerators() if name not in SPECIAL}


def bits_of(found: Collection[str], among: Sequence[str]) -> int:
    """Which of some names are found, by their places as bits."""
    return sum(1 << place for place, name in enumerate(among) if name in found)


def named_by(bits: int, among: Sequence[str]) -> list[str]:
    """The names whose places are set in some bits."""
    return [name for place, name in enumerate(among) if bits >> place & 1]


def _object(text: str) -> dict[str, Any]:
    """The object that a note is. Raises `ValueError` where it is none."""
    try:
        found = None if is_too_deep(text) else json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ValueError("a note in the link is not one that this page wrote")
    return found


def is_config(text: str) -> None:
    """Refuse a note that is no configuration that the engine understands, or that holds more than counts."""
    config = _object(text)
    if essentials(config) != config:
        raise ValueError("the model's configuration in the link is not one that this page wrote")


def is_measured(text: str) -> None:
    """Refuse a note with anything but numbers of the names in `MEASURED`, and the plan's mark."""
    found = _object(text)
    bits = [found.get(name, 0) for name in (KNOWN, UNCOUNTED)]
    named = found.keys() <= MEASURED | {READ_AT, KNOWN, UNCOUNTED} and all(type(one) is int for one in bits)
    numbers = all(type(one) in (int, float) and (not one or SMALLEST <= one < 1e28) for one in found.values())
    if not named or not numbers:
        raise ValueError("what the link says was measured is not a list of numbers")


def is_left(text: str) -> None:
    """Refuse a note with anything but controls that files leave open, where they stand, and another model's name."""
    note = _object(text)
    known = {NAMED: (*published(), *list_models()), BY: NAMES_MODEL}
    for name, value in note.items():
        if name == BESIDES and value in ("more", "less", "both"):
            continue
        if name in known and value in known[name] and known.keys() | {"model"} <= note.keys():
            continue
        control = next((one for one in CONTROLS if one.name == name), None)
        offered = [option.value for option in control.options] if isinstance(control, live.Choice) else []
        if name not in LEFT or value not in offered:
            raise ValueError(f"what the link says that files leave open, {name!r}, is not what this page wrote")


def is_same(text: str) -> None:
    """Refuse a note with anything but a model of the list."""
    if text not in published():
        raise ValueError("the model in the link that stands for another is not one of this page's list")


def is_more(text: str) -> None:
    """Refuse a note with other words of a setup than files set."""
    for word, value in _object(text).items():
        if word in (LEAN, PAIRS) and value is True:
            continue
        if word == WAS and isinstance(value, dict) and all(map(_is_replaced, value, value.values())):
            continue
        if (
            word == SAID
            and isinstance(value, dict)
            and all(name in KEPT and KEPT[name](one) for name, one in value.items())
        ):
            continue
        if word not in MORE or not MORE[word](value):
            raise ValueError(f"the setting {word!r} in the link is not one that this page wrote")


def _is_replaced(word: str, found: object) -> bool:
    """Whether an entry of `WAS` says what a word, and controls, were before and after a change."""
    controls = {control.name for control in CONTROLS if not isinstance(control, live.Note)}
    return (
        word in (*MORE, "precision")
        and isinstance(found, dict)
        and found.keys() <= {word, *controls}
        and all(
            isinstance(pair, list)
            and len(pair) == 2
            and all(one is None or MORE.get(name, _is_plain)(one) for one in pair)
            for name, pair in found.items()
        )
    )


def _is_plain(value: object) -> bool:
    return isinstance(value, bool | int | float) or _WORD.fullmatch(str(value)) is not None


CONTROLS = (
    _menu(
        "model",
        "Model",
        {EXAMPLE: f"{MODEL}, as an example", PASTED: "the one you pasted", **{name: name for name in published()}},
        EXAMPLE,
        "Not in the list? Paste its config.json above.",
    ),
    _menu("gpu", "Card", _cards(), CARD),
    live.Slider("gpus", "Cards in all", 1, 65_536, 1, scale="log", integer=True, typed=True),
    live.Choice(
        "method",
        "Trains",
        (
            live.ControlOption("full", "everything"),
            live.ControlOption("lora", "LoRA"),
            live.ControlOption("qlora", "QLoRA"),
        ),
        "lora",
    ),
    _menu("rank", "Rank of the adapters", _counts(4, 8, 16, 32, 64, 128, 256), 16, more=True),
    live.Slider("batch", "Sequences at once, per card", 1, 256, 1, scale="log", integer=True, typed=True),
    live.Slider("sequence", "Tokens of a sequence", 64, 131_072, 2048, scale="log", integer=True, typed=True),
    _slider("accumulate", "Passes before an update (gradient accumulation)", 1024),
    live.Choice(
        "checkpointing",
        "Recomputes activations",
        (
            live.ControlOption("none", "nothing"),
            live.ControlOption("selective", "attention"),
            live.ControlOption("full", "every block"),
        ),
        "full",
    ),
    _menu("precision", "Formats", FORMATS, "", more=True),
    _menu("optimizer", "Optimizer", {name: name for name in list_optimizers()}, "adamw", more=True),
    live.Choice(
        "zero",
        "Cards divide",
        (
            live.ControlOption(0, "nothing"),
            live.ControlOption(1, "optimizer (ZeRO 1)"),
            live.ControlOption(2, "gradients too (ZeRO 2)"),
            live.ControlOption(3, "weights too (ZeRO 3, FSDP)"),
        ),
        0,
    ),
    _slider("tp", "Cards that share every matrix (tensor parallel)", 64),
    _slider("pp", "Stages of a pipeline", 128),
    live.Toggle("flash", "Fused attention (Flash, SDPA)", True, "Kernels", more=True),
    live.Toggle("chunked", "Loss in pieces (Liger, cut cross-entropy)", False, "Kernels", more=True),
    live.Toggle("compiled", "torch.compile", False, "Kernels", more=True),
    live.Toggle("offload", "Optimizer in the host's memory", False, "Kernels", more=True),
    live.Slider("tokens", "Tokens of the run, in millions", 1, 20_000_000, 100, scale="log", typed=True),
    live.Slider(
        "price",
        "Price of a card and hour",
        0,
        20,
        0,
        "USD",
        step=0.01,
        help="0: the price on record.",
        more=True,
        typed=True,
    ),
    live.Note("config", "Your model", is_config),
    live.Note("more", "Other settings of your files", is_more),
    live.Note("left", "What your files leave open", is_left, 300),
    live.Note("measured", "What you measured", is_measured, 600),
    live.Note("same", "The model whose sizes yours has", is_same, 100),
)


def together_of(at: Mapping[str, Any]) -> int:
    """Cards that hold one copy of the model, and work on its sequences together."""
    shared = int(more_of(at).get("cp", 1))
    return int(at["tp"]) * int(at["pp"]) * shared


def words_of(state: live.State) -> dict[str, Any]:
    """The words of the setup at which the controls stand."""
    at = state.controls
    together = together_of(at)
    gpus, pipeline = int(at["gpus"]), int(at["pp"])
    adapters = at["method"] != "full"
    more, follows = more_of(at), _follows(at)
    words: dict[str, Any] = {
        "model": model_of(str(at["model"]), str(at["config"])),
        "gpu": at["gpu"],
        "batch": at["batch"],
        "sequence": at["sequence"],
        "precision": at["precision"] or _formats(at, follows),
        "optimizer": at["optimizer"],
        "attention": "flash" if at["flash"] else "standard",
        "checkpointing": at["checkpointing"],
        "loss": "chunked:8" if at["chunked"] else "full",
        "execution": "compiled" if at["compiled"] else None,
        "offload": "optimizer" if at["offload"] else "none",
        "method": at["method"],
        "lora_rank": at["rank"] if adapters else None,
        "dp": max(gpus // together, 1),
        "tp": at["tp"],
        "pp": pipeline,
        # Replicas, and cards that share a sequence, divide states; a single one has nobody to divide them with.
        "zero": at["zero"] if gpus // (int(at["tp"]) * pipeline) > 1 else 0,
        ("micro_batches" if pipeline > 1 else "accumulate"): at["accumulate"],
    }
    more = {word: follows[word] for word in FOLLOW if word in follows} | more
    more = {word: value for word, value in more.items() if word not in (SAID, LEAN, PAIRS, WAS)}
    several = words["dp"] * int(more.get("cp", 1)) > 1
    if "ep" in more and (adapters or not _shares_experts(words, int(more.get("cp", 1)), more["ep"])):
        more = {word: value for word, value in more.items() if word not in ("ep", "imbalance")}
    if more.get("offload") == "shards" and (not several or words["zero"] < 3 or "offload_sizes" in more):
        more["offload"] = "optimizer"  # FSDP has no shards then
    if more.get("offload") == "parameters" and words["dp"] > 1 and words["zero"] < 3:
        more["offload"] = "gradients"  # all that DeepSpeed offloads then
    left_out = () if adapters else _OF_ADAPTERS
    if not at["offload"]:
        more.pop("offload", None)
        # DeepSpeed has its buffers also for what cards divide.
        left_out = (*left_out, *(("offload_sizes",) if words["zero"] < 2 else ()))
    for alone, word in (("tp", "sequence_parallel"), ("pp", "balanced")):
        if int(at[alone]) == 1:
            more.pop(word, None)
    if not at["chunked"]:
        left_out = (*left_out, "eval_logits")
    return words | {word: value for word, value in more.items() if not word.startswith(left_out)}


def _shares_experts(words: Mapping[str, Any], context: int, ways: int) -> bool:
    """Whether a model has experts that so many of a plan's cards can share."""
    asked = words["model"]
    try:
        expert_shard(model(asked) if isinstance(asked, str) else asked, ways)
    except EngineError:
        return False
    return bool(words["dp"] * context % ways == 0)


def more_of(at: Mapping[str, Any]) -> dict[str, Any]:
    """What is set beside the controls: words of a setup, and under `SAID` what files say."""
    return json.loads(str(at["more"]) or "{}")  # type: ignore[no-any-return]


def says(at: Mapping[str, Any]) -> dict[str, Any]:
    """What files say that is kept beside the controls."""
    return more_of(at).get(SAID, {})  # type: ignore[no-any-return]


def _follows(at: Mapping[str, Any]) -> Mapping[str, Any]:
    """Words that follow from what files say and from where the controls stand."""
    if not (said := says(at)):
        return {}
    stands = {
        "method": at["method"],
        "zero": at["zero"],
        "devices": at["gpus"],
        "tensor": at["tp"],
        "pipeline": at["pp"],
    }
    if at["offload"] and said.get("runtime") == "deepspeed":
        stands["offload_optimizer"] = True
    if "runtime" not in said and int(at["zero"]) >= 2 and int(at["gpus"]) > together_of(at):
        stands["runtime"] = "fsdp"  # which divides where no file says who does
    about = {"model": model_of(str(at["model"]), str(at["config"])), "gpu": at["gpu"]}
    return of_files(Joined((), Facts(**{**said, **stands}), frozenset()), about).words


def says_formats(at: Mapping[str, Any]) -> str | None:
    """The formats of what files say, where they leave open what is trained."""
    return _follows(at).get("precision")


def formats_at(at: Mapping[str, Any]) -> str | None:
    """The formats where nobody has chosen any: by what files say, or those of FSDP and ZeRO where they divide."""
    return _formats(at, _follows(at))


def _formats(at: Mapping[str, Any], follows: Mapping[str, Any]) -> str | None:
    if formats := follows.get("precision"):
        return str(formats)
    divided = int(at["zero"]) >= 2 and int(at["gpus"]) >= 2 * int(at["tp"]) * int(at["pp"])
    alone = not at["offload"] and not {"runtime", "offload_sizes"} & {*follows, *more_of(at)}  # without DeepSpeed
    trained = at["method"] == "full" or (at["method"] == "lora" and int(at["zero"]) == 3 and alone)
    if not (trained and divided):
        return None
    return DIVIDED.get(accelerator(str(at["gpu"])).short_format or "")


def mark_of(state: live.State) -> int:
    """A check sum of the plan at which the controls stand, without what the run is to last and to cost."""
    named = json.dumps([state.controls["config"], words_of(state)], default=str, sort_keys=True)
    return zlib.crc32(named.encode()) + 1  # the page takes no zero for a number


def require_layout(state: live.State) -> None:
    """Refuse cards that groups of the chosen size would not use up. Raises `EngineError`."""
    at = state.controls
    beside = {name: at[name] for name in ("tp", "pp") if int(at[name]) > 1}
    together = together_of(at)
    if int(at["gpus"]) % together:
        why = f"which put {together:,} cards to each copy of the model"
        raise EngineError("gpus", at["gpus"], f"a multiple of {together:,}", beside, why)


def setup_of(state: live.State) -> Setup:
    """The setup at which the controls stand. Raises `EngineError` where its parts exclude each other."""
    require_layout(state)
    return setup(**words_of(state))


@cache
def in_list(name: str) -> str | None:
    """The page's name of a model that the engine knows; None where its list has none of these sizes.

    The engine's own names and those of the hub are two lists: the same sizes are the same model, and of several that
    which takes as long sequences.
    """
    known = model(name)
    found = [hub for hub in published() if model(hub).parameters == known.parameters]
    return name if name in found else min(found, key=lambda hub: model(hub).max_seq != known.max_seq, default=None)


def is_named(state: live.State) -> bool:
    """Whether the reader's model is the one that stands in the list, and not another of its sizes."""
    at = state.controls
    return not at["same"] or at["same"] != at["model"]


@cache
def model_of(name: str, config: str) -> str | Transformer:
    """The model's name, or the reader's own by its configuration. Raises `EngineError` where there is none."""
    if name != PASTED:
        return name or MODEL
    if not config:
        raise EngineError("model", "the one you pasted", "pasted: its config.json")
    return from_config(json.loads(config), "your model")
