"""The output matrix and the loss, in each way that they are written, and what each way keeps.

Sources: transformers, `modeling_llama.py` to 4.45, `loss/loss_utils.py` after; unsloth, `cross_entropy_loss.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ironlaw.core.sizes import BATCH, TOKENS, Size, as_size
from ironlaw.graph.blocks.attention import capped
from ironlaw.graph.ir import Op, Section, Value
from ironlaw.graph.tape import Tape
from ironlaw.models.transformer import Transformer
from ironlaw.numerics.dtypes import FP32, INT64, DType

LossForm = Literal["full", "fused"]
LogitsFormat = Literal["16-bit", "fp32", "shifted", "shifted-early"]


def head(m: Transformer, tape: Tape, dtype: DType, form: LossForm, logits: LogitsFormat | None) -> Section:
    """Output matrix and cross-entropy.

    Args:
        m: The transformer.
        tape: Where operations are written down.
        dtype: Format of a loss that is not fused, as the model's code has it.
        form: `"full"` is PyTorch's loss, `"fused"` one kernel that writes the gradient over the logits.
        logits: What becomes of the logits before the loss: nothing (`"16-bit"`), or a cast in a function that does not
            hold its input (`"shifted-early"`) or whose caller does; `"shifted"` ones are copied but for the last token.
    """
    x = tape.hidden("lm_head.input", m.hidden)
    full = tape.gather("lm_head", x)
    early = logits == "shifted-early" and tape.precision.compute != FP32
    scores = tape.linear(
        "lm_head", full, m.hidden, m.vocab, bias=False, component="activations" if early else "logits", shard=x
    )
    if m.logit_softcap:
        scores = capped(tape, "lm_head.softcap", scores)
    wanted = scores.dtype if logits == "16-bit" or (form == "fused" and not logits) else FP32 if logits else dtype
    if scores.dtype != wanted:
        scores = tape.operation("loss.cast", "cast", (scores,), scores.size, wanted, component="logits")
    rows = TOKENS
    if logits in ("shifted", "shifted-early"):
        rows = rows + BATCH * -1
        scores = tape.operation("loss.shift", "copy", (scores,), rows * m.vocab, FP32, component="logits")
    (_fused if form == "fused" else _cross_entropy)(tape, scores, rows)
    return replace(tape.section("head"), holds_input=logits is not None)


def _cross_entropy(tape: Tape, logits: Value, rows: Size) -> None:
    """PyTorch's mean cross-entropy. Saves log-probabilities in the format of the logits, and targets (int64)."""
    targets = tape.value("loss.targets", rows, INT64, needs_gradient=False)
    log_probabilities = tape.operation(
        "loss.log_softmax", "softmax", (logits,), logits.size, logits.dtype, saves_result=True, component="logits"
    )
    inputs = (log_probabilities, targets)
    total_weight = tape.value("loss.total_weight", as_size(1), logits.dtype, needs_gradient=False)
    tape.operation("loss", "loss", inputs, as_size(1), logits.dtype, saves=(*inputs, total_weight))


def _fused(tape: Tape, logits: Value, rows: Size) -> None:
    """One kernel forward and one backward. Saves the logits, a log-sum-exp and a target a token."""
    targets = tape.value("loss.targets", rows, INT64, needs_gradient=False)
    loss = tape.value("loss", as_size(1), FP32)
    losses, lse = (tape.value(f"loss.{part}", rows, FP32, needs_gradient=False) for part in ("each", "logsumexp"))
    saved = (logits, lse, targets)
    tape.record(Op("loss", "softmax", (logits, targets), (loss, losses, lse), saved, in_place=True))
