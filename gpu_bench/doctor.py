"""Is this machine fit to measure? Says what it is, and what would spoil the numbers."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from gpu_bench import nvml, provenance
from gpu_bench.device import describe, open_nvml, resolve_device, software

BUSY_LOAD = 0.5
"""Waiting processes per core above which a CPU counts as busy."""
BUSY_GPU = 0.05
"""Share of time with a kernel running above which a GPU counts as busy."""


@dataclass(frozen=True)
class Finding:
    """One line of the report; `fit` is False when measuring now would give wrong numbers."""

    fit: bool
    text: str


def examine(wanted: str) -> list[Finding]:
    """Look at the device and at what else runs on it. Raises `ValueError` when the device is not there."""
    device = resolve_device(wanted)
    info, versions = describe(device), software(device)
    size = "unknown memory" if info.memory is None else f"{info.memory / 2**30:.1f} GiB"
    findings = [
        Finding(True, f"device {info.type}: {info.name or 'unknown name'}, {size}, in file names {info.slug}"),
        Finding(True, f"PyTorch {versions['torch']}, {versions['threads']} threads on {provenance.cpu_cores()} cores"),
    ]
    if device.type == "cuda":
        driver = versions["driver"]
        findings.append(Finding(driver is not None, f"CUDA {versions['cuda']}, driver {driver or 'unknown'}"))
        findings += _gpu_findings(open_nvml(device))
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
    others = [pid for pid in gpu.processes() or {} if pid != os.getpid()]
    yield Finding(not others, f"{len(others)} other processes on the GPU")
    use = gpu.utilization()
    if use is not None:
        yield Finding(use <= BUSY_GPU, f"GPU busy {use:.0%} of the time")
    abnormal = nvml.ABNORMAL.intersection(sample.throttle_reasons or ())
    yield Finding(not abnormal, f"throttle reasons: {', '.join(sorted(abnormal)) or 'none'}")


def report(wanted: str) -> int:
    """Print the findings. Returns 0 when the machine is fit to measure, 1 when not."""
    findings = examine(wanted)
    for finding in findings:
        print(f"{'ok  ' if finding.fit else 'WARN'} {finding.text}")
    if not torch.cuda.is_available():
        print("ok   no GPU: cases that need one are skipped")
    return 0 if all(finding.fit for finding in findings) else 1
