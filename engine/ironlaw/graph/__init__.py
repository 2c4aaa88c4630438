"""What a step computes: operation by operation, what each keeps for backward, and as which kernels it runs."""

from __future__ import annotations

from ironlaw.graph.blocks import sections
from ironlaw.graph.checkpointing import alive_tensors, sqrt_placement
from ironlaw.graph.operations import (
    count_operations,
    flops_per_token,
    korthikanti_model_flops,
    megatron_flops,
    product_parameters,
    total_flops,
    utilization,
)
