"""Textbook estimates of activation memory: short formulas, to be shown beside the exact count."""

from __future__ import annotations

from ironlaw.core.errors import require_positive
from ironlaw.core.units import Bytes, Count
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
