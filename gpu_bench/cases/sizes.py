"""The shapes of GPT-2, the four published sizes and two for CPUs, and the usual training case on a GPU."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from gpu_bench.cases.case import Attention, ModelName, TrainingCase


@dataclass(frozen=True)
class GPT2Config:
    """The shape of a GPT-2, and the two choices that change which tensors are kept for the backward pass."""

    layers: int = 12
    heads: int = 12
    hidden: int = 768
    vocab: int = 50257
    """50,256 byte pairs and one end-of-text token. 50,304 (a multiple of 64) is faster and adds 47 unused rows."""
    max_seq: int = 1024
    dropout: float = 0.0
    """0.1 in the paper. 0 here: today's pre-training sees each token once, so there is little to regularise."""
    bias: bool = True
    """True as published: every Linear and LayerNorm has a bias."""
    attention: Attention = "flash"
    """`flash` never stores the T x T scores; `standard` materialises scores, softmax and dropout."""
    recompute_attention: bool = False
    """True computes the inside of attention again in the backward pass instead of keeping it."""

    def __post_init__(self) -> None:
        if self.hidden % self.heads:
            raise ValueError(f"hidden {self.hidden} is not a multiple of heads {self.heads}")
        if self.attention not in ("flash", "standard"):
            raise ValueError(f"attention is {self.attention!r}; allowed: 'flash', 'standard'")
        if not 0.0 <= self.dropout < 1.0:
            raise ValueError(f"dropout is {self.dropout}; allowed: 0 <= dropout < 1")


SIZES: dict[str, GPT2Config] = {
    # Byte-level: the smallest trains in milliseconds, for tests; the next is small enough for two CPU cores, yet wide
    # enough that optimizer state shows in the memory.
    "pico": GPT2Config(layers=3, heads=2, hidden=64, vocab=256, max_seq=128),
    "nano": GPT2Config(layers=4, heads=4, hidden=256, vocab=256, max_seq=256),
    "gpt2": GPT2Config(layers=12, heads=12, hidden=768),
    "gpt2-medium": GPT2Config(layers=24, heads=16, hidden=1024),
    "gpt2-large": GPT2Config(layers=36, heads=20, hidden=1280),
    "gpt2-xl": GPT2Config(layers=48, heads=25, hidden=1600),
}


def config_of(case: TrainingCase) -> GPT2Config:
    """The shape of the model that a case trains, with the rows that pad its vocabulary."""
    size = SIZES[case.model]
    return replace(
        size,
        vocab=-(-size.vocab // case.vocab_multiple) * case.vocab_multiple,
        max_seq=max(size.max_seq, case.sequence),
        dropout=case.dropout,
        attention=case.attention,
        recompute_attention=case.checkpointing == "selective",
    )


def product_shapes(case: TrainingCase, square: int) -> list[tuple[int, int, int]]:
    """M, N, K of a block's forward products, and of a square: only measuring shows which is fastest on a device."""
    tokens, c = case.batch * case.sequence, SIZES[case.model].hidden
    return [(tokens, 3 * c, c), (tokens, 4 * c, c), (tokens, c, 4 * c), (square, square, square)]


def largest_product_bytes(case: TrainingCase) -> int:
    """Bytes of both operands and the result of the step's largest matrix product, in FP32.

    A CPU's matrix library may pack copies of these, and which it packs depends on the instructions that the CPU has.
    """
    config = config_of(case)
    rows, inner, columns = case.batch * case.sequence, config.hidden, max(config.vocab, 4 * config.hidden)
    return 4 * (rows * inner + inner * columns + rows * columns)


_REMAINDER_SHARE = 0.05
_CUDA_WORKSPACE = 96 * 2**20


def remainder_tolerance(case: TrainingCase, peak: int, device: str) -> int:
    """Bytes of a peak that named components may leave over, on a `cpu` or on `cuda`: kernels' workspaces, rounding.

    A share of the peak, and on top what kernels may hold at the worst moment: on CUDA, cuBLAS keeps 32 MiB per handle
    on Hopper, cuBLASLt and attention their own; on a CPU, packed copies for the largest product.
    """
    return int(_REMAINDER_SHARE * peak) + (_CUDA_WORKSPACE if device == "cuda" else largest_product_bytes(case))


MODELS: tuple[ModelName, ...] = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
SIZE_NAMES: dict[ModelName, str] = {
    "gpt2": "124m", "gpt2-medium": "355m", "gpt2-large": "774m", "gpt2-xl": "1558m"
}  # fmt: skip
UNTIMED: dict[str, Any] = {"warm_s": 0.0, "timed_s": 0.0}
"""Fields of a case that is about bytes or losses: it takes exactly as many steps as it says."""
_USUAL: dict[str, Any] = {
    "precision": "amp-bf16",
    "optimizer": "adamw",
    "learning_rate": 1e-4,
    "sequence": 1024,
    "device": "cuda",
    # The first repeat of a large model may have to compile for minutes.
    "time_limit_s": 900.0,
    # Clocks and heat settle, then half a minute is timed, or less once the median is known.
    "warm_s": 10.0,
    "timed_s": 30.0,
}


def on_gpu(name: str, model: ModelName, value: int, reason: str, **fields: Any) -> TrainingCase:
    """The usual training case on a GPU, with autocast to BF16 and AdamW, changed by `fields`."""
    return TrainingCase(name=name, model=model, value=value, reason=reason, **{**_USUAL, **fields})
