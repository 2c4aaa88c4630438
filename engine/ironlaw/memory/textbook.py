"""Textbook estimates: short formulas of activations and of what ZeRO divides, to be shown beside the exact count.

ZeRO's paper counts mixed-precision Adam: 2 bytes of FP16 parameters, 2 of FP16 gradients, and K = 12 of FP32 master
copy and two moments (Rajbhandari, Rasley, Ruwase, He 2020, "ZeRO: Memory Optimizations Toward Training Trillion
Parameter Models", arXiv 1910.02054, figure 1 and table 1). `ironlaw.memory.ledger` counts named tensors.
"""

from __future__ import annotations

from ironlaw.config.layout import zero_stage
from ironlaw.core.arrays import require_at_least
from ironlaw.core.errors import require_positive
from ironlaw.core.units import Bytes, Count, Traffic
from ironlaw.models.transformer import Transformer
from ironlaw.numerics.dtypes import FP16, DType

LAYER_NORM_BYTES = 10_000_000
"""What the chapter adds per layer for layer norms: "minimal (~10 MB per layer)"."""


def chapter_activation_bytes(
    model: Transformer, batch: Count, sequence: Count | None = None, dtype: DType = FP16
) -> Bytes:
    """Activation bytes as the chapter counts them for GPT-2: attention 4 h, MLP 4 h, 10 MB a layer for norms.

    `L (batch * sequence * (4 h + f) * bytes + 10 MB)`: one query, key, value and output, and the inside of the MLP.
    The exact count is more than twice that, because the inputs of both norms and of every product are kept too.

    Args:
        model: The transformer.
        batch: Sequences.
        sequence: Tokens in a sequence; the model's longest when None.
        dtype: Format of activations.

    Source: *Model Training*, the worked example "GPT-2 Activation Memory Breakdown".
    """
    sequence = model.max_seq if sequence is None else sequence
    require_positive("batch", batch)
    require_positive("sequence", sequence)
    per_token = 4 * model.hidden + model.ffn
    return model.layers * (dtype.bytes(batch * sequence * per_token) + LAYER_NORM_BYTES)


def hidden_states_bytes(model: Transformer, batch: Count, sequence: Count, dtype: DType = FP16) -> Bytes:
    """Activation bytes by the shortest rule: `batch * sequence * hidden * layers * bytes`, one tensor a layer.

    Source: *Model Training*, "Estimating VRAM requirements".
    """
    require_positive("batch", batch)
    require_positive("sequence", sequence)
    return model.layers * dtype.bytes(batch * sequence * model.hidden)


STATE_BYTES = (12, 2, 2)
"""Bytes per parameter in the order of the stages: the optimizer's (the paper's K), gradients, working weights."""


def state_bytes_per_parameter(stage: int, devices: Count) -> Traffic:
    """Bytes of model state per parameter and device: 16, `4 + 12/n`, `2 + 14/n` and `16/n` for stages 0 to 3.

    Args:
        stage: 0 (plain data parallelism) to 3.
        devices: Data-parallel devices over which states are partitioned (a NumPy array is allowed).

    Raises:
        EngineError: An unknown stage, or fewer than one device.
    """
    stage = zero_stage(stage)
    require_at_least("devices", devices, 1)
    return sum(share / devices if position < stage else share for position, share in enumerate(STATE_BYTES))
