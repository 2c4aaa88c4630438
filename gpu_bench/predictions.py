"""What the engine predicts for cases on a GPU that need not be here: written down before anything is measured."""

from __future__ import annotations

from collections.abc import Iterable

from gpu_bench.case import Case, TrainingCase
from gpu_bench.chips import ENGINE_NAMES
from gpu_bench.predict import predict
from gpu_bench.tables import ABSENT, Table, number

_GIB = 2**30


def device_name(text: str) -> str:
    """The driver's name of a GPU from that name or the engine's, e.g. `h200`. Raises `ValueError`."""
    found = [name for name, short in ENGINE_NAMES.items() if text in (name, short)]
    if not found:
        raise ValueError(f"GPU {text!r} is not known; allowed: {', '.join(sorted(ENGINE_NAMES.values()))}")
    return found[0]


def prediction_table(cases: Iterable[tuple[str, Case]], gpu: str) -> Table:
    """Step time, throughput, utilization and peak of every training case on a GPU, with what was approximated.

    Args:
        cases: Pairs of suite and case; cases that train nothing are left out.
        gpu: The GPU, as the driver or the engine calls it.
    """
    name = device_name(gpu)
    rows = []
    for suite, case in cases:
        if not isinstance(case, TrainingCase):
            continue
        told = predict(case, {"type": "cuda", "name": name})
        memory = told["memory"] or {}
        rows.append(
            (
                f"{suite}/{case.name}",
                number(told["step_s"], 1, 1e3),
                number(told["tokens_per_s"], 0),
                number(told["mfu"], 1, 100),
                number(memory.get("peak"), 2, 1 / _GIB),
                "; ".join(told["approximations"]) or ABSENT,
            )
        )
    head = ("case", "step ms", "tokens/s", "MFU %", "peak GiB", "approximations")
    return Table(f"The engine's prediction for one {name}", head, tuple(rows))
