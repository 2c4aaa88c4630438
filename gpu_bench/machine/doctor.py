"""Is this machine fit to measure? Says what it is, and what would spoil the numbers."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from gpu_bench.machine import nvml, provenance
from gpu_bench.machine.device import describe, open_nvml, resolve_device, software

BUSY_LOAD = 0.5
"""Waiting processes per core above which a CPU counts as busy."""
BUSY_GPU = 0.05
"""Share of time with a kernel running above which a GPU counts as busy."""
_LOOKS, _LOOK_S = 5, 0.2
"""How often, and after how many seconds each, the GPU's use is read: the least counts, since this process too has just
started to use it."""


@dataclass(frozen=True)
class Finding:
    """One line of the report; `fit` is False when measuring now would give wrong numbers."""

    fit: bool
    text: str


def examine(wanted: str) -> list[Finding]:
    """Look at the device and at what else runs on it. Raises `ValueError` when the device is not there."""
    device = resolve_device(wanted)
    info, versions = describe(device), software(device)
    size = "unknown memory" if info["memory"] is None else f"{info['memory'] / 2**30:.1f} GiB"
    findings = [
        Finding(True, f"device {info['type']}: {info['name'] or 'unknown name'}, {size}, in file names {info['slug']}"),
        Finding(True, f"PyTorch {versions['torch']}, {versions['threads']} threads on {provenance.cpu_cores()} cores"),
    ]
    if device.type == "cuda":
        driver = versions["driver"]
        findings.append(Finding(driver is not None, f"CUDA {versions['cuda']}, driver {driver or 'unknown'}"))
        # From here on this process uses the GPU, so the driver counts it too.
        torch.cuda.synchronize(device)
        findings += _gpu_findings(open_nvml(device))
        findings += _compiler_findings()
    load, cores = provenance.load_average(), provenance.cpu_cores() or 1
    if load is not None:
        busy = load > BUSY_LOAD * cores
        findings.append(
            Finding(not busy, f"load {load:.2f} on {cores} cores{': something else is running' if busy else ''}")
        )
    code = provenance.git_state()
    match code["dirty"]:
        case True:
            findings.append(Finding(True, "the sources have uncommitted changes: records would be marked dirty"))
        case None:
            findings.append(Finding(True, "not a git checkout: records would carry no commit"))
    return findings


def _gpu_findings(gpu: nvml.Gpu | None) -> Iterator[Finding]:
    """What the driver says of the GPU and of who else uses it."""
    if gpu is None:
        yield Finding(False, "the driver's library (NVML) does not answer: no clocks, power, throttle reasons")
        return
    sample = gpu.sample()
    limit = gpu.power_limit_w()
    yield Finding(True, f"power limit {limit or 'unknown'} W, {sample.temperature_c or 'unknown'} degrees Celsius")
    # This process is one of them. In a container the driver reports other process numbers, or none.
    others = max(len(gpu.processes() or {}) - 1, 0)
    yield Finding(not others, f"{others} other processes on the GPU")
    use = _least_use(gpu)
    if use is not None:
        yield Finding(use <= BUSY_GPU, f"GPU busy {use:.0%} of the time")
    abnormal = nvml.ABNORMAL.intersection(sample.throttle_reasons or ())
    yield Finding(not abnormal, f"throttle reasons: {', '.join(sorted(abnormal)) or 'none'}")


def _least_use(gpu: nvml.Gpu) -> float | None:
    """The smallest of several readings of the GPU's use; None when the driver does not say."""
    found: list[float] = []
    for _ in range(_LOOKS):
        use = gpu.utilization()
        if use is None:
            return None
        found.append(use)
        time.sleep(_LOOK_S)
    return min(found)


def _compiler_findings() -> Iterator[Finding]:
    """What `torch.compile` needs besides PyTorch."""
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("clang") or shutil.which("cc")
    if compiler is None:
        yield Finding(True, "no C compiler, which Triton needs: cases that compile will be recorded as unsupported")


def report(wanted: str) -> int:
    """Print the findings. Returns 0 when the machine is fit to measure, 1 when not."""
    findings = examine(wanted)
    for finding in findings:
        print(f"{'ok  ' if finding.fit else 'WARN'} {finding.text}")
    if not torch.cuda.is_available():
        print("ok   no GPU: cases that need one are skipped")
    return 0 if all(finding.fit for finding in findings) else 1
