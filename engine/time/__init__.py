"""How long a step takes on one device: matrix products, traffic, the update, and the gaps between kernels."""

from __future__ import annotations

from engine.time.attention_io import score_bytes, traffic_ratio
from engine.time.gemm import gemm_rate, product_bytes, product_seconds
from engine.time.roofline import (
    RooflinePoint,
    attainable,
    intensity,
    least_seconds,
    matmul_intensity,
    ridge_point,
    step_points,
)
from engine.time.step import step_plan, step_time
