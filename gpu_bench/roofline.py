"""The two roofs of a device, measured: what matrix products and copies reach, and where the operations of a step lie.

Williams, Waterman, Patterson 2009, CACM 52(4). A point is one operation, its arithmetic, the bytes it cannot avoid to
move, and its time. Intensity, arithmetic over bytes, decides which roof it can reach.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from gpu_bench import provenance
from gpu_bench.case import Case
from gpu_bench.roofline_case import RooflineCase
from gpu_bench.roofline_operations import Operation, operations
from gpu_bench.roofline_rounds import timed_rounds
from gpu_bench.techniques.fp8 import E4M3, OLDEST
from gpu_bench.unsupported import kind_of, told

_DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "fp8": E4M3}
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
                yield from operations(case, name, _DTYPES[name], device)


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
    reason = _unsupported(operation.settings, device)
    if reason is not None:
        return point | {"status": "unsupported", "message": reason}
    # FP32 means FP32, and TF32 means TF32, whatever the environment says.
    torch.set_float32_matmul_precision("high" if operation.settings.get("format") == "tf32" else "highest")
    try:
        point["samples_s"] = timed_rounds(operation.build(), device, case.rounds)
    except (MemoryError, RuntimeError) as error:
        kind = kind_of(error)
        if kind is None:
            raise
        point |= {"status": kind, "message": provenance.redact(told(error))}
    if device.type == "cuda":
        torch.cuda.empty_cache()
    return point


def _unsupported(settings: Mapping[str, Any], device: torch.device) -> str | None:
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

    def build() -> Callable[[], object]:
        a = torch.randn(m, k, device=device).to(_DTYPES[name])
        b = torch.randn(n, k, device=device).to(_DTYPES[name]).t()  # (K, N), as `x @ weight.T` has it
        if name == "fp8":
            one = torch.ones((), device=device)
            return lambda: torch._scaled_mm(
                a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
            )
        out = torch.empty(m, n, dtype=a.dtype, device=device)
        return lambda: torch.matmul(a, b, out=out)

    width = torch.empty((), dtype=_DTYPES[name]).element_size()
    result = 2 if name == "fp8" else width
    return Operation(
        label=f"{name} {m} x {n} x {k}",
        settings={"operation": "matmul", "format": name, "m": m, "n": n, "k": k},
        flops=2 * m * n * k,
        bytes=width * (m * k + k * n) + result * m * n,
        build=build,
    )


def _copy(size: int, device: torch.device) -> Operation:
    """Copy a buffer within the device: every byte is read once and written once."""

    def build() -> Callable[[], object]:
        source = torch.randint(256, (size,), dtype=torch.uint8, device=device)
        target = torch.empty_like(source)
        return lambda: target.copy_(source)

    return Operation(f"copy {size} B", {"operation": "copy", "size": size}, 0, 2 * size, build)
