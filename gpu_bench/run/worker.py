"""The process that a case runs in: reads one job from standard input, does it, writes one report.

Jobs are JSON lines so that a command line never carries a path or a case definition. When the runner dies, standard
input closes and the worker ends itself: nothing is left behind holding a GPU.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import torch

from gpu_bench.cases.kinds import KINDS, case_from_dict
from gpu_bench.machine import provenance
from gpu_bench.machine.device import describe, resolve_device, software
from gpu_bench.machine.quiet import OthersWatch
from gpu_bench.measure.unsupported import kind_of, told
from gpu_bench.record.store import write_json


def _end_with_runner() -> None:
    # The descriptor itself: a thread waiting inside `sys.stdin` holds a lock that a clean exit needs.
    os.read(0, 1)
    os._exit(1)


def probe(wanted: str) -> dict[str, Any]:
    """What the machine is: device, software, machine, code. Or `{"unavailable": reason}`."""
    try:
        device = resolve_device(wanted)
    except ValueError as error:
        return {"unavailable": str(error)}
    return {
        "device": describe(device),
        "device_count": (torch.cuda.device_count() if device.type == "cuda" else provenance.cpu_cores()) or 1,
        "software": software(device),
        "machine": provenance.machine(),
        "code": provenance.git_state(),
    }


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """Run one repeat. Running out of memory, and a device that cannot do it, are results; other exceptions end here."""
    case = case_from_dict(job["case"])
    # Imported here, because it takes a second and a probe does not need it.
    module = importlib.import_module(KINDS[case.kind].module)
    when: dict[str, Any] = {"started": provenance.utc_now(), "load_average": provenance.load_average()}
    watch = OthersWatch()
    try:
        more = {"kept": Path(job["kept"])} if KINDS[case.kind].resumes and job.get("kept") else {}
        report: dict[str, Any] = module.run_repeat(case, resolve_device(job["device"]), job["repeat"], **more)
    except Exception as error:
        kind = kind_of(error)
        if kind is None:
            raise
        message = provenance.redact(told(error))
        report = {"status": kind, "message": message}
    # Training watches by itself, and only while it is timed.
    return {**when, "finished": provenance.utc_now(), "others_share": watch.share(), **report}


def main() -> int:
    """Do the job on standard input. The report goes to the file that the job names."""
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_runner, daemon=True).start()
    report = probe(job["device"]) if job["task"] == "probe" else measure(job)
    write_json(Path(job["report"]), report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
