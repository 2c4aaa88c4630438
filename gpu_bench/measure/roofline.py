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
from gpu_bench.cases.planned import PlannedPoint
from gpu_bench.cases.sizes import SIZES
from gpu_bench.machine import provenance
from gpu_bench.measure.stopwatch import timed_rounds
from gpu_bench.measure.techniques.fp8 import E4M3, OLDEST
from gpu_bench.measure.unsupported import kind_of, told

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
    call = _copying(size, device)
    seconds = statistics.median(timed_rounds(call, device, _ROUNDS[device.type], BUSY_S[device.type]))
    return 2 * size / seconds


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


@dataclass(frozen=True)
class Operation:
    """One operation that can be timed."""

    point: PlannedPoint  # What it is, and its work
    build: Callable[[], Callable[[], object]]  # Makes its tensors and returns the call


def operations(case: RooflineCase, device: torch.device) -> Iterator[Operation]:
    """The case's operations, each of which builds its tensors only when it is its turn."""
    for point in case.points():
        yield Operation(point, _build(case, point.settings, device))


def _build(case: RooflineCase, settings: Mapping[str, Any], device: torch.device) -> Callable[[], Callable[[], object]]:
    match settings["operation"]:
        case "copy":
            return partial(_copying, settings["size"], device)
        case "matmul":
            return partial(multiplication, device, settings["format"], (settings["m"], settings["n"], settings["k"]))
        case label:
            return _of_step(case, DTYPES[settings["format"]], device)[label]


def _of_step(
    case: RooflineCase, dtype: torch.dtype, device: torch.device
) -> dict[str, Callable[[], Callable[[], object]]]:
    """The operations of a step by name, in one format."""
    size = SIZES[case.model]
    tokens, c, h, v = case.batch * case.sequence, size.hidden, size.heads, size.vocab
    b, t, d = case.batch, case.sequence, size.hidden // size.heads

    def random(*shape: int, of: torch.dtype = dtype) -> Tensor:
        return torch.randn(*shape, device=device).to(of)

    def attention() -> Callable[[], object]:
        q, k, value = (random(b, h, t, d) for _ in range(3))
        return lambda: functional.scaled_dot_product_attention(q, k, value, is_causal=True)

    def adamw() -> Callable[[], object]:
        weight = random(4 * c, c, of=torch.float32).requires_grad_()
        weight.grad = random(4 * c, c, of=torch.float32)
        return torch.optim.AdamW([weight], lr=1e-4, fused=True).step

    def below_v() -> Tensor:
        return torch.randint(v, (tokens,), device=device)

    return {
        "linear, C to 4C": lambda: partial(functional.linear, random(tokens, c), random(4 * c, c)),
        "attention, fused": attention,
        "layer norm": lambda: partial(functional.layer_norm, random(tokens, c), (c,), random(c), random(c)),
        "GELU": lambda: partial(functional.gelu, random(tokens, 4 * c), approximate="tanh"),
        "addition": lambda: partial(torch.add, random(tokens, c), random(tokens, c)),
        "softmax of the scores": lambda: partial(torch.softmax, random(b, h, t, t), dim=-1),
        "embedding": lambda: partial(functional.embedding, below_v(), random(v, c)),
        "loss": lambda: partial(functional.cross_entropy, random(tokens, v, of=torch.float32), below_v()),
        "AdamW update": adamw,
    }


_FP8_MULTIPLE = 16


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Measure every point of the case once. Returns plain data."""
    assert isinstance(case, RooflineCase)
    torch.manual_seed(case.seed)
    return {
        "status": "ok",
        "message": None,
        "points": [_measured(one, case, device) for one in operations(case, device)],
    }


def _measured(operation: Operation, case: RooflineCase, device: torch.device) -> dict[str, Any]:
    """Time one operation. Too little memory, or a format that the device has no products of, is a result too."""
    point: dict[str, Any] = {
        "label": operation.point.label,
        "settings": dict(operation.point.settings),
        "status": "ok",
        "message": None,
        "samples_s": [],
        "work": dict(operation.point.work),
    }
    settings = operation.point.settings
    reason = why_unsupported(settings, device)
    if reason is not None:
        return point | {"status": "unsupported", "message": reason}
    # FP32 means FP32, and TF32 means TF32, whatever the environment says.
    torch.set_float32_matmul_precision("high" if settings.get("format") == "tf32" else "highest")
    try:
        busy_s = BUSY_S[device.type] if settings["operation"] == "matmul" else 0.0
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


def _copying(size: int, device: torch.device) -> Callable[[], object]:
    """Copy a buffer within the device."""
    source = torch.randint(256, (size,), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)
