"""One repeat of a scaling case: `torchrun` with one process, then with more, always with new processes.

Several machines measure together (`case.meeting`): each of them has the whole report. One process is measured on each
machine by itself, for comparison.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from gpu_bench.cases.case import Case
from gpu_bench.distributed.case import Meeting, ScalingCase, meeting
from gpu_bench.distributed.rank import JOB_VARIABLE
from gpu_bench.machine import provenance
from gpu_bench.measure.unsupported import kind_of
from gpu_bench.record import store


class LaunchError(RuntimeError):
    """`torchrun` ended without a report; the message ends with the last words of its processes."""


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Measure every number of processes that the machine has devices for. Returns plain data.

    Raises:
        LaunchError: When not even one number of processes could be measured.
    """
    assert isinstance(case, ScalingCase)
    devices = (torch.cuda.device_count() if device.type == "cuda" else provenance.cpu_cores()) or 1
    together = meeting()
    counts = case.fitting(devices * together.nodes, together.nodes)
    points = [_point(case, device.type, count, together, repeat) for count in counts]
    if all(point["status"] == "error" for point in points):
        raise LaunchError(points[0]["message"])
    return {"status": "ok", "message": None, "points": points}


def _point(case: ScalingCase, device: str, processes: int, together: Meeting, repeat: int) -> dict[str, Any]:
    """Measure the case on so many processes; a failure is reported and does not end the others."""
    planned = case.point(processes, together.nodes)
    point: dict[str, Any] = {
        "label": planned.label,
        "settings": dict(planned.settings),
        "status": "ok",
        "message": None,
        "samples_s": [],
    }
    try:
        options = together.options(processes, f"{case.name}-{repeat}-{processes}")
        found = launch(case, device, options, processes // together.nodes or 1)
    except LaunchError as error:
        message = provenance.redact(str(error).splitlines()[0])
        return point | {"status": kind_of(error) or "error", "message": message}
    everyone = found["communication"]
    peaks = [peak for peak in found["peak"] if peak is not None]
    return point | {
        "samples_s": found["step_s"],
        "memory_peak": max(peaks, default=None),
        # The mean over the processes.
        "shares": {
            "communication": statistics.fmean(one["busy"] for one in everyone),
            "communication_exposed": statistics.fmean(one["exposed"] for one in everyone),
        },
        "losses": found["losses"],
    }


def launch(case: ScalingCase, device: str, options: Sequence[str], here: int) -> dict[str, Any]:
    """Run the case under `torchrun`, `here` processes of it on this machine; returns what `rank.measure` found.

    `options` say how many processes there are, and where they meet. Raises `LaunchError` when one failed.
    """
    with tempfile.TemporaryDirectory(prefix="gpu_bench-scaling-") as name:
        job, report = Path(name) / "job.json", Path(name) / "report.json"
        job.write_text(json.dumps({"case": case.as_dict(), "device": device, "report": str(report)}), encoding="utf-8")
        torchrun = [sys.executable, "-m", "torch.distributed.run", *options]
        # Its processes watch standard input, which passes through: it closes when the runner dies.
        done = subprocess.run(
            [*torchrun, "-m", "gpu_bench.distributed.rank"],
            stdin=sys.stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, JOB_VARIABLE: str(job), "OMP_NUM_THREADS": _threads(device, here)},
        )
        found = store.read_json(report)
        if done.returncode or found is None:
            raise LaunchError(_reason(done.stdout))
        return found


def _threads(device: str, processes: int) -> str:
    """Threads for each process: the machine's cores are shared, also by a single process that is compared with many."""
    cores = provenance.cpu_cores() or 1
    return "1" if device == "cpu" else str(max(1, cores // processes))


def _reason(output: str) -> str:
    """The line that says which result it is, or in which Python names the error; `torchrun` prints much else."""
    lines = [line.split("]:", 1)[-1].strip() for line in output.splitlines()]
    if found := next((line for line in lines if kind_of(RuntimeError(line))), None):
        return found
    names = [(line.partition(":")[0], line) for line in lines]
    named = [
        line for name, line in names if name.endswith("Error") and not name.startswith("torch.distributed.elastic")
    ]
    return named[0] if named else "\n".join(lines[-5:])
