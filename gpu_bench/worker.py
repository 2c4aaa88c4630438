"""The process that a case runs in: reads one job from standard input, does it, writes one report.

Jobs are JSON lines so that a command line never carries a path or a case definition. When the runner dies, standard
input closes and the worker ends itself: nothing is left behind holding a GPU.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import torch

from gpu_bench import provenance
from gpu_bench.cases import case_from_dict
from gpu_bench.device import describe, resolve_device, software
from gpu_bench.records import write_json


def _end_with_runner() -> None:
    # The descriptor itself: a thread waiting inside `sys.stdin` holds a lock that a clean exit needs.
    os.read(0, 1)
    os._exit(1)


def _out_of_memory(error: BaseException) -> bool:
    """CUDA raises its own type; the CPU allocator raises a RuntimeError that only its text tells apart."""
    own_type = isinstance(error, torch.OutOfMemoryError | MemoryError)
    return own_type or "DefaultCPUAllocator: can't allocate" in str(error)


def probe(wanted: str) -> dict[str, Any]:
    """What the machine is: device, software, machine, code. Or `{"unavailable": reason}`."""
    try:
        device = resolve_device(wanted)
    except ValueError as error:
        return {"unavailable": str(error)}
    return {
        "device": describe(device).as_dict(),
        "software": software(device),
        "machine": provenance.machine(),
        "code": provenance.git_state(),
    }


def train(job: dict[str, Any]) -> dict[str, Any]:
    """Run one repeat; running out of memory is a result, any other exception ends the process."""
    # Here, since a probe does not need what training does, and importing that takes a second.
    from gpu_bench.run_case import run_repeat

    case = case_from_dict(job["case"])
    started = provenance.utc_now()
    try:
        return run_repeat(case, resolve_device(job["device"]), job["repeat"])
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        if not _out_of_memory(error):
            raise
        message = provenance.redact(str(error).splitlines()[0])
        return {"status": "oom", "message": message, "started": started, "finished": provenance.utc_now()}


def main() -> int:
    """Do the job on standard input. The report goes to the file that the job names."""
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_runner, daemon=True).start()
    report = probe(job["device"]) if job["task"] == "probe" else train(job)
    write_json(Path(job["report"]), report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
