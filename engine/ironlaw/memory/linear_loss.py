"""A loss that multiplies by the output matrix itself, piece by piece, and has the gradients when its forward pass ends.

Source: Liger 0.7, `ops/fused_linear_cross_entropy.py`. The logits of a piece become their own gradient; the hidden
state's and the matrix's gradient are filled from it, and are all that is kept for the backward pass.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.config.resolved import Setup
from ironlaw.core.sizes import NOTHING, TOKENS, Size, as_size, total
from ironlaw.core.units import Count
from ironlaw.graph.ir import Section
from ironlaw.memory.tensors import Saved
from ironlaw.numerics.dtypes import FP32


@dataclass(frozen=True, slots=True)
class LinearLoss:
    """Bytes of such a loss.

    Attributes:
        saved: What is kept for the backward pass: both gradients.
        kept: Their bytes.
        whole: What is there while pieces are at work, beside what blocks and norms keep.
        pieces: What a piece needs at its fullest moments: sizes to evaluate at its tokens.
    """

    saved: tuple[Saved, ...]
    kept: Size
    whole: Size
    pieces: tuple[Size, ...]


def ways(c: Setup) -> Count:
    """Parts of the tokens, rounded up to a power of two, of which a piece is one; 0 for other losses."""
    return -(-c.model.vocab // c.model.hidden) if c.loss.form == "fused-linear" else 0


def sums_in_products(c: Setup) -> bool:
    """Whether the product of the matrix's gradient adds to an FP32 sum: on CUDA devices from Ampere on (SM 8.0)."""
    capable = c.framework.backend == "cuda" and c.chip.short_format == "bf16"
    return capable and c.base.weights == FP32 and c.precision.compute != FP32


def linear_loss(c: Setup, head: Section) -> LinearLoss | None:
    """What a fused linear loss holds, or None for other losses.

    Args:
        c: The setup.
        head: The section of output matrix and loss, as if the logits were whole.
    """
    if c.loss.form != "fused-linear" or head.input is None:
        return None
    product = next(op for op in head.ops if op.kind == "matmul")
    hidden, logits = head.input, product.outputs[0]
    compute, stored, trains = logits.dtype, c.base.weights, product.trains > 0
    matrix, narrow = as_size(compute.bytes(product.weights)), hidden.size * (compute.bits // 8)
    # Autocast casts the transposed matrix for each piece, and keeps a cast of the matrix itself where it is trained.
    cast = matrix if compute != stored else NOTHING
    kept = cast if trains else NOTHING
    entering = narrow if compute != hidden.dtype else NOTHING
    pieces = [entering + cast, narrow + (NOTHING if trains else cast)]
    saved = [Saved("lm_head.input.grad", "logits", hidden.size, hidden.dtype, 1, head.name)]
    if trains:
        wide = as_size(FP32.bytes(product.weights) if compute != FP32 else 0)
        pieces.append(entering if sums_in_products(c) else matrix + wide)
        saved.append(Saved("lm_head.weight.grad", "logits", as_size(product.weights), stored, 1, head.name))
    gradients = total(one.size * (one.dtype.bits // 8) for one in saved)
    return LinearLoss(
        saved=tuple(saved),
        kept=gradients,
        # Beside the gradients the hidden states, and a target and a loss a token.
        whole=gradients + hidden.byte_size + TOKENS * (8 + 4) + kept,
        pieces=tuple(logits.byte_size + piece for piece in pieces),
    )
