"""What no device passes: by its data sheet, or, of one that the engine does not know, by the largest that it knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from gpu_bench.machine.chips import BOOST, chip_of, fastest_product
from ironlaw.core.errors import EngineError
from ironlaw.hardware.accelerators import Accelerator, accelerator, list_accelerators

_CPU_CLOCK = 6e9
_CPU_FLOPS = {"fp32": 128, "tf32": 128}
"""FLOP in a cycle of a core: twice what two units of 16 lanes multiply and add. Tiles do more in 16 bit."""
_CPU_TILE_FLOPS = 2048
_CPU_BANDWIDTH = 2e12
_ROOM: Mapping[str, float] = {"geforce": 1.4}
"""How far above the data sheet's power a card's limit may be set: makers of GeForce cards raise it."""
_USUAL_ROOM = 1.1
HOTTEST_C = 115.0
FASTEST_CLOCK_MHZ = {"sm_clock_mhz": 5_000.0, "memory_clock_mhz": 25_000.0}


def _most(what: Callable[[Accelerator], float | None]) -> float:
    return max(value for name in list_accelerators() if (value := what(accelerator(name))) is not None)


def _of(device: Mapping[str, Any], what: Callable[[Accelerator], float]) -> float:
    chip = chip_of(device["name"])
    return what(chip) if chip else _most(what)


@cache
def _most_flops(form: str) -> float:
    def peak(chip: Accelerator) -> float | None:
        with suppress(EngineError):
            return chip.peak(form)
        return None

    return BOOST * _most(peak)


def flops_per_s(record: Mapping[str, Any], form: str) -> float:
    """FLOP/s that no product in a format reaches on the device of a record."""
    device = record["device"]
    if device["type"] == "cpu":
        return (record["provenance"]["cores"] or 4096) * _CPU_CLOCK * _CPU_FLOPS.get(form, _CPU_TILE_FLOPS)
    return fastest_product(device["name"], form) or _most_flops(form)


def bytes_per_s(device: Mapping[str, Any]) -> float:
    """Bytes a second that the memory of a device cannot pass."""
    return _CPU_BANDWIDTH if device["type"] == "cpu" else _of(device, lambda chip: chip.bandwidth)


def watts(device: Mapping[str, Any]) -> float:
    """The largest power limit that a GPU can have."""
    return _of(device, lambda chip: chip.tdp * _ROOM.get(chip.family, _USUAL_ROOM))


def memory_bytes(device: Mapping[str, Any]) -> float:
    """Bytes that the memory of a GPU cannot pass."""
    return _of(device, lambda chip: 1.1 * chip.memory_bytes)
