"""What this machine's card reaches, as the file that the site's page on cards writes and reads.

The rates are those of `roofline`, of one large square product per format and of one long copy: the ceilings that every
record carries, without a training beside them. It runs in this process, takes seconds, and is no record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch

from gpu_bench import BENCHMARK_VERSION
from gpu_bench.machine import provenance
from gpu_bench.machine.chips import chip_of
from gpu_bench.machine.device import describe, resolve_device, software
from gpu_bench.measure.roofline import SQUARE, copy_ceiling, matmul_ceilings, why_unsupported
from gpu_bench.measure.unsupported import UnsupportedError, kind_of, told

FORMATS = ("fp32", "fp16", "bf16")
COPIED = {"cuda": 2**30, "cpu": 2**26}
"""Bytes of the buffer that is copied: larger than any cache."""
_TENSOR_CORES = (7, 0)
"""The first compute capability that has them."""
_LONGEST_NAME, _LONGEST_LINK = 80, 200


def contributor(name: str, link: str) -> dict[str, str] | None:
    """Who gives a file away; None for nobody. Raises `ValueError` for half of it, and for what is no address."""
    if not name and not link:
        return None
    if not name.strip() or len(name) > _LONGEST_NAME:
        raise ValueError(f"--contributor {name!r} is not allowed with --link; allowed: a name of 1 to 80 characters")
    if not link.startswith("https://") or len(link) > _LONGEST_LINK or any(map(str.isspace, link)):
        raise ValueError(f"--link {link!r} is not allowed; allowed: the https:// address of a page of yours")
    return {"name": name.strip(), "link": link}


def measure(wanted: str, given: dict[str, str] | None, say: Callable[[str], None]) -> str:
    """The file of a device, as text. Raises `ValueError` for a device that is not there.

    Args:
        wanted: `auto`, `cpu` or `cuda`.
        given: From `contributor`.
        say: Told of each part that cannot be measured, with the reason.
    """
    device = resolve_device(wanted)
    torch.manual_seed(0)
    # FP32 means FP32, whatever the environment says.
    torch.set_float32_matmul_precision("highest")
    products = [found for name in FORMATS for found in _possible(_products(device, name), name, say)]
    copies = list(_possible(_copies(device), "copy", say))
    made = {**_about(device), "products": products, "copies": copies}
    return json.dumps(made if given is None else {**made, "contributor": given}, indent=2, ensure_ascii=False) + "\n"


def _about(device: torch.device) -> dict[str, Any]:
    info, versions = describe(device), software(device)
    chip = chip_of(info["name"])
    cuda = device.type == "cuda"
    names = ("cuda", "driver")
    known = [f"{name} {versions[name]}" for name in names if versions[name]]
    return {
        "kind": "ceilings",
        "schema_version": 1,
        "card": chip.name if chip else "",
        "measured": provenance.utc_now(),
        "place": "shell",
        "program": f"PyTorch {versions['torch']}, gpu_bench {BENCHMARK_VERSION}",
        "system": ", ".join([provenance.operating_system(), *known]),
        "device": info["name"] or "unknown",
        "emulated": False,
        "tensor_cores": cuda and torch.cuda.get_device_capability(device) >= _TENSOR_CORES,
        "statistic": "median",
    }


def _products(device: torch.device, name: str) -> Iterator[dict[str, Any]]:
    reason = why_unsupported({"format": name}, device)
    if reason is not None:
        raise UnsupportedError(reason)
    side = SQUARE[device.type]
    for one in matmul_ceilings(device, name, [(side, side, side)]):
        yield {key: one[key] for key in ("format", "m", "n", "k", "flops_per_s")}


def _copies(device: torch.device) -> Iterator[dict[str, Any]]:
    size = COPIED[device.type]
    yield {"bytes": size, "bytes_per_s": copy_ceiling(device, size)}


def _possible(parts: Iterable[dict[str, Any]], what: str, say: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    """What can be measured of a part. Too little memory, or a format that the device has not, is left out and said."""
    try:
        yield from parts
    except (MemoryError, RuntimeError, UnsupportedError) as error:
        if kind_of(error) is None:
            raise
        say(f"{what} left out: {provenance.redact(told(error))}")
