"""What the NVIDIA driver says of a GPU, through its own library (NVML) and `ctypes`: nothing to install.

Every reading is None when the driver does not give it: no driver, no permission, not supported by this card.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import threading
from collections.abc import Mapping, Sequence
from ctypes import byref, c_char_p, c_uint, c_ulonglong, c_void_p, create_string_buffer
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Any

_CLOCK_SM = 1
_CLOCK_MEMORY = 2
_TEMPERATURE_GPU = 0
_NOT_AVAILABLE = 2**64 - 1
"""What NVML writes into a 64-bit field that it cannot fill, e.g. process memory seen from inside a container."""

THROTTLE_REASONS = {
    0x001: "idle",
    0x002: "application_clocks",
    0x004: "power_cap",
    0x008: "hardware_slowdown",
    0x010: "sync_boost",
    0x020: "software_thermal",
    0x040: "hardware_thermal",
    0x080: "power_brake",
    0x100: "display_clocks",
}
"""Bit -> name (nvml.h, nvmlClocksThrottleReasons)."""
ABNORMAL = frozenset({"hardware_slowdown", "software_thermal", "hardware_thermal", "power_brake"})
"""Reasons that make a run `throttled`. The power cap is not one: a GPU at full load normally runs at it."""


class _ProcessInfo(ctypes.Structure):
    """`nvmlProcessInfo_t`, as version 2 and 3 of the query fill it."""

    _fields_ = (("pid", c_uint), ("memory", c_ulonglong), ("instance", c_uint), ("compute_instance", c_uint))


class _Utilization(ctypes.Structure):
    """`nvmlUtilization_t`, in percent."""

    _fields_ = (("gpu", c_uint), ("memory", c_uint))


@dataclass(frozen=True)
class GpuSample:
    """The state of a GPU at one moment. Clocks in MHz, temperature in degrees Celsius, power in W."""

    sm_clock_mhz: int | None
    memory_clock_mhz: int | None
    temperature_c: int | None
    power_w: float | None
    throttle_reasons: tuple[str, ...] | None


class Gpu:
    """One GPU, found by the UUID that PyTorch reports (so that CUDA_VISIBLE_DEVICES cannot mislead)."""

    def __init__(self, library: ctypes.CDLL, handle: c_void_p) -> None:
        self._library = library
        self._handle = handle

    def _number(self, function: str, kind: type[c_uint] | type[c_ulonglong], *arguments: int) -> int | None:
        value = kind()
        call = getattr(self._library, function, None)
        if call is None or call(self._handle, *arguments, byref(value)) != 0:
            return None
        return int(value.value)

    def sample(self) -> GpuSample:
        """Read clocks, temperature, power and throttle reasons."""
        power = self._number("nvmlDeviceGetPowerUsage", c_uint)
        mask = self._number("nvmlDeviceGetCurrentClocksThrottleReasons", c_ulonglong)
        reasons = None if mask is None else tuple(name for bit, name in THROTTLE_REASONS.items() if mask & bit)
        return GpuSample(
            sm_clock_mhz=self._number("nvmlDeviceGetClockInfo", c_uint, _CLOCK_SM),
            memory_clock_mhz=self._number("nvmlDeviceGetClockInfo", c_uint, _CLOCK_MEMORY),
            temperature_c=self._number("nvmlDeviceGetTemperature", c_uint, _TEMPERATURE_GPU),
            power_w=None if power is None else power / 1000,
            throttle_reasons=reasons,
        )

    def power_limit_w(self) -> float | None:
        """The enforced power limit in W."""
        limit = self._number("nvmlDeviceGetEnforcedPowerLimit", c_uint)
        return None if limit is None else limit / 1000

    def energy_j(self) -> float | None:
        """Energy used since the driver was loaded, in J. Only differences over at least 30 s mean something."""
        millijoules = self._number("nvmlDeviceGetTotalEnergyConsumption", c_ulonglong)
        return None if millijoules is None else millijoules / 1000

    def utilization(self) -> float | None:
        """Share of the last sampling period in which a kernel was running, 0 to 1."""
        value = _Utilization()
        call = getattr(self._library, "nvmlDeviceGetUtilizationRates", None)
        if call is None or call(self._handle, byref(value)) != 0:
            return None
        return float(value.gpu) / 100

    def processes(self) -> dict[int, int | None] | None:
        """Compute processes on the GPU: process id -> bytes, None where the driver hides the bytes."""
        call = getattr(self._library, "nvmlDeviceGetComputeRunningProcesses_v3", None)
        count = c_uint(64)
        infos = (_ProcessInfo * count.value)()
        if call is None or call(self._handle, byref(count), infos) != 0:
            return None
        return {
            int(info.pid): None if info.memory == _NOT_AVAILABLE else int(info.memory) for info in infos[: count.value]
        }

    def process_memory(self) -> int | None:
        """Bytes that this process holds on the GPU, context included."""
        return (self.processes() or {}).get(os.getpid())


class Monitor:
    """Samples a GPU four times a second while a `with` block runs, at least once; without a GPU it does nothing.

    A reading takes the driver microseconds, in a thread of its own, so that it does not slow the block's work down.
    """

    def __init__(self, gpu: Gpu | None, every_s: float = 0.25) -> None:
        self._gpu, self._every_s = gpu, every_s
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.samples: list[GpuSample] = []

    def _watch(self) -> None:
        while not self._over.wait(self._every_s):
            self._look()

    def _look(self) -> None:
        if self._gpu is not None:
            self.samples.append(self._gpu.sample())

    def __enter__(self) -> Monitor:
        if self._gpu is not None:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        if self._gpu is not None:
            self._thread.join()
            if not self.samples:
                # Shorter than that: the work has just ended, so this is nearly its state under load.
                self._look()


LEAST_CLOCK = 0.9
"""A GPU is slow while its clock is below this share of its median while steps were timed."""
MOST_SLOW = 0.1
"""Share of the time for which a GPU may be slow: a clock that dips once in ten seconds spoils no median."""


def summary(samples: Sequence[GpuSample]) -> dict[str, Any] | None:
    """What a record keeps of samples: mean, least and largest of each reading, all throttle reasons; None if empty.

    `slow_share` is the share of samples in which the clock was below `LEAST_CLOCK` of its median.
    """
    if not samples:
        return None
    rows = [asdict(sample) for sample in samples]
    found: dict[str, Any] = {"samples": len(rows)}
    for name in ("sm_clock_mhz", "memory_clock_mhz", "temperature_c", "power_w"):
        values = [row[name] for row in rows if row[name] is not None]
        found[name] = (
            {"mean": round(statistics.fmean(values), 3), "minimum": min(values), "maximum": max(values)}
            if values
            else None
        )
    clocks = [row["sm_clock_mhz"] for row in rows if row["sm_clock_mhz"] is not None]
    slow = sum(clock < LEAST_CLOCK * statistics.median(clocks) for clock in clocks)
    found["slow_share"] = round(slow / len(clocks), 3) if clocks else None
    reasons = [row["throttle_reasons"] for row in rows if row["throttle_reasons"] is not None]
    found["throttle_reasons"] = sorted({one for some in reasons for one in some}) if reasons else None
    return found


def abnormal(state: Mapping[str, Any] | None) -> str | None:
    """Why the driver says that a run was slowed down, from the summary of its samples; None when it was not."""
    reasons = sorted(ABNORMAL.intersection((state or {}).get("throttle_reasons") or ()))
    return f"the GPU was throttled: {', '.join(reasons)}" if reasons else None


def throttled(state: Mapping[str, Any] | None) -> str | None:
    """Why a run counts as slowed down, from the summary of its samples; None when it was not."""
    if (told := abnormal(state)) is not None or state is None:
        return told
    share = state.get("slow_share")
    if share is not None and share > MOST_SLOW:
        return f"for {share:.0%} of the time the GPU's clock was below {LEAST_CLOCK:.0%} of its median"
    return None


def _library() -> ctypes.CDLL | None:
    """The driver's library, initialised; None where there is no NVIDIA driver."""
    for name in ("libnvidia-ml.so.1", "nvml.dll"):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        if library.nvmlInit_v2() == 0:
            return library
    return None


def open_gpu(uuid: str) -> Gpu | None:
    """The GPU, or the part of one, with this UUID (`GPU-…`, `MIG-…`), or None when the driver does not know it."""
    library = _library()
    handle = c_void_p()
    if library is None or library.nvmlDeviceGetHandleByUUID(c_char_p(uuid.encode()), byref(handle)) != 0:
        return None
    return Gpu(library, handle)


def driver_version() -> str | None:
    """The version of the NVIDIA driver, e.g. `570.86.15`."""
    library = _library()
    text = create_string_buffer(96)
    if library is None or library.nvmlSystemGetDriverVersion(text, c_uint(len(text))) != 0:
        return None
    return text.value.decode()
