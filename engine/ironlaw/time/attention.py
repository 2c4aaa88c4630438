"""Attention: what it moves between device memory and on-chip memory, and how long fused attention takes.

Elements are counted per head. Standard attention writes and reads the N x N scores; FlashAttention reads K and V once
per block of queries that fits on chip and never writes the scores. FLOPs are the same, or more in the backward pass:
what shrinks is traffic. Source: Dao et al. 2022, "FlashAttention", arXiv 2205.14135, theorem 2 and algorithms 0 and 1.

Time is the rate of the products, and the time of a causal kernel relative to all of them.
"""

from __future__ import annotations

from ironlaw.config.resolved import Setup
from ironlaw.core.arrays import ceil, maximum, minimum, require_at_least, require_each
from ironlaw.core.errors import EngineError
from ironlaw.core.units import Bytes, Count, FlopsPerSecond, Ratio
from ironlaw.graph.kernels import Phase
from ironlaw.time.gemm import SIXTEEN_BIT, sustained

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


ATTENTION_SHARES: dict[str, tuple[Ratio, Ratio]] = {"data-center": (0.73, 0.63), "geforce": (1.0, 0.94)}
"""Shares of the dense peak that fused attention reaches forward and backward at head size 128, if none is on record.

Data center, and chips of no family: FlashAttention-2's best on an A100 (arXiv 2307.08691); Hopper's are on record and
lower, 335 and 322 of 989 TFLOP/s. GeForce: 173 of 165 TFLOP/s forward on an RTX 4090, above the peak at the nominal
clock (github.com/ROCm/flash-attention, issue 27); backward, not published, is 77 of 82 TFLOP/s forward on an RTX A5000,
whose multiprocessors are those of a GeForce card (github.com/gpu-mode/ring-attention, issue 10).
"""


EXPONENTIAL_SHARES: dict[str, Ratio] = {"data-center": 1 / 3, "geforce": 1 / 12}
"""Seconds of a score's exponential over those of its products at head size 128.

A multiprocessor computes 16 exponentials a clock (CUDA C++ programming guide, arithmetic instructions), and 2,048 FLOPs
of 16-bit products on an A100, on a GeForce card with fp32 sums 512: exponentials hide four times better. There head
size 64 is no slower than 128: 173 TFLOP/s on an RTX 4090, as above.
"""


ATTENTION_GENERATION_SPEEDUP = 2
"""FlashAttention-2 over FlashAttention. Source: Dao 2023, arXiv 2307.08691, abstract."""


def attention_rate(c: Setup, head_size: Count, dtype: str, phase: Phase) -> FlopsPerSecond:
    """FLOPs per second of fused attention. A smaller head leaves more exponentials per product."""
    peak = c.chip.peak(dtype)
    generation = f"flash-{c.attention.generation}"
    measured = (c.chip.fused_attention(generation) or c.chip.attention) if dtype in SIXTEEN_BIT else None
    family = c.chip.family or "data-center"
    forward, backward = (peak * share for share in ATTENTION_SHARES[family])
    if measured:
        forward, backward = measured.forward, measured.backward
    full = backward if phase == "backward" else forward
    if c.attention.generation == 1:
        full = full / ATTENTION_GENERATION_SPEEDUP
    exponentials = EXPONENTIAL_SHARES[family]
    if head_size < 128:
        full = full * (1 + exponentials) / (1 + exponentials * 128 / head_size)
    # No rate of fused attention is published for these formats: assume that of separate products.
    return min(full, peak if dtype in SIXTEEN_BIT else sustained(c.chip, dtype))


def causal_share(sequence: Count) -> Ratio:
    """Share of the N x N work that a causal kernel does when it skips masked blocks whole: `(1 + B/N) / 2`.

    Blocks on the diagonal are computed in full. For a sequence shorter than a block nothing is skipped.
    """
    require_at_least("sequence", sequence, 1)
    blocks = maximum(sequence / BLOCK, 1)
    return (1 + 1 / blocks) / 2


BLOCKS_PER_TILE: Ratio = 1.8
"""What a query block costs besides its products, in blocks of keys: loading queries, filling and draining, writing.

From kernels alone, not causal, head size 128, on an H100: 430, 517, 566, 590, 614, 621 TFLOP/s for FlashAttention-3 and
329, 390, 434, 458, 471, 477 for Triton's FlashAttention-2 at 512 to 16,384 tokens. Both grow as `1 / (1 + 1.8 B/N)`
with blocks of 128 within 2 %. Source: github.com/pytorch/benchmark, pull request 2391.
"""


def kernel_share(sequence: Count, window: Count = 0) -> Ratio:
    """Time of a causal kernel relative to all N x N products at its full rate: its share of them, and blocks' cost.

    `causal_share + 1.8 B/N`: a short sequence pays relatively more, 0.79 at 1,024 tokens and 0.53 at 16,384. With a
    window of w tokens a query sees at most w: of the causal half a share of `2 w/N - (w/N)^2`, and blocks in part.
    """
    share = causal_share(sequence)
    if window:
        seen = minimum(window / sequence, 1.0)
        share = minimum(share * (2 * seen - seen * seen) + BLOCK / sequence, share)
    return share + BLOCKS_PER_TILE * BLOCK / sequence


def ring_share(sequence: Count, devices: Count) -> Ratio:
    """The same of a kernel in the steps of a ring, of which a device has `sequence` tokens, over all its products.

    The products of a device are those of its queries with the keys of all devices. Its own step is causal, each of the
    others has half the keys and no mask, but all queries, with what their blocks cost (`ironlaw.graph.ring`).
    """
    further = 1 / 2 + BLOCKS_PER_TILE * BLOCK / sequence
    return (kernel_share(sequence) + (devices - 1) * further) / devices
