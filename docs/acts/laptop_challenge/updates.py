"""One weight under many equal updates, in FP16 and in FP32."""

from __future__ import annotations

from functools import cache

from explorable import live
from ironlaw.numerics.formats import FP16, FP32

from .settings import GRADIENT, RATE, UPDATES, WEIGHT


@cache
def weight_rows() -> tuple[live.Row, ...]:
    """One weight under equal updates, in the two formats that the optimizer can update."""
    rows: list[live.Row] = []
    for name, form in (("FP16", FP16), ("FP32", FP32)):
        value = form.round(WEIGHT)
        for step in range(UPDATES + 1):
            if step % 50 == 0:
                rows.append({"format": name, "step": step, "weight": value})
            value = form.round(value - RATE * GRADIENT)
    return tuple(rows)
