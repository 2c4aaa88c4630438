"""Stands in for a worker where its process matters and not what it measures: a real process without PyTorch.

It reports what a real worker once did. A case of a million steps or more never ends by itself.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

REPORT_VARIABLE = "GPU_BENCH_RECORDED_REPORT"


def varied(report: dict[str, Any], repeat: int) -> dict[str, Any]:
    """The report as another process would have given it: no two take the same times."""
    draw, timing = random.Random(repeat), dict(report["timing"])
    for name in ("step_s", "warmup_s") if repeat else ():
        timing[name] = [second + 1e-5 * draw.random() for second in timing[name]]
    return {**report, "timing": timing}


def main() -> None:
    """Do the order on standard input."""
    order = json.loads(sys.stdin.readline())
    while order["case"]["steps"] >= 10**6:
        time.sleep(1.0)
    report = json.loads(Path(os.environ[REPORT_VARIABLE]).read_text(encoding="utf-8"))
    Path(order["report"]).write_text(json.dumps(varied(report, order["repeat"])), encoding="utf-8")


if __name__ == "__main__":
    main()
