"""The points of roofline cases: matrix products, copies, and the operations of a training step, with their work."""

from __future__ import annotations

from collections.abc import Iterator

from gpu_bench.cases.planned import PlannedPoint
from gpu_bench.cases.sizes import GPT2Config
from ironlaw.graph.kernels import FLOPS_PER_ELEMENT

WIDTHS = {"fp32": 4, "tf32": 4, "bf16": 2, "fp16": 2, "fp8": 1}
"""Bytes of a number in memory, by format."""
_FP32 = 4
_ADAM_FLOPS = 12
"""Arithmetic of an AdamW update per parameter: two moments (6), corrections and root (3), division, decay, addition."""


def product(name: str, m: int, n: int, k: int) -> PlannedPoint:
    """(M, K) times (K, N) in a format. The result of FP8 products is in BF16."""
    width = WIDTHS[name]
    result = 2 if name == "fp8" else width
    return PlannedPoint(
        f"{name} {m} x {n} x {k}",
        {"operation": "matmul", "format": name, "m": m, "n": n, "k": k},
        {"flops": 2 * m * n * k, "bytes": width * (m * k + k * n) + result * m * n},
    )


def copy(size: int) -> PlannedPoint:
    """Copying a buffer within the device: every byte is read once and written once."""
    work = {"flops": 0, "bytes": 2 * size}
    return PlannedPoint(f"copy {size} B", {"operation": "copy", "size": size}, work)


def operations(size: GPT2Config, batch: int, sequence: int, name: str) -> Iterator[PlannedPoint]:
    """The operations of one format: forward passes; with FP32 also the loss and the optimizer's update."""
    b, t, c, h, v, width = batch, sequence, size.hidden, size.heads, size.vocab, WIDTHS[name]
    tokens, one = b * t, FLOPS_PER_ELEMENT["elementwise"]
    activations, scores = tokens * c, b * h * t * t
    # A causal product needs half of each score matrix: 2 products of 2 t t d, halved, for every head.
    fused = 2 * b * t * t * c
    norm, softmax = (FLOPS_PER_ELEMENT[kind] for kind in ("norm", "softmax"))
    found = {
        "linear, C to 4C": (2 * tokens * c * 4 * c, width * (activations + 4 * c * c + 4 * activations)),
        "attention, fused": (fused, width * 4 * activations),
        "layer norm": (norm * activations, width * 2 * activations),
        "GELU": (one * 4 * activations, width * 8 * activations),
        "addition": (one * activations, width * 3 * activations),
        "softmax of the scores": (softmax * scores, width * 2 * scores),
        "embedding": (0, width * 2 * activations + 8 * tokens),
    }
    if width == _FP32:
        # Loss and update stay in FP32 whatever the format of the products.
        found["loss"] = (softmax * tokens * v, _FP32 * tokens * v + 8 * tokens)
        # Weight and two moments are read and written, the gradient is read.
        found["AdamW update"] = (_ADAM_FLOPS * 4 * c * c, 7 * _FP32 * 4 * c * c)
    for label, (flops, moved) in found.items():
        settings = {"operation": label, "format": name}
        yield PlannedPoint(f"{name} {label}", settings, {"flops": flops, "bytes": moved})
