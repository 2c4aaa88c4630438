"""One repeat of a failure's case: every run of it from one seed, one after the other on one thread."""

from __future__ import annotations

from typing import Any

import torch

from gpu_bench.cases.case import Case
from gpu_bench.experiments.digits import digits
from gpu_bench.experiments.failures.case import FailureCase
from gpu_bench.experiments.failures.recipes import FAILURES, planned
from gpu_bench.experiments.failures.training import run


def run_repeat(case: Case, device: torch.device, repeat: int) -> dict[str, Any]:
    """Train each run of the failure, on the CPU whatever the device, where all machines round alike."""
    assert isinstance(case, FailureCase)
    torch.set_num_threads(1)
    data, failure = digits.load(), FAILURES[case.failure]
    runs = {}
    for name, (recipe, histograms) in planned(case.failure, case.shortened).items():
        runs[name] = {"settings": recipe.as_dict(), "seed": run(recipe, data, case.seed + repeat, histograms)}
    return {"status": "ok", "message": None, "arms": {"data": data.as_dict(), "worse": failure.worse, "runs": runs}}
