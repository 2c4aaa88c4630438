"""The plan as texts for other programs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from inspect import signature
from typing import Any

from explorable import live
from ironlaw import EngineError, Setup, setup
from ironlaw.files.launch import deepspeed as of_deepspeed
from ironlaw.files.launch import sizes_buffers, uses_deepspeed, uses_fsdp

from .choices import LEAN, PAIRS, is_named, more_of, require_layout, setup_of, words_of
from .labels import worded
from .left import TITLES, left, waiting

DEFAULTS = {word.name: word.default for word in signature(setup).parameters.values() if word.default is not word.empty}
NAMES = {
    "command": "The same numbers in a shell",
    "torchrun": "torchrun",
    "accelerate": "accelerate.yaml",
    "deepspeed": "deepspeed.json",
    "fsdp": "fsdp.yaml",
    "markdown": "For an issue (Markdown)",
    "json": "plan.json",
}

INSTALL = "python -m pip install ./engine"
"""What installs the program of the shell line, in a clone: as `docs/reference/own_code.md` says it."""
PROGRAM = (
    f"The program is this book's engine, and on no package index yet: in a clone of the book, {INSTALL} installs it."
)
"""How somebody gets it."""
_LAST = re.compile(r"^  (fsdp_|)offload_params: .*\n", re.MULTILINE)
_LEAN = r"\g<0>  \1cpu_ram_efficient_loading: true\n"
"""What stands behind the last setting of FSDP where one process of a machine reads the model."""
NO_SETTING = "its programs have no settings for all of these formats, kernels and updates together"
SIZED = "it has no settings for the sizes of DeepSpeed's buffers, which deepspeed.json has"
PREFERENCES = (
    "preferences and GRPO are trained with a command of your program, such as `trl dpo`, `llamafactory-cli train` or "
    "`axolotl train`"
)
PLANNED = "it holds what this plan counts, and what a Trainer (it fills in “auto”) needs to clip gradients and to save"
BESIDES = "DeepSpeed keeps buffers that are not in this plan; paste this file into the page's box to count them"
"""Said of a file for DeepSpeed of a plan that counts what FSDP holds."""


def command(words: Mapping[str, Any]) -> str:
    """The line for a shell that gives the same numbers."""
    from ironlaw.files.exports import command as line

    return line(_said(words))


def exports(state: live.State) -> Mapping[str, str]:
    """What each text is called, and the text; under no name what is not written and why."""
    try:
        return _texts(state)
    except EngineError as error:
        return {"": worded(error)}


def _texts(state: live.State) -> Mapping[str, str]:
    from ironlaw.files.exports import exports as texts_of

    require_layout(state)
    # Nor is the page's own model launched for one that a text names and the page does not know.
    named = is_named(state) and "model" not in left(state)
    words, c = words_of(state), setup_of(state)
    found = dict(texts_of(_said(words), hub=named))
    if PAIRS in more_of(state.controls):
        found = _of_pairs(found, words)
    if not is_named(state):
        found["markdown"] = found["markdown"].replace(c.model.name, f"a model of the sizes of {c.model.name}", 1)
    data = json.loads(found["json"])
    if names := waiting(state, data["verdict"]):
        # No export says more than the page does.
        found["markdown"] = found["markdown"].replace("- Verdict: ", f"- {TITLES[names[0]]}; as it stands: ", 1)
        data["estimate"] |= {"fits": None, "verdict": None}
        found["json"] = json.dumps(data | {"verdict": None, "open": list(names)}, indent=2) + "\n"
    if LEAN in more_of(state.controls) and uses_fsdp(c):
        found |= {name: _LAST.sub(_LEAN, found[name]) for name in ("accelerate", "fsdp") if name in found}
    texts = {NAMES.get(name, name): text for name, text in found.items()}
    missing = [f"{NAMES['command']}: {PROGRAM[:1].lower()}{PROGRAM[1:]}"]
    missing += [f"No {name}: {why}." for name, why in _reasons(state, c).items() if name not in texts]
    if NAMES["deepspeed"] in texts:
        missing.append(f"{NAMES['deepspeed']}: {PLANNED}.")
    if NAMES["deepspeed"] in texts and c.layout.divides_gradients and not c.update.buffers:
        missing.append(f"{NAMES['deepspeed']}: {BESIDES}.")
    return {**texts, "": "\n".join(missing)}


def _of_pairs(found: Mapping[str, str], words: Mapping[str, Any]) -> dict[str, str]:
    """The texts, those for programs with their batches in pairs; without them where that is no whole number."""
    from ironlaw.files.exports import exports as texts_of

    ours = {name: text for name, text in found.items() if name in ("command", "markdown", "json")}
    if words["batch"] % 2:
        return ours
    theirs = texts_of(_said({**words, "batch": words["batch"] // 2}), hub=False)
    return ours | {name: text for name, text in theirs.items() if name in ("accelerate", "deepspeed", "fsdp")}


def _reasons(state: live.State, c: Setup) -> Mapping[str, str]:
    """Why there may be no such text, by its name."""
    fsdp, deepspeed = uses_fsdp(c), uses_deepspeed(c)
    reasons = dict.fromkeys((NAMES[name] for name in ("torchrun", "accelerate", "deepspeed", "fsdp")), NO_SETTING)
    if PAIRS in more_of(state.controls) and c.batch % 2:
        reasons = dict.fromkeys(reasons, "programs count pairs, and these sequences are no whole ones")
    if c.reference or c.rollout or PAIRS in more_of(state.controls):
        reasons[NAMES["torchrun"]] = PREFERENCES
    elif c.adaptation.quantization and c.adaptation.base != "fp32":
        reasons[NAMES["torchrun"]] = "TRL makes FP32 of what is not in 4 bits, and this plan keeps 16"
    if not (fsdp or deepspeed or c.layout.zero or c.update.offload != "none"):
        whole = "one card has nobody to divide with" if c.devices == 1 else "the cards divide nothing"
        reasons |= dict.fromkeys((NAMES["deepspeed"], NAMES["fsdp"]), whole)
    elif c.layout.peers == 1:
        reasons[NAMES["fsdp"]] = "no cards hold the same, so there is nothing to divide"
    elif not fsdp:
        reasons[NAMES["fsdp"]] = "here DeepSpeed divides, or offloads" if deepspeed else "FSDP divides gradients too"
    else:
        reasons[NAMES["deepspeed"]] = "here FSDP divides, in formats that DeepSpeed does not have"
    if sizes_buffers(c) and of_deepspeed(c):
        reasons[NAMES["accelerate"]] = SIZED
    if c.layout.together > 1:
        groups = "this page writes none for groups that share matrices, blocks or sequences"
        reasons |= dict.fromkeys((NAMES["accelerate"], NAMES["deepspeed"], NAMES["fsdp"]), groups)
    return reasons


def _said(words: Mapping[str, Any]) -> dict[str, Any]:
    """The words that say something: what stands at its default is left out."""
    return {word: value for word, value in words.items() if value is not None and DEFAULTS.get(word) != value}
