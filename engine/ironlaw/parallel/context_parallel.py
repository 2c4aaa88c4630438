"""Context parallelism: what devices that share every sequence send around their ring, and what of it nothing hides.

Of c devices each sends the keys and values at hand on c - 1 times in a forward pass. In the backward pass it does so
again, and the gradients of keys and values follow one step later, as often. Each send runs beside the attention of the
step that it begins with; what takes longer is waited for. Which tensors there are: `ironlaw.graph.ring`.

Source: Liu, Zaharia, Abbeel 2023, "Ring Attention with Blockwise Transformers", arXiv 2310.01889, section 3, for the
overlap; NVIDIA/TransformerEngine, `context_parallel.py`, late 2025, `AttnFuncWithCPAndKVP2P`, for what a step sends.
"""

from __future__ import annotations

from ironlaw.core.arrays import maximum
from ironlaw.core.units import Count, Seconds


def sends(devices: Count, *, backward: bool) -> tuple[tuple[Count, Count], ...]:
    """What a ring sends: how many steps send how many times the bytes of a device's keys and values.

    In the backward pass the first step sends keys and values, the last one their gradients, all others both.
    """
    if not backward:
        return ((devices - 1, 1),)
    return ((2, 1), (devices - 2, 2)) if devices > 1 else ()


def ring_seconds(
    each: Seconds, twice: Seconds, attention: Seconds, devices: Count, *, backward: bool
) -> tuple[Seconds, Seconds]:
    """Seconds of a layer's sends in a forward or backward pass, and the part that nothing hides.

    Args:
        each: Seconds to send a device's keys and values to the next device.
        twice: Seconds to send twice as many bytes.
        attention: Seconds that a step computes.
        devices: Those that share a sequence.
        backward: Whether it is the backward pass.
    """
    sent = exposed = 0.0
    for steps, times in sends(devices, backward=backward):
        seconds = each if times == 1 else twice
        sent += steps * seconds
        exposed += steps * maximum(seconds - attention, 0.0)
    return sent, exposed
