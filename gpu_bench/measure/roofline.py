"""The roofs of a device, measured: what matrix products and copies reach, and where the operations of a step lie.

Williams, Waterman, Patterson 2009, CACM 52(4). A point is one operation, its arithmetic, the bytes that it must move
at least, and its time. Intensity, arithmetic over bytes, decides which roof it can reach. The ceilings of a training
case are products in shapes of the model, measured in the same process as its steps, so in the same modes of
accumulation; many products run between two looks at the clock, and the host waits for none of them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gpu_bench.cases.case import Case
from gpu_bench.cases.kinds import RooflineCase
from gpu_bench.cases.sizes import SIZES
from gpu_bench.machine import provenance
from gpu_bench.measure.stopwatch import timed_rounds
from gpu_bench.measure.techniques.fp8 import E4M3, OLDEST
from gpu_bench.measure.unsupported import kind_of, told
from ironlaw.graph.kernels import FLOPS_PER_ELEMENT

Shape = tuple[int, int, int]
"""M, N, K of (M, K) times (K, N)."""
SQUARE = {"cuda": 8192, "cpu": 1024}
"""Sides of a large square product."""
_ROUNDS = {"cuda": 8, "cpu": 3}
BUSY_S = {"cuda": 0.4, "cpu": 0.015}
"""A GPU is kept busy for so long with each product, before and while it is timed: a shorter time ends before the power
limit lowers the clock, and shows a speed that no training has."""
DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "fp8": E4M3}


def matmul_ceilings(device: torch.device, name: str, shapes: Sequence[Shape]) -> list[dict[str, Any]]:
    """FLOP/s of products in a format, one entry per shape, for FP8 one per shape and mode of accumulation.

    Operands are random, since zeros run faster. Whether FP32 products use TF32 is what the process has set. A GPU
    without FP8 products has none of them.
    """
    if name == "fp8" and device.type == "cuda" and torch.cuda.get_device_capability(device) < OLDEST:
        return []
    found = []
    for shape in shapes:
        for fast in (True, False) if name == "fp8" else (None,):
            call = multiplication(device, name, shape, fast=fast is not False)
            seconds = statistics.median(timed_rounds(call, device, _ROUNDS[device.type], BUSY_S[device.type]))
            m, n, k = shape
            rate = 2 * m * n * k / seconds
            found.append({"format": name, "m": m, "n": n, "k": k, "fast_accumulation": fast, "flops_per_s": rate})
    return found


def copy_ceiling(device: torch.device, size: int) -> float:
    """Bytes per second of copying a buffer of `size` bytes within the device, read and written bytes both counted."""
    operation = _copy(size, device)
    seconds = statistics.median(timed_rounds(operation.build(), device, _ROUNDS[device.type], BUSY_S[device.type]))
    return operation.bytes / seconds


def multiplication(device: torch.device, name: str, shape: Shape, *, fast: bool = True) -> Callable[[], object]:
    """A product of random operands in a format, `b` by columns, as `x @ weight.T` has it; `fast` concerns FP8 only."""
    m, n, k = shape
    a = torch.randn(m, k, device=device).to(DTYPES[name])
    b = torch.randn(n, k, device=device).to(DTYPES[name]).t()  # (K, N)
    if name == "fp8":
        one = torch.ones((), device=device)
        return lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast)
    out = torch.empty(m, n, dtype=a.dtype, device=device)
    return lambda: torch.matmul(a, b, out=out)


_FP32 = 4
_ADAM_FLOPS = 12
"""Arithmetic of an AdamW update per parameter: two moments (6), corrections and root (3), division, decay, addition."""


@dataclass(frozen=True)
class Operation:
    """One operation that can be timed."""

    label: str  # Its name in tables
    settings: Mapping[str, str | int]  # What tells it from the others
    flops: int  # Arithmetic of one call
    bytes: int  # Traffic of one call that cannot be avoided
    build: Callable[[], Callable[[], object]]  # Makes its tensors and returns the call


def operations(case: RooflineCase, name: str, dtype: torch.dtype, device: torch.device) -> Iterator[Operation]:
    """The operations of one format: forward passes; with FP32 also the loss and the optimizer's update."""
    size = SIZES[case.model]
    tokens, c, h, v = case.batch * case.sequence, size.hidden, size.heads, size.vocab
    b, t, d, width = case.batch, case.sequence, size.hidden // size.heads, dtype.itemsize

    def random(*shape: int, of: torch.dtype = dtype) -> Tensor:
        return torch.randn(*shape, device=device).to(of)

    def operation(label: str, flops: int, moved: int, build: Callable[[], Callable[[], object]]) -> Operation:
        return Operation(f"{name} {label}", {"operation": label, "format": name}, flops, moved, build)

    def attention() -> Callable[[], object]:
        q, k, value = (random(b, h, t, d) for _ in range(3))
        return lambda: functional.scaled_dot_product_attention(q, k, value, is_causal=True)

    def loss() -> Callable[[], object]:
        return partial(functional.cross_entropy, random(tokens, v, of=torch.float32), below_v())

    def adamw() -> Callable[[], object]:
        weight = random(4 * c, c, of=torch.float32).requires_grad_()
        weight.grad = random(4 * c, c, of=torch.float32)
        return torch.optim.AdamW([weight], lr=1e-4, fused=True).step

    def below_v() -> Tensor:
        return torch.randint(v, (tokens,), device=device)

    activations, scores, one = tokens * c, b * h * t * t, FLOPS_PER_ELEMENT["elementwise"]
    yield operation(
        "linear, C to 4C", 2 * tokens * c * 4 * c, width * (activations + 4 * c * c + 4 * activations),
        lambda: partial(functional.linear, random(tokens, c), random(4 * c, c)),
    )  # fmt: skip
    # A causal product needs half of each score matrix: 2 products of 2 t t d, halved, for every head.
    yield operation("attention, fused", 2 * b * h * t * t * d, width * 4 * activations, attention)
    yield operation(
        "layer norm", FLOPS_PER_ELEMENT["norm"] * activations, width * 2 * activations,
        lambda: partial(functional.layer_norm, random(tokens, c), (c,), random(c), random(c)),
    )  # fmt: skip
    yield operation(
        "GELU", one * 4 * activations, width * 8 * activations,
        lambda: partial(functional.gelu, random(tokens, 4 * c), approximate="tanh"),
    )  # fmt: skip
    yield operation(
        "addition", one * activations, width * 3 * activations,
        lambda: partial(torch.add, random(tokens, c), random(tokens, c)),
    )  # fmt: skip
    yield operation(
        "softmax of the scores", FLOPS_PER_ELEMENT["softmax"] * scores, width * 2 * scores,
        lambda: partial(torch.softmax, random(b, h, t, t), dim=-1),
    )  # fmt: skip
    yield operation(
        "embedding", 0, width * 2 * activations + 8 * tokens,
        lambda: partial(functional.embedding, below_v(), random(v, c)),
    )  # fmt: skip
    if dtype != torch.float32:
        # Loss and update stay in FP32 whatever the format of the products.
        return
    yield operation("loss", FLOPS_PER_ELEMENT["softmax"] * tokens * v, _FP32 * tokens * v + 8 * tokens, loss)
    # Weight and two moments are read and written, the gradient is read.
    yield operation("AdamW update", _ADAM_FLOPS * 4 * c * c, 7 * _FP32 * 4 * c * c, adamw)


_FP8_MULTIPLE = 16


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Measure every point of the case once. Returns plain data."""
    assert isinstance(case, RooflineCase)
    torch.manual_seed(case.seed)
    return {"status": "ok", "message": None, "points": [_measured(one, case, device) for one in _points(case, device)]}


def _points(case: RooflineCase, device: torch.device) -> Iterator[Operation]:
    """The case's operations, each of which builds its tensors only when it is its turn."""
    match case.part:
        case "matmul":
            for name in case.formats:
                for m, n, k in case.products():
                    yield _product(name, m, n, k, device)
        case "copy":
            for size in case.sizes:
                yield _copy(size, device)
        case "operations":
            for name in case.formats:
                yield from operations(case, name, DTYPES[name], device)


def _measured(operation: Operation, case: RooflineCase, device: torch.device) -> dict[str, Any]:
    """Time one operation. Too little memory, or a format that the device has no products of, is a result too."""
    point: dict[str, Any] = {
        "label": operation.label,
        "settings": dict(operation.settings),
        "status": "ok",
        "message": None,
        "samples_s": [],
        "work": {"flops": operation.flops, "bytes": operation.bytes},
    }
    reason = why_unsupported(operation.settings, device)
    if reason is not None:
        return point | {"status": "unsupported", "message": reason}
    # FP32 means FP32, and TF32 means TF32, whatever the environment says.
    torch.set_float32_matmul_precision("high" if operation.settings.get("format") == "tf32" else "highest")
    try:
        busy_s = BUSY_S[device.type] if operation.settings["operation"] == "matmul" else 0.0
        point["samples_s"] = timed_rounds(operation.build(), device, case.rounds, busy_s)
    except (MemoryError, RuntimeError) as error:
        kind = kind_of(error)
        if kind is None:
            raise
        point |= {"status": kind, "message": provenance.redact(told(error))}
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return point


def why_unsupported(settings: Mapping[str, Any], device: torch.device) -> str | None:
    """Why the device has no such product, or None."""
    name = settings.get("format")
    if device.type != "cuda":
        return f"{name} products are those of a GPU's tensor cores" if name in ("tf32", "fp8") else None
    oldest = {"fp8": OLDEST, "tf32": (8, 0), "bf16": (8, 0)}.get(str(name), (0, 0))
    found = torch.cuda.get_device_capability(device)
    if found < oldest:
        return f"{name} needs compute capability {oldest[0]}.{oldest[1]}; this GPU has {found[0]}.{found[1]}"
    sides = [side for side in (settings.get(letter) for letter in "mnk") if side is not None]
    if name == "fp8" and any(side % _FP8_MULTIPLE for side in sides):
        return f"the library's FP8 products take sides that are multiples of {_FP8_MULTIPLE}"
    return None


def _product(name: str, m: int, n: int, k: int, device: torch.device) -> Operation:
    """(M, K) times (K, N). Random numbers: zeros toggle no bits, draw less power, and so run faster."""
    width = torch.empty((), dtype=DTYPES[name]).element_size()
    result = 2 if name == "fp8" else width
    return Operation(
        label=f"{name} {m} x {n} x {k}",
        settings={"operation": "matmul", "format": name, "m": m, "n": n, "k": k},
        flops=2 * m * n * k,
        bytes=width * (m * k + k * n) + result * m * n,
        build=lambda: multiplication(device, name, (m, n, k)),
    )


def _copy(size: int, device: torch.device) -> Operation:
    """Copy a buffer within the device: every byte is read once and written once."""

    def build() -> Callable[[], object]:
        source = torch.randint(256, (size,), dtype=torch.uint8, device=device)
        target = torch.empty_like(source)
        return lambda: target.copy_(source)

    return Operation(f"copy {size} B", {"operation": "copy", "size": size}, 0, 2 * size, build)
