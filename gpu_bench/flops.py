"""Floating-point operations of one training step of a GPT, by the two conventions in use. Pure arithmetic.

Symbols: N parameters that take part in a matrix product per token (all but the position table), L layers, h hidden
size, T sequence length.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class StepFlops:
    """Model FLOPs of one training step, forward and backward, in FLOP.

    full: 6 N + 12 L h T per token: every score of the T x T square counts (PaLM, arXiv 2204.02311, appendix B).
    causal: 6 N + 6 L h T per token: only the half of the square that a causal model needs.
    """

    full: int
    causal: int


def step_flops(parameters: int, layers: int, hidden: int, sequence: int, batch: int) -> StepFlops:
    """Model FLOPs of one step over `batch` sequences.

    Args:
        parameters: N, without the position table, which is looked up and never multiplied.
        layers: L.
        hidden: h.
        sequence: T in tokens.
        batch: Sequences per step.

    Returns:
        FLOPs of the step by both conventions.
    """
    tokens = batch * sequence
    attention = layers * hidden * sequence
    return StepFlops(full=(6 * parameters + 12 * attention) * tokens, causal=(6 * parameters + 6 * attention) * tokens)
