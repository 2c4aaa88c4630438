"""How long one matrix product takes: its tiles and waves against the traffic of its three matrices."""

from __future__ import annotations

from engine.core.arrays import maximum, require_at_least
from engine.core.units import Bytes, Count, Seconds
from engine.hardware.accelerators import Accelerator
from engine.numerics.dtypes import dtype
from engine.time.gemm import gemm_seconds, sustained
from engine.time.roofline import STREAM_EFFICIENCY


def product_bytes(m: Count, n: Count, k: Count, form: str = "bf16") -> Bytes:
    """Bytes of an (m, k) by (k, n) product that reads both factors and writes the result once."""
    for what, value in (("m", m), ("n", n), ("k", k)):
        require_at_least(what, value, 1)
    return dtype(form).bytes(m * k + k * n + m * n)


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

    Source: as in `engine.time.gemm` and, for the traffic, `engine.time.roofline.STREAM_EFFICIENCY`.
    """
    traffic = product_bytes(m, n, k, form) / (STREAM_EFFICIENCY * chip.bandwidth)
    return maximum(gemm_seconds(m, n, k, sustained(chip, form), chip.multiprocessors), traffic)
