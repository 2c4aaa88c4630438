"""Utilization: the FLOPs that are computed, over what the chip could compute in the time.

A causal kernel skips blocks of scores that are masked, half of them in a long sequence. Conventions that count every
score call them done, so a step that is mostly attention reads as more than the peak: 147 % of an RTX 5090 at 100,000
tokens. What is computed never is.
"""

from __future__ import annotations

from engine.core.sizes import Size
from engine.core.units import Count, Flops
from engine.time.attention_io import causal_share


def computed_flops(flops: Size, batch: Count, sequence: Count, attention: str) -> Flops:
    """FLOPs of `flops` that kernels compute: of the scores, which grow with T², the share that is not skipped.

    Args:
        flops: Matrix products of a micro-batch (`engine.graph.operations.operation_sizes`), all scores counted.
        batch: Sequences in a micro-batch.
        sequence: Tokens in a sequence.
        attention: `"flash"` kernels skip masked blocks; `"standard"` ones compute every score.
    """
    if attention != "flash":
        return flops(batch, sequence)
    scores = Size(tuple((power, count) for power, count in flops.terms if power[1] == 2))
    rest = Size(tuple((power, count) for power, count in flops.terms if power[1] != 2))
    return rest(batch, sequence) + scores(batch, sequence) * causal_share(sequence)
