"""Attention's traffic: what standard and FlashAttention move between device memory and on-chip memory.

Counts are elements per head. Standard attention writes and reads the N x N scores; FlashAttention reads K and V once
per block of queries that fits on chip and never writes the scores. FLOPs are the same, or more in the backward pass:
what shrinks is traffic.

Source: Dao et al. 2022, "FlashAttention", arXiv 2205.14135, theorem 2 and algorithms 0 and 1.
"""

from __future__ import annotations

from ironlaw.core.arrays import ceil, minimum, require_each
from ironlaw.core.errors import EngineError
from ironlaw.core.units import Bytes, Count, Ratio

BLOCK: Count = 128
"""Queries, and keys, that a fused kernel works on at a time."""


def standard_elements(sequence: Count, head_size: Count) -> Count:
    """Elements that the forward pass of standard attention moves per head: `4 N d + 4 N^2`.

    Read Q and K, write S; read S, write P; read P and V, write O (algorithm 0 of the paper).
    """
    _check(sequence, head_size)
    return 4 * sequence * head_size + 4 * sequence**2


def flash_elements(sequence: Count, head_size: Count, on_chip: Count) -> float:
    """Elements that the forward pass of FlashAttention moves per head, for `on_chip` elements of on-chip memory M.

    Algorithm 1 of the paper: block sizes `B_c = ceil(M / 4d)` keys and `B_r = min(B_c, d)` queries; K and V are read
    once, Q and O are read, and O written, once per block of keys: `2 N d + 3 N d T_c` with `T_c = ceil(N / B_c)`.
    Asymptotically `N^2 d^2 / M`.

    Raises:
        EngineError: On-chip memory too small for one block (M < 4 d), or a size below one.
    """
    _check(sequence, head_size)
    if on_chip < 4 * head_size:
        raise EngineError("on_chip", on_chip, f"at least 4 d = {4 * head_size}", {"head_size": head_size})
    key_blocks = ceil(sequence / minimum(ceil(on_chip / (4 * head_size)), sequence))
    return 2 * sequence * head_size + 3 * sequence * head_size * key_blocks


def flash2_elements(sequence: Count, head_size: Count) -> float:
    """Elements that FlashAttention-2 moves per head: Q and O once, K and V once per block of queries.

    `2 N d + 2 N d ceil(N / B_r)`; repeated reads of K and V mostly hit the chip's cache, so this is an upper bound of
    device-memory traffic. Source: Dao 2023, arXiv 2307.08691, algorithm 1.
    """
    _check(sequence, head_size)
    return 2 * sequence * head_size + 2 * sequence * head_size * ceil(sequence / BLOCK)


def traffic_ratio(sequence: Count, head_size: Count, on_chip: Count) -> Ratio:
    """How many times less FlashAttention moves than standard attention. It depends on N, d and the on-chip memory."""
    return standard_elements(sequence, head_size) / flash_elements(sequence, head_size, on_chip)


def score_bytes(batch: Count, heads: Count, sequence: Count, element_bytes: Bytes = 2) -> Bytes:
    """Memory of one N x N score matrix for every head and sequence, which FlashAttention does not need."""
    require_each(1, {"batch": batch, "heads": heads})
    return batch * heads * sequence**2 * element_bytes


def _check(sequence: Count, head_size: Count) -> None:
    require_each(1, {"sequence": sequence, "head size": head_size})
