"""What files of trainers say of evaluation."""

from __future__ import annotations

from ironlaw.files import values
from ironlaw.files.axolotl import cuts
from ironlaw.files.dialect import Document, Found, key_of
from ironlaw.files.facts import Kind

EVALUATION = ("per_device_eval_batch_size", "per_gpu_eval_batch_size", "eval_batch_size")
"""Keys of the sequences that a device evaluates at once."""
EVALUATED = 8
"""Sequences that a device evaluates at once where nobody says how many: `transformers`' default. axolotl takes the
training's."""
_STRATEGIES = ("eval_strategy", "evaluation_strategy")
LOADERS = ("axolotl", "LLaMA-Factory")
"""Programs that leave out peft's preparation of 4 bits, or take back its FP32 (`convert_embedding_modules_dtype`), and
that call Liger's kernel themselves, which outside of training has the logits whole; Trainer's own
`use_liger_kernel` leaves them out of an evaluation that keeps the loss alone (transformers 5.23, `prediction_step`),
and so does cut cross-entropy."""


def evaluation_of(document: Document, kind: Kind) -> Found:
    """How many sequences are evaluated at once, and of how many batches logits are kept, where a file evaluates.

    Who has no metrics does not ask for `eval_accumulation_steps`, after which logits leave the device.
    """
    key = key_of(document, EVALUATION[0], EVALUATION[1:])
    size = values.count(key, document.get(key))
    if size is None and kind != "axolotl" and _is_evaluated(document):
        size = EVALUATED
    if size is None or is_unevaluated(document):
        return {}
    kept = values.count("eval_accumulation_steps", document.get("eval_accumulation_steps"))
    if values.switch("prediction_loss_only", document.get("prediction_loss_only")):
        kept = None
    whole = kind in LOADERS and not cuts(document)
    return {"eval_batch": size, "eval_kept": kept, "eval_logits": whole or None}


def _strategy(document: Document) -> object:
    """When a file evaluates: "steps", "epoch", "no", or None where it does not say. YAML reads a bare `no` as false."""
    key = next((key for key in _STRATEGIES if document.get(key) not in (None, "")), _STRATEGIES[0])
    asked = document.get(key)
    said = "no" if asked is False or asked == "none" else asked
    return values.named(key, said, {name: name for name in ("no", "steps", "epoch")})


def _is_evaluated(document: Document) -> bool:
    """Whether a file asks for evaluation."""
    return _strategy(document) in ("steps", "epoch") or bool(values.switch("do_eval", document.get("do_eval")))


def is_unevaluated(document: Document) -> bool:
    """Whether a file turns evaluation off."""
    when, asked = _strategy(document), values.switch("do_eval", document.get("do_eval"))
    off = when == "no" or (when is None and asked is False) or document.get("val_set_size") in (0, "0", "0.0")
    asked = asked or bool(document.get("test_datasets"))
    return off and not asked
