"""What files or changes have set beside the controls: told, and taken back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from explorable import live

from .choices import FORMATS, LEAN, PAIRS, SAID, WAS, more_of

GROUP = "Set beside the controls, by your files or by a change"
"""What the list is called in which it can be taken back."""
_EITHER = "Programs load it in the one format or the other."
_AS_BEFORE = "The plan is as before that change."
_WORTH = -10_000.0
"""Behind all changes that help."""
_TOLD = {
    "cp": "{} cards share a sequence (context parallel)",
    "ep": "{} cards share the experts (expert parallel)",
    "imbalance": "{} times the mean of the tokens on the fullest of these cards",
    "reference": "a frozen reference (DPO, KTO, GRPO) in {}",
    "rollout": "texts generated between steps (GRPO) {}",
    "update": "an update of the kind {}",
    "eval_batch": "evaluation with {} sequences at a time",
    "eval_kept": "evaluation that keeps the logits of {} batches",
    "eval_logits": "evaluation with whole logits",
    "lora_targets": "adapters on {}",
    "lora_dropout": "a dropout of {} before adapters",
    "dora": "adapters with magnitudes (DoRA)",
    "double_quantization": "scales that are quantized too: {}",
    "node_size": "machines of {} cards",
    "micro_batches": "{} micro-batches",
    "runtime": "buffers of {}",
    "framework": "operations of {}",
    "keep_logits": "logits kept to the end of a step",
    "rms_norm": "an RMSNorm that is {}",
    "quantization_block": "{} weights to a scale",
    "adapter_format": "adapters in {}",
    "base_format": "frozen weights, where they are not quantized, in {}",
    "dropout": "a dropout of {}",
    "offload": "a machine's own memory for {}",
    "offload_sizes": "buffers of offloading of {}",
    PAIRS: "examples that are pairs of sequences",
    LEAN: "one process of a machine that reads the model (cpu_ram_efficient_loading)",
    SAID: "what your files say of formats and offloading",
}
"""Word -> what it sets, in words."""
_WITHOUT = {
    "base_format": "They are counted in the format that the engine has for them: 16 bits, or FP32 beside 4 bits.",
    "reference": "As if it had answered before the training (TRL's precompute_ref_log_probs), which is not counted.",
}


def told(state: live.State) -> str:
    """What is set beside the controls, in a sentence; nothing where nothing is."""
    said = [_worded(state, word, value) for word, value in more_of(state.controls).items() if word not in (SAID, WAS)]
    return f"Set beside the controls: {', '.join(said)}." if said else ""


def taken_back(state: live.State) -> Iterator[live.Suggestion]:
    """A change for each of them that takes it away, and puts back what it took the place of; also for formats."""
    stands = more_of(state.controls)
    replaced = stands.pop(WAS, {})
    if formats := _before(replaced.get("precision", {}), state.controls):
        others = {word: one for word, one in replaced.items() if word != "precision"}
        rest = {**stands, **({WAS: others} if others else {})}
        # Where nobody had chosen any, the control says so by an empty word.
        change = {"more": json.dumps(rest, sort_keys=True) if rest else "", "precision": formats["precision"] or ""}
        title = f"Take back: formats, {FORMATS[str(state.controls['precision'])]}"
        yield live.Suggestion(title, _AS_BEFORE, change, _WORTH + 1, GROUP)
    for place, (word, value) in enumerate(stands.items()):
        if word == PAIRS:
            continue  # however they are answered, they are pairs
        rest = {other: one for other, one in stands.items() if other != word}
        before = _before(replaced.get(word, {}), {**state.controls, word: value})
        if before.get(word) is not None:
            rest[word] = before[word]
        if others := {other: one for other, one in replaced.items() if other != word and other in (*rest, "precision")}:
            rest[WAS] = others
        back = {name: one for name, one in before.items() if name != word}
        change = {"more": json.dumps(rest, sort_keys=True) if rest else "", **back}
        text = _AS_BEFORE if before else _WITHOUT.get(word, "The plan is as if nothing had said it.")
        yield live.Suggestion(f"Take back: {_worded(state, word, value)}", text, change, _WORTH - place, GROUP)
    if (kept := stands.get("reference")) and state.controls["method"] == "full":
        other = kept.replace("16-bit", "fp32") if kept.startswith("16-bit") else kept.replace("fp32", "16-bit")
        change = {"more": json.dumps({**more_of(state.controls), "reference": other}, sort_keys=True)}
        yield live.Suggestion(f"Count {worded('reference', other)}", _EITHER, change, _WORTH - len(stands), GROUP)


def _before(replaced: Mapping[str, list[Any]], stands: Mapping[str, Any]) -> dict[str, Any]:
    """What a change took the place of, of all that still stands as the change has set it."""
    return {name: before for name, (before, after) in replaced.items() if stands.get(name) == after}


def _worded(state: live.State, word: str, value: object) -> str:
    """The same where it stands: a reference beside adapters has no weights of its own."""
    alone = word == "reference" and state.controls["method"] != "full"
    return "the answers of a frozen reference (DPO, KTO, GRPO)" if alone else worded(word, value)


def worded(word: str, value: object) -> str:
    """A word that no control has, and its value, in words."""
    counted = ("no", "yes")[value] if isinstance(value, bool) else f"{value:,}" if isinstance(value, int) else value
    if word == "reference" and isinstance(value, str):
        kept, _, passes = value.partition(":")
        counted = f"{kept}, with {passes} forward passes" if passes else kept
    if word == "rollout" and isinstance(value, str):
        by, _, share = value.partition(":")
        asleep = " while it generates" if by == "asleep" else ""
        counted = f"by vLLM, with {100 * float(share):.0f} % of every card{asleep}" if share else "by the model itself"
    said = _TOLD.get(word, f"{word} {{}}").format(counted)
    return said.replace(" sequences at", " sequence at").replace(" batches", " batch") if value == 1 else said
