"""Weights that DeepSpeed's ZeRO-3 fetches as the step comes to them: from the host's memory, or from other devices.

A hook before each module gathers its weights, and those that come next, up to a bucket ahead, while fewer than a
maximum are there. A hook behind it releases them, but for small ones and those that are used again within a number of
elements: the last of the forward pass stay for the backward pass. Here a block is fetched at once.

Source: DeepSpeed at commit edaa722, `zero/partitioned_param_coordinator.py` (`fetch_sub_module`,
`__params_to_release`), and `zero/stage3.py` for what is pinned in the host's memory.
"""

from __future__ import annotations

from ironlaw.config.resolved import Setup
from ironlaw.core.units import Count


def is_fetched(c: Setup) -> bool:
    """Whether DeepSpeed fetches weights: they live in the host's memory, or devices divide them."""
    divided = c.layout.peers > 1 and c.layout.zero == 3
    return c.update.buffers is not None and (divided or c.update.offload == "parameters")


def kept_between(c: Setup) -> Count:
    """Elements of weights that stay from the forward pass to the backward pass.

    So many others come between: those behind them, forward and backward, and once more where blocks are recomputed.
    """
    assert c.update.buffers
    return c.update.buffers.reuse // (3 if c.checkpointing.every else 2)


def live_share(c: Setup, every: Count, unit: Count) -> tuple[Count, Count]:
    """Elements of weights that are whole on a device at once, and those of all.

    Args:
        c: The setup.
        every: Elements of all weights that are fetched.
        unit: Those of the largest block, or of another parameter where it is larger.
    """
    assert c.update.buffers
    ahead = min(c.update.buffers.prefetch, max(c.update.buffers.live - unit, 0))
    return min(every, max(unit + ahead, kept_between(c))), max(every, 1)
