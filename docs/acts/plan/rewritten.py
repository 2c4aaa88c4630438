"""How a reader's files change to say what the controls say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from explorable import live
from ironlaw import accelerator
from ironlaw.files import Facts, parts
from ironlaw.files.diffs import edited, unified
from ironlaw.files.together import joined, makes_optimizer
from ironlaw.files.trainers import KINDS
from ironlaw.files.words import sequences
from ironlaw.files.words import words_of as words_of_files

from .beside import worded
from .choices import words_of
from .labels import SET_BY
from .pasted import TRAININGS, labeled
from .take import read

UNSAID = "Not in these files, and changed too"
"""What is called what no setting of the files says."""
_TOGETHER = (("batch", "accumulate", "micro_batches"), ("method", "lora_rank", "precision", "base_format"))
"""Words that are changed together."""
_CONTROLS = {"dp": "gpus", **SET_BY}
"""Words of whose controls the names are others."""

_BESIDE = ("adapter_format", "cp", "ep", "eval_batch", "eval_kept", "rms_norm", "update")
"""Words without a control that changes set, and that can be taken back."""


def rewrite(texts: Sequence[str], state: live.State) -> Mapping[str, str]:
    """What a file is -> a unified diff; and what no setting of the files says."""
    found = [part for whole in texts for part in parts(whole) if part[1].kind in TRAININGS]
    if not found:
        return {}
    # Of what several files may say, a program's own settings count before those of what drives it.
    found.sort(key=lambda part: part[1].kind not in (*KINDS, "command"))
    words = words_of(state)
    stood = live.State(state.context, {**state.controls, **read(texts, state).controls})
    facts, own_optimizer = joined(reading for _, reading in found).facts, makes_optimizer(one for _, one in found)
    changed, each = _changed(stood, state, facts), sequences(facts)
    given = {"model": words["model"], "gpu": words["gpu"]}
    said = [words_of_files([reading], given).words for _, reading in found]
    written: set[str] = set()
    diffs: dict[str, str] = {}
    for (text, reading), own in zip(found, said, strict=True):
        others = {word for other in said if other is not own for word in other}
        mine = {word: value for word, value in changed.items() if word in own or word not in (*others, *written)}
        if own_optimizer and reading.kind != "DeepSpeed":
            mine = {word: value for word, value in mine.items() if word not in ("optimizer", "update")}
        after, done = _written(text, _of_examples(mine, each // sequences(reading.facts)), str(words["gpu"]))
        written |= done
        if difference := unified(text, after, "yours", "changed", 1):
            diffs[reading.kind] = difference
    left = [word for word in changed if word not in written]
    told = list(_told(left, state, stood))
    return {**diffs, **({UNSAID: "\n".join(told)} if told else {})}


def _changed(stood: live.State, state: live.State, facts: Facts) -> dict[str, Any]:
    """The words of the plan that are not as files alone leave them."""
    now, before = words_of(state), words_of(stood)
    if facts.micro_batch and not facts.accumulate and not facts.global_batch and "accumulate" in before:
        before["accumulate"] = 1  # as programs have it that are not told
    if "reference" in before:
        now = {"reference": "none", **now}
    if before.get("base_format") == "fp32" and facts.method == "lora":
        now = {"base_format": "16-bit", **now}  # a file that says nothing leaves it at FP32
    return {word: now.get(word) for word in (*now, *(before.keys() - now.keys())) if now.get(word) != before.get(word)}


def _of_examples(changed: Mapping[str, Any], each: int) -> Mapping[str, Any]:
    """Words for a file that does not say of how many sequences its examples are."""
    batch = changed.get("batch")
    if each == 1 or batch is None:
        return changed
    rest = {word: value for word, value in changed.items() if word != "batch"}
    return rest if batch % each else {**rest, "batch": batch // each}


def _written(text: str, changed: Mapping[str, Any], gpu: str) -> tuple[str, set[str]]:
    """A file with as many of the changes as it has settings for, and those words."""
    groups = [[word for word in group if word in changed] for group in _TOGETHER]
    groups += [[word] for word in changed if not any(word in group for group in groups)]
    done: set[str] = set()
    for group in ([*changed], *groups):
        # What the file has no setting for stays as it is.
        change = {word: changed[word] for word in group if changed[word] is not None and word not in done}
        if change and (after := edited(text, change, accelerator(gpu))) is not None:
            text = after
            done |= change.keys()
    return text, done


def _told(words: Iterable[str], state: live.State, stood: live.State) -> Iterator[str]:
    """Words as the labels of the controls that have them and were moved, or in words of their own."""
    names = dict.fromkeys(_CONTROLS.get(word, word) for word in words)
    now, before = words_of(state), words_of(stood)
    for name in names:
        if name in state.controls and state.controls[name] != stood.controls[name]:
            yield labeled(name, state.controls[name])
        elif name in _BESIDE:
            yield worded(name, now[name]) if name in now else f"not {worded(name, before[name])}"
