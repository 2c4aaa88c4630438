"""Measure how long simulated customers wait: one record for each number of counters.

python measure.py --suite line
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import statistics
from pathlib import Path

from queues.simulation import simulated_waiting

HERE = Path(__file__).parent
CUSTOMERS, SEEDS = 20_000, 20


def main() -> None:
    """Write the records of the suite."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", choices=["line"], required=True)
    parser.parse_args()
    for counters in (1, 2, 3):
        means = [
            statistics.fmean(simulated_waiting(50 * counters, 60, counters, CUSTOMERS, seed)) for seed in range(SEEDS)
        ]
        quarters = statistics.quantiles(means, n=4)
        record = {
            "status": "ok",
            "case": {"arrivals": 50 * counters, "served": 60, "counters": counters, "customers": CUSTOMERS},
            "summary": {"waiting": {"median": quarters[1], "iqr": quarters[2] - quarters[0], "n": SEEDS}},
            "device": {"name": f"Python {platform.python_version()}"},
            "provenance": {
                "finished": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                "git_commit": None,
                "dirty": False,
            },
        }
        file = HERE / "records/line" / f"counters-{counters}--python.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
