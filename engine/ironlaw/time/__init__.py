"""How long a step takes on one device: matrix products, traffic, the update, and the gaps between kernels."""

from __future__ import annotations

from ironlaw.time.attention import score_bytes, traffic_ratio
from ironlaw.time.gemm import gemm_rate, product_bytes, product_seconds
from ironlaw.time.roofline import (
    RooflinePoint,
    attainable,
    intensity,
    least_seconds,
    matmul_intensity,
    ridge_point,
    step_points,
)
from ironlaw.time.step import step_plan, step_time
