"""A case small enough for a second, and a record without another process."""

from __future__ import annotations

import json
from typing import Any

from gpu_bench.cases.case import Case, TrainingCase
from gpu_bench.predict.prediction import predict
from gpu_bench.record.assembly import assemble
from gpu_bench.run import worker


def tiny_case(name: str = "tiny", **changes: Any) -> TrainingCase:
    fields: dict[str, Any] = {
        "name": name,
        "model": "pico",
        "precision": "fp32",
        "optimizer": "adam",
        "learning_rate": 1e-3,
        "batch": 2,
        "sequence": 32,
        "warmup": 1,
        "steps": 3,
        "steady": False,
        "repeats": 1,
    }
    return TrainingCase(**{**fields, **changes})


def recorded(suite: str, case: Case) -> dict[str, Any]:
    """What the file of a record would state of a case, one repeat of which runs here."""
    context = worker.probe("cpu")
    told = predict(case, context["device"]) if isinstance(case, TrainingCase) else None
    part = worker.measure({"case": case.as_dict(), "device": "cpu", "repeat": 0})
    made = assemble(suite, case, context, [part], "python -m gpu_bench run", told)
    stated: dict[str, Any] = json.loads(json.dumps(made))
    return stated
