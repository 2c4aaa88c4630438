"""The operations of a GPT-2 step, each alone and in the sizes of a model: arithmetic, bytes, and something to time.

Bytes are those that the mathematics cannot avoid: every input read once, every result written once. Arithmetic per
element is the engine's, so that a measured point and the engine's point are one point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from engine.graph.kernels import FLOPS_PER_ELEMENT
from gpu_bench.roofline_case import RooflineCase
from gpu_bench.sizes import SIZES

_FP32 = 4
_ADAM_FLOPS = 12
"""Arithmetic of an AdamW update per parameter: two moments (6), corrections and root (3), division, decay, addition."""


@dataclass(frozen=True)
class Operation:
    """One operation that can be timed.

    Attributes:
        label: Its name in tables.
        settings: What tells it from the others.
        flops: Arithmetic of one call.
        bytes: Traffic of one call that cannot be avoided.
        build: Makes its tensors and returns the call.
    """

    label: str
    settings: Mapping[str, str | int]
    flops: int
    bytes: int
    build: Callable[[], Callable[[], object]]


def operations(case: RooflineCase, name: str, dtype: torch.dtype, device: torch.device) -> Iterator[Operation]:
    """The operations of one format: forward passes; with FP32 also the loss and the optimizer's update."""
    size = SIZES[case.model]
    tokens, c, h, v = case.batch * case.sequence, size.hidden, size.heads, size.vocab
    b, t, d, width = case.batch, case.sequence, size.hidden // size.heads, dtype.itemsize

    def random(*shape: int, of: torch.dtype = dtype) -> Tensor:
        return torch.randn(*shape, device=device).to(of)

    def operation(label: str, flops: int, moved: int, build: Callable[[], Callable[[], object]]) -> Operation:
        return Operation(f"{name} {label}", {"operation": label, "format": name}, flops, moved, build)

    def linear() -> Callable[[], object]:
        x, weight = random(tokens, c), random(4 * c, c)
        return lambda: functional.linear(x, weight)

    def layer_norm() -> Callable[[], object]:
        x, weight, bias = random(tokens, c), random(c), random(c)
        return lambda: functional.layer_norm(x, (c,), weight, bias)

    def gelu() -> Callable[[], object]:
        x = random(tokens, 4 * c)
        return lambda: functional.gelu(x, approximate="tanh")

    def addition() -> Callable[[], object]:
        x, y = random(tokens, c), random(tokens, c)
        return lambda: x + y

    def softmax() -> Callable[[], object]:
        x = random(b, h, t, t)
        return lambda: torch.softmax(x, dim=-1)

    def attention() -> Callable[[], object]:
        q, k, value = (random(b, h, t, d) for _ in range(3))
        return lambda: functional.scaled_dot_product_attention(q, k, value, is_causal=True)

    def embedding() -> Callable[[], object]:
        table, indices = random(v, c), torch.randint(v, (tokens,), device=device)
        return lambda: functional.embedding(indices, table)

    def loss() -> Callable[[], object]:
        logits, targets = random(tokens, v, of=torch.float32), torch.randint(v, (tokens,), device=device)
        return lambda: functional.cross_entropy(logits, targets)

    def adamw() -> Callable[[], object]:
        weight = random(4 * c, c, of=torch.float32).requires_grad_()
        weight.grad = random(4 * c, c, of=torch.float32)
        return torch.optim.AdamW([weight], lr=1e-4, fused=True).step

    activations = tokens * c
    yield operation(
        "linear, C to 4C", 2 * tokens * c * 4 * c, width * (activations + 4 * c * c + 4 * activations), linear
    )
    # A causal product needs half of each score matrix: 2 products of 2 t t d, halved, for every head.
    yield operation("attention, fused", 2 * b * h * t * t * d, width * 4 * activations, attention)
    yield operation("layer norm", FLOPS_PER_ELEMENT["norm"] * activations, width * 2 * activations, layer_norm)
    yield operation("GELU", FLOPS_PER_ELEMENT["elementwise"] * 4 * activations, width * 8 * activations, gelu)
    yield operation("addition", FLOPS_PER_ELEMENT["elementwise"] * activations, width * 3 * activations, addition)
    scores = b * h * t * t
    yield operation("softmax of the scores", FLOPS_PER_ELEMENT["softmax"] * scores, width * 2 * scores, softmax)
    yield operation("embedding", 0, width * 2 * activations + 8 * tokens, embedding)
    if dtype != torch.float32:
        # Loss and update stay in FP32 whatever the format of the products.
        return
    yield operation("loss", FLOPS_PER_ELEMENT["softmax"] * tokens * v, _FP32 * tokens * v + 8 * tokens, loss)
    # Weight and two moments are read and written, the gradient is read.
    yield operation("AdamW update", _ADAM_FLOPS * 4 * c * c, 7 * _FP32 * 4 * c * c, adamw)
