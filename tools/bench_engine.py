"""How fast the engine is: start-up, scalar estimates and NumPy sweeps, against the project's budgets.

    python -m tools.bench_engine [--seconds 2]

Prints a table of what was measured. An estimate is the time of a training step with its FLOPs, MFU and throughput, for
any batch size; preparing a plan (once per model, precision and chip) is timed apart. `tools/bench_pyodide.mjs` runs
`scalar_estimates` and `full_estimates` of this file in Pyodide, so it imports NumPy only where arrays are swept.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from itertools import cycle, product
from typing import Any

from ironlaw import setup
from ironlaw.answers import prepare
from ironlaw.memory.ledger import memory_plans
from ironlaw.memory.tensors import MemoryLedger
from ironlaw.models import Transformer, from_config
from ironlaw.time.step import StepPlan, step_plan, step_plan_anew

MODELS = ("gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl")
CHIPS = ("a100-80", "h100-sxm", "h200", "rtx-4090")
SWEEP = 4096
"""Points of one array. Two dozen such arrays fit in a core's second-level cache, and the C library keeps their memory
for the next ones: larger blocks go back to the system, and asking for them again costs more than the arithmetic."""


@dataclass(frozen=True)
class Line:
    """One measurement with its budget; a budget of None is information only."""

    what: str
    measured: float
    unit: str
    budget: float | None = None
    at_least: bool = False

    @property
    def verdict(self) -> str:
        """Whether the budget is met."""
        if self.budget is None:
            return ""
        met = self.measured >= self.budget if self.at_least else self.measured <= self.budget
        return f"{'meets' if met else 'MISSES'} {'>=' if self.at_least else '<='} {self.budget:,g}"


def plans() -> list[StepPlan]:
    """A few dozen prepared steps."""
    return [
        step_plan(setup(model, chip, precision=mode, execution=execution))
        for model, chip, mode, execution in product(MODELS, CHIPS, ("amp-bf16", "bf16"), ("eager", "compiled"))
    ]


def per_second(call: Callable[[], Any], seconds: float) -> float:
    """Calls per second of processor time, the best of three rounds: the machine may be shared."""
    best = 0.0
    for _ in range(3):
        calls, start = 0, time.process_time()
        while (elapsed := time.process_time() - start) < seconds / 3:
            call()
            calls += 1
        best = max(best, calls / elapsed)
    return best


def scalar_estimates(seconds: float) -> float:
    """Scalar estimates per second over many models, chips and batch sizes."""
    prepared = cycle(plans())
    batches = cycle(range(1, 257))
    return per_second(lambda: next(prepared)(next(batches), 1024), seconds)


def full_estimates(seconds: float, model: str | Transformer = "gpt2-xl") -> float:
    """Whole estimates per second: memory by component, peak, FLOPs, time, energy and money of a prepared setup."""
    plan = prepare(setup(model, "h200"))
    batches = cycle(range(1, 257))
    return per_second(lambda: plan(next(batches), 1024), seconds)


def swept_estimates(seconds: float) -> float:
    """Estimates per second when a whole array of batch sizes is asked at once, on one core."""
    import numpy as np

    plan = step_plan(setup("gpt2-xl", "h100-sxm", execution="compiled"))
    batches: Any = np.arange(1, SWEEP + 1)
    return SWEEP * per_second(lambda: plan(batches, 1024), seconds)


def memory_ledgers(seconds: float) -> float:
    """Full memory ledgers per second: every named tensor and the peak."""
    (plan,) = memory_plans(setup("gpt2-xl"))
    batches = cycle(range(1, 257))
    return per_second(lambda: MemoryLedger(plan, next(batches), 1024).allocated_peak, seconds)


def prepared_plans(seconds: float) -> float:
    """Plans per second without the cache: operation list to kernels to polynomials."""
    asked = setup("gpt2-xl", "h100-sxm", execution="compiled")
    return per_second(lambda: step_plan_anew(asked, asked.stages[0]), seconds)


def process_milliseconds(*arguments: str) -> float:
    """Wall time of a fresh Python process in milliseconds, the best of five: its modules have been compiled before."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True, env=environment)
        best = min(best, time.perf_counter() - start)
    return 1000 * best


def measure(seconds: float) -> list[Line]:
    """All measurements."""
    empty = process_milliseconds("-c", "pass")
    estimate = ("-m", "ironlaw", "estimate", "--model", "gpt2-xl", "--batch", "8", "--gpu", "h200", "--json")
    return [
        Line("python start-up", empty, "ms"),
        Line(
            "import ironlaw, beyond python's start-up", process_milliseconds("-c", "import ironlaw") - empty, "ms", 40
        ),
        Line("python -m ironlaw estimate, start-up included", process_milliseconds(*estimate), "ms", 150),
        Line("scalar estimates", scalar_estimates(seconds), "/s", 20_000, at_least=True),
        Line("full estimates, as the command line prints", full_estimates(seconds), "/s", 20_000, at_least=True),
        Line(
            "full estimates of a mixture of experts, 60 layers",
            full_estimates(seconds, from_config({"model_type": "qwen3_moe", "num_hidden_layers": 60})),
            "/s",
            5_000,
            at_least=True,
        ),
        Line(f"swept estimates (NumPy, {SWEEP} at once)", swept_estimates(seconds), "/s", 5e6, at_least=True),
        Line("memory ledgers", memory_ledgers(seconds), "/s"),
        Line("plans prepared", prepared_plans(seconds), "/s"),
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Measure the engine's speed.")
    parser.add_argument("--seconds", type=float, default=2.0, help="seconds per measurement")
    lines = measure(parser.parse_args().seconds)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    print(f"{python}, NumPy {version('numpy')}, {os.cpu_count()} cores")
    width = max(len(line.what) for line in lines)
    for line in lines:
        print(f"{line.what:<{width}}  {line.measured:>14,.1f} {line.unit:<3} {line.verdict}")


if __name__ == "__main__":
    main()
