"""The kinds of case: which data describes one, and which module measures it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpu_bench.case import Case, FitCase, OperationsCase, TrainingCase, case_of
from gpu_bench.distributed.case import ScalingCase
from gpu_bench.input_pipeline.case import LoaderCase, TokenizeCase
from gpu_bench.roofline_case import RooflineCase


@dataclass(frozen=True)
class Kind:
    """One kind of case.

    Attributes:
        case: The class of its cases.
        module: Where `run_repeat(case, device, repeat)` is, which measures one repeat and returns plain data. The
            module imports PyTorch, so only workers load it.
        result: The part of the record that it fills: `training` (step times, memory, loss, ...), `points` or `fit`.
    """

    case: type[Case]
    module: str
    result: str


KINDS: dict[str, Kind] = {
    "training": Kind(TrainingCase, "gpu_bench.run_case", "training"),
    "operations": Kind(OperationsCase, "gpu_bench.operations", "points"),
    "fit": Kind(FitCase, "gpu_bench.fit", "fit"),
    "tokenize": Kind(TokenizeCase, "gpu_bench.input_pipeline.tokenize", "points"),
    "loader": Kind(LoaderCase, "gpu_bench.input_pipeline.loading", "points"),
    "roofline": Kind(RooflineCase, "gpu_bench.roofline", "points"),
    "scaling": Kind(ScalingCase, "gpu_bench.distributed.measure", "points"),
}


def case_from_dict(data: Mapping[str, Any]) -> Case:
    """The inverse of `Case.as_dict`. Raises `ValueError` on an unknown kind, and an unknown or missing field."""
    kind = data.get("kind", "training")
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; allowed: {', '.join(KINDS)}")
    return case_of(KINDS[kind].case, data)
