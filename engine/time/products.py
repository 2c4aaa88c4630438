"""How long one matrix product takes: its tiles and waves against the traffic of its three matrices."""

from __future__ import annotations

from engine.core.arrays import maximum, require_at_least
from engine.core.units import Bytes, Count, Seconds
from engine.hardware.accelerators import Accelerator
from engine.numerics.dtypes import BF16, dtype
from engine.time.gemm import gemm_seconds, pipeline_depth, sustained


def product_bytes(m: Count, n: Count, k: Count, form: str = "bf16") -> Bytes:
    """Bytes of an (m, k) by (k, n) product that reads both factors and writes the result once.

    The result has the operands' format, and 16 bits where they have 8: what is added up is not rounded to 8 bits.
    """
    for what, value in (("m", m), ("n", n), ("k", k)):
        require_at_least(what, value, 1)
    operands = dtype(form)
    result = operands if operands.bits > 8 else BF16
    return operands.bytes(m * k + k * n) + result.bytes(m * n)


def product_seconds(m: Count, n: Count, k: Count, chip: Accelerator, form: str = "bf16") -> Seconds:
    """Seconds of an (m, k) by (k, n) product: the slower of its arithmetic, in tiles and waves, and its traffic.

    What `engine.time.step` takes for a product of a training step. Takes NumPy arrays.

    Args:
        m: Rows of the result.
        n: Columns of the result.
        k: Depth of the sum.
        chip: The accelerator.
        form: Format of the operands, accumulated in fp32.

    Raises:
        EngineError: A size below one, or a format that the chip does not have.

    Source: as in `engine.time.gemm` and, for the traffic, the chip's `streaming`.
    """
    traffic = product_bytes(m, n, k, form) / chip.streaming
    arithmetic = gemm_seconds(m, n, k, sustained(chip, form), chip.multiprocessors, depth=pipeline_depth(form))
    return maximum(arithmetic, traffic)
