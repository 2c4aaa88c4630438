"""The reflection of Act 1: what mixed precision saves at the reader's own optimizer and batch."""

from __future__ import annotations

from explorable import live

from .settings import Setting, activations_there, ledger, needed, setting_of

SAVINGS = {"little": 0.20, "part": 0.40, "nearly": 0.50, "more": 1.01}
"""Upper ends of the ranges that the first blank offers."""
SHRINKS = {(False, True): "activations", (True, False): "static", (True, True): "both", (False, False): "none"}
"""Whether static memory and activations shrink -> the reason that says so."""


def correct_blanks(state: live.State) -> dict[str, live.Value]:
    """The right blanks: the engine's comparison of FP32 and mixed precision, all else as it is set."""
    setting = setting_of(state)
    pair = [Setting(setting.optimizer, mode, setting.batch, setting.update) for mode in ("fp32", "mixed")]
    single, mixed = map(ledger, pair)
    saved = 1 - needed(pair[1]) / needed(pair[0])
    reason = SHRINKS[mixed.static_bytes < single.static_bytes, mixed.saved_bytes < single.saved_bytes]
    # What shrinks lowers the peak only where it is there at the peak.
    if reason == "activations" and activations_there(pair[0]) < mixed.saved_bytes:
        reason = "passing"
    return {"saving": next(name for name, end in SAVINGS.items() if saved < end), "reason": reason}


SAVING_OPTIONS = (
    live.Option("little", "less than 20 %", "That is what you see while static memory dominates the total."),
    live.Option("part", "20 to 40 %", "That is what you see while activations and static memory are of one order."),
    live.Option("nearly", "40 to 50 %", "That is what you see once a large batch lets activations dominate."),
    live.Option("more", "half or more", "It cannot halve: the static part has the same size in both."),
)
REASON_OPTIONS = (
    live.Option(
        "both", "every tensor takes half the bytes", "Compare the tables: master copy and optimizer state are FP32."
    ),
    live.Option(
        "activations",
        "activations halve and are all there at the peak; static memory stays",
        "Static memory stays: parameters and gradients go from 4 + 4 bytes to 2 + 2, and the master copy costs 4. With "
        "a large batch a step is fullest at the loss, where activations are all there; with a small one later, when "
        "gradients are there and activations gone.",
    ),
    live.Option(
        "passing",
        "static memory stays, and at the peak the activations, which halve, are gone",
        "That takes a step that is fullest when the backward pass ends, or in a foreach update: gradients are there "
        "and activations gone. What is saved, if anything, is of temporary tensors. Compare batches 1 and 8.",
    ),
    live.Option(
        "static",
        "optimizer state halves and activations stay",
        "Set Adam and switch precision: m and v stay as they are.",
    ),
    live.Option(
        "none", "the GPU compresses idle tensors", "Nothing is compressed: a tensor has the bytes its format says."
    ),
)
REFLECTION = live.Reflection(
    name="mixed-precision",
    text="Static memory is what does not depend on the batch: parameters, gradients, master copy and optimizer state. "
    "The peak is the fullest moment of a step. Keep your optimizer, batch and update, and switch from FP32 to mixed "
    "precision. Then the memory needed at the peak falls by {saving}, because {reason}.",
    blanks=(live.Blank("saving", "How much", SAVING_OPTIONS), live.Blank("reason", "Why", REASON_OPTIONS)),
    correct=correct_blanks,
)
