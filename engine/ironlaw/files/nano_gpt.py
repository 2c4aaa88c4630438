"""Settings of nanoGPT: the lines of a configuration, which its log repeats, and the options of its command.

A file and then the options override what `train.py` says by itself. Its gradient accumulation is that of all processes
together, and each does its part. Source: karpathy/nanoGPT, `train.py` and `configurator.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

from ironlaw.files import values
from ironlaw.files.facts import FORMATS, Facts, Kind, Reading

_SIZES = {"n_layer": 12, "n_head": 12, "n_embd": 768}
"""Settings of the model, as it is where nobody says them: GPT-2's."""
_NAMES = {(12, 12, 768): "gpt2", (24, 16, 1024): "gpt2-medium", (36, 20, 1280): "gpt2-large", (48, 25, 1600): "gpt2-xl"}
VOCABULARY = 50_304
"""Entries of its vocabulary: GPT-2's, rounded up."""
_MARKS = {*_SIZES, "batch_size", "block_size", "max_iters", "init_from", "lr_decay_iters", "eval_iters"}
_LEAST = 2
"""Settings by which a text is nanoGPT's."""
_SETTINGS = {
    *_MARKS, "out_dir", "eval_interval", "log_interval", "eval_only", "always_save_checkpoint", "wandb_log",
    "wandb_project", "wandb_run_name", "dataset", "gradient_accumulation_steps", "dropout", "bias", "learning_rate",
    "weight_decay", "beta1", "beta2", "grad_clip", "decay_lr", "warmup_iters", "min_lr", "backend", "device", "dtype",
    "compile", "seed", "real_data", "profile",
}  # fmt: skip
"""All that its programs take: they refuse any other."""
_LINE = re.compile(r"^(?:Overriding: )?([a-z]\w{1,39})[ \t]*=[ \t]*([^#\n]{1,99})", re.MULTILINE)


def settings(text: str) -> dict[str, str]:
    """The settings that lines of a text assign, the last of each; none where they are not nanoGPT's.

    Other programs have settings of the same names, and some that it does not have.
    """
    found = {name: value.strip().strip("\"'") for name, value in _LINE.findall(text)}
    return found if is_its(found) and ("\nOverriding: " in f"\n{text}" or is_all(found)) else {}


def is_its(given: Mapping[str, object]) -> bool:
    """Whether these are settings of nanoGPT."""
    return len(given.keys() & _MARKS) >= _LEAST and "model_name_or_path" not in given


def is_all(given: Iterable[str]) -> bool:
    """Whether nanoGPT takes all of these settings."""
    return _SETTINGS.issuperset(given)


def read(given: Mapping[str, Any], kind: Kind, *, alone: bool) -> Reading:
    """What its settings say.

    Args:
        given: Setting -> value, as text.
        kind: What the text is that says them.
        alone: Whether nothing else says any, so that `train.py` has the rest as it does by default.

    Raises:
        EngineError: A value is none that nanoGPT takes.
    """
    form = values.named("dtype", given.get("dtype"), FORMATS)
    facts = Facts(
        micro_batch=_count(given, "batch_size"),
        sequence=_count(given, "block_size"),
        accumulate_all=_count(given, "gradient_accumulation_steps"),
        steps=_count(given, "max_iters"),
        compute=form,
        compiled=values.switch("compile", given.get("compile")),
    )
    model, config = _model(given, alone=alone)
    usual = Facts(
        micro_batch=12, sequence=1024, accumulate_all=40, packing=True, stage="pretrain", method="full", compute="auto",
        weights="fp32", optimizer="adamw", update="fused", attention="sdpa", checkpointing=False, compiled=True,
    )  # fmt: skip
    silent = usual.without(facts.said().keys()) if alone else Facts()
    facts = facts.completed(Facts(model=model))
    told = f"Its vocabulary is counted with {VOCABULARY:,} entries; data with a meta.pkl have as many as that says."
    return Reading(
        kind,
        facts.completed(silent),
        silent=frozenset(silent.said()),
        config=config,
        called=model or "",
        missing=(told,) if config else (),
    )


def _count(given: Mapping[str, Any], name: str) -> int | None:
    """A count, also as a product: `5 * 8`."""
    value = str(given.get(name, ""))
    if re.fullmatch(r"\d{1,9}(\s*\*\s*\d{1,9}){1,3}", value):
        value = str(prod(map(int, value.split("*"))))
    return values.count(name, value)


def _model(given: Mapping[str, Any], *, alone: bool) -> tuple[str | None, dict[str, object] | None]:
    """The model by its name, or as a configuration of GPT-2; neither where another text may say it."""
    if str(given.get("init_from", "")) in _NAMES.values():
        return str(given["init_from"]), None
    if not (alone or _SIZES.keys() & given.keys()):
        return None, None
    sizes = {name: _count(given, name) or usual for name, usual in _SIZES.items()}
    rate = values.amount("dropout", given.get("dropout")) or 0.0
    name = _NAMES.get((sizes["n_layer"], sizes["n_head"], sizes["n_embd"]))
    if name and not rate:
        return name, None
    length = _count(given, "block_size") or 1024
    dropouts = dict.fromkeys(("attn_pdrop", "resid_pdrop", "embd_pdrop"), rate)
    return None, {"model_type": "gpt2", **sizes, "n_positions": length, "vocab_size": VOCABULARY, **dropouts}
