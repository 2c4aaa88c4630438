"""Settings of axolotl, LLaMA-Factory and of `transformers`' and TRL's trainers, as their files and commands say them.

What a program does when a file is silent is part of what the file says (`Reading.silent`): without a word of adapters
axolotl, TRL's and `transformers`' trainers train every weight, and LLaMA-Factory trains adapters; axolotl and
LLaMA-Factory load a model in its 16-bit format; LLaMA-Factory and TRL's trainers recompute activations unless told
otherwise, `transformers`' does not; TRL cuts sequences to 1,024 tokens and computes in BF16. Sources: the argument
classes of the programs, read in November 2026.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ironlaw.config.words import LONGEST_NAME
from ironlaw.core.errors import EngineError
from ironlaw.files import values
from ironlaw.files.axolotl import AXOLOTL
from ironlaw.files.cluster_files import block, deepspeed, fsdp
from ironlaw.files.dialect import Dialect, Document, Found, bits_of, json_or_text, key_of
from ironlaw.files.evaluation import EVALUATION, LOADERS, evaluation_of, is_unevaluated
from ironlaw.files.facts import DIVIDES, MAYBE_ALONE, STRANGE, Facts, Kind, Reading
from ironlaw.files.llama_factory import BY_MEGATRON, LLAMA_FACTORY, idle
from ironlaw.files.options import Asked, means_nothing, not_understood
from ironlaw.files.preferences import (
    generation,
    generation_by_default,
    is_alone,
    is_of_a_kind,
    may_be_alone,
    may_be_elsewhere,
)
from ironlaw.files.switches import DIVIDED, FROZEN, HEAD, OTHERS, OWN_LOOP, REFERENCE, VLLM, with_switches
from ironlaw.files.trl import OF_OWN_LOOPS, TRAINER, TRL


def read(document: Document, dialect: Dialect) -> Reading:
    """The facts of a file of a program.

    Raises:
        EngineError: A value is none of those that the program takes.
    """
    by_command = isinstance(document, Asked)  # which tells itself what nobody asked for
    document = options = document if isinstance(document, Asked) else Asked(document)
    keys = {fact: key_of(document, key, dialect.others.get(fact, ())) for fact, (key, _) in dialect.keys.items()}
    plain = {fact: convert(keys[fact], document.get(keys[fact])) for fact, (_, convert) in dialect.keys.items()}
    name = document.get(key_of(document, dialect.models[0], dialect.models[1:]))
    steps = document.get("max_steps")
    plain["steps"] = values.count("max_steps", None if steps in (-1, 0, "-1", "0") else steps)
    rest = {**dialect.rest(document), **evaluation_of(document, dialect.kind)}
    rest["unprepared"] = dialect.kind in LOADERS or None
    rest["referenced"] = False if is_alone(document) else None
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
    by_default = {
        **dialect.silent(document, named),
        **_named_file(document, dialect.kind),
        **generation_by_default(document, rest.get("stage")),
    }
    silent = {fact: value for fact, value in by_default.items() if fact not in named}
    found = {**silent, **named}
    if found.get("method", "full") in ("full", "freeze"):
        found = {fact: value for fact, value in found.items() if fact not in _OF_ADAPTERS}
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
            *(idle(document) if dialect.kind == "LLaMA-Factory" else ()),
        ),
        called=_called(name) if facts.model else "",
        uncounted=divided.uncounted,
    )
    names = {
        FROZEN: facts.method == "freeze",
        OTHERS: facts.stage == "ppo",
        OWN_LOOP: dialect.kind == "TRL" and bool(document.keys() & OF_OWN_LOOPS),
        HEAD: facts.stage == "reward",
        VLLM: may_be_elsewhere(document),
        DIVIDED: dialect.kind == "LLaMA-Factory" and any(document.get(key) not in (None, 1) for key in BY_MEGATRON),
    }
    # Products in TF32 take a fraction of the time where they are in FP32.
    faster = facts.compute == "fp32" and values.switch("tf32", document.get("tf32"))
    unread = {"loss_type": not is_of_a_kind(document.get("loss_type")), "tf32": faster}
    where = ("command", "--") if by_command else ("file", "")
    told = not_understood([key for key, there in unread.items() if there], *where)
    read = replace(read, missing=(*read.missing, *told))
    if not by_command:
        others = [key for key in options.unasked() if not means_nothing(key, options[key])]
        others += ["lora_r"] if dialect.kind == "axolotl" and options.get("lora_r") and "adapter" not in options else []
        read = replace(read, missing=(*read.missing, *not_understood(others, "file", "")))
    if dialect.kind in ("TRL", "Trainer") and may_be_alone(document, facts):
        read = replace(read, missing=(*read.missing, MAYBE_ALONE), uncounted={**read.uncounted, REFERENCE: "reference"})
    return with_switches(read, [name for name, there in names.items() if there])


_OF_ADAPTERS = ("rank", "lora_dropout")
"""Facts of adapters, without which they say nothing."""


def _missing(document: Document, name: object, facts: Facts, kind: Kind) -> tuple[str, ...]:
    told = []
    if name is not None and facts.model is None:
        told.append(f"{_called(name)} {STRANGE}: add its config.json.")
    if document.get("adapter") == "qlora" and 4 not in bits_of(document):
        told.append("adapter: qlora is read as QLoRA; axolotl runs it only with load_in_4bit: true.")
    if str(document.get("fsdp_config")).endswith(".json"):
        told.append(f"It names FSDP's file, {DIVIDES}")
    if values.switch("precompute_ref_log_probs", document.get("precompute_ref_log_probs")):
        told.append("precompute_ref_log_probs: the reference's pass before the training is not counted.")
    if file := _deepspeed_file(document):
        known = _OWN_FILE.fullmatch(file) if kind in _NAMING else None
        own = "It names its program's own file for DeepSpeed, ZeRO {}, which is counted: add yours if it differs."
        told.append(own.format(known[1]) if known else f"It names a DeepSpeed file, {DIVIDES}")
    key = key_of(document, EVALUATION[0], EVALUATION[1:])
    if is_unevaluated(document) and (size := values.count(key, document.get(key))):
        told.append(f"{key}: {size:,} counts for nothing: evaluation is off.")
    return tuple(told)


def _is_file(value: object) -> bool:
    """Whether a value is a file's name, and no switch."""
    return isinstance(value, str) and value.lower() not in (*values.ABSENT, "true", "false")


def _called(name: object) -> str:
    """A model's name on the hub, which is public; a path may say more than its owner wants."""
    known = isinstance(name, str) and len(name) <= LONGEST_NAME and re.fullmatch(r"[\w.-]+(/[\w.-]+)?", name)
    return str(name) if known and not str(name).startswith(".") else "What the file names"


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


def _sharding(document: Document) -> dict[str, Any]:
    """Facts of FSDP as axolotl and `transformers` write it."""
    options, config = document.get("fsdp"), document.get("fsdp_config")
    if isinstance(config, str) and config not in values.ABSENT:
        # A command gives it as JSON; a file that it names is asked for (`_missing`).
        said = {} if config.endswith(".json") else json_or_text(config)
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


DIALECTS = (AXOLOTL, LLAMA_FACTORY, TRAINER, TRL)
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
