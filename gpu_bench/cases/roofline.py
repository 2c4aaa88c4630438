"""Suite 9: the roofs of the device, and where the operations of GPT-2 lie below them."""

from __future__ import annotations

from typing import Any

from gpu_bench.cases.kinds import FORMATS, RooflineCase
from gpu_bench.cases.sizes import SIZES

_WIDTHS = (128, 256, 512, 1024, 2048, 4096, 8192, 16384)
_TOKENS = 8 * 1024


def _roofline(name: str, value: int, reason: str, **fields: Any) -> RooflineCase:
    return RooflineCase(name=f"roofline-{name}", value=value, reason=reason, **fields)


def _gpt2_shapes() -> tuple[str, ...]:
    """The products of a GPT-2 XL block and head over 8 x 1,024 tokens; the head with and without padding rows."""
    size = SIZES["gpt2-xl"]
    c, padded = size.hidden, -(-size.vocab // 64) * 64
    outputs_inputs = ((3 * c, c), (c, c), (4 * c, c), (c, 4 * c), (size.vocab, c), (padded, c))
    return tuple(f"{_TOKENS}x{outputs}x{inputs}" for outputs, inputs in outputs_inputs)


ROOFLINE = (
    _roofline(
        "matmul-square",
        85,
        "the ceiling of compute in every format, which all utilizations are compared with",
        part="matmul",
        formats=FORMATS,
        shapes=tuple(f"{width}x{width}x{width}" for width in _WIDTHS),
        device="cuda",
    ),
    _roofline(
        "matmul-gpt2-xl",
        80,
        "what the model's own shapes reach, and what padding the vocabulary gains",
        part="matmul",
        formats=("bf16", "fp8"),
        shapes=_gpt2_shapes(),
        device="cuda",
    ),
    _roofline(
        "copy",
        80,
        "the ceiling of memory, and where caches end",
        part="copy",
        sizes=tuple(2**power for power in range(16, 33, 2)),
        minimum_memory=10 * 10**9,
    ),
    _roofline(
        "operations-gpt2-xl",
        75,
        "which operations of the step are bound by compute and which by memory",
        part="operations",
        formats=("fp32", "bf16"),
        model="gpt2-xl",
        batch=8,
        sequence=1024,
        device="cuda",
        minimum_memory=20 * 10**9,
    ),
)
