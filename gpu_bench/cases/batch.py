"""Suite 6: how a larger batch fills the GPU, and whether one sequence more than a power of two costs."""

from __future__ import annotations

from gpu_bench.cases.base import SIZE_NAMES, on_gpu

_POWERS = (1, 8, 32, 64, 256)
_AROUND = (33, 65)

BATCH = (
    *(
        on_gpu(
            f"batch-{SIZE_NAMES['gpt2']}-{batch}",
            "gpt2",
            77,
            "utilization against batch: where the GPU stops waiting for work",
            batch=batch,
            sequence=256,
        )
        for batch in _POWERS
    ),
    *(
        on_gpu(
            f"batch-{SIZE_NAMES['gpt2']}-{batch}",
            "gpt2",
            66,
            "beside a power of two: tiles and waves that are not full",
            batch=batch,
            sequence=256,
        )
        for batch in _AROUND
    ),
)
