"""Measures the engine's budgets for the site's report and prints them as JSON; tools/bench_engine.py does the timing.

python tools/bench_site/engine_speed.py
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tools.bench_engine import process_milliseconds, scalar_estimates, swept_estimates

SECONDS = 2.0
ESTIMATE = (
    "-m",
    "ironlaw",
    "estimate",
    "--model",
    "gpt2-xl",
    "--batch",
    "8",
    "--seq",
    "1024",
    "--gpu",
    "h200",
    "--json",
)


def measured(measure: Callable[[], float]) -> float | str:
    """The measurement, or the last line of what went wrong when a command failed."""
    try:
        return measure()
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exit code {error.returncode}"


def main() -> None:
    """Measure and print."""
    report = {
        "estimate_ms": measured(lambda: process_milliseconds(*ESTIMATE)),
        "scalar_per_s": measured(lambda: scalar_estimates(SECONDS)),
        "swept_per_s": measured(lambda: swept_estimates(SECONDS)),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
