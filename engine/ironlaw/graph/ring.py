"""Fused attention where devices share every sequence: a ring of keys and values (context parallelism).

Each of c devices has two of 2 c parts of a sequence, one from either end: under a causal mask all have as much to do.
In c steps a device meets the keys and values of all, its own first, and sends those at hand on. Kept for the backward
pass are queries, output, log-sum-exp, and keys and values of one device.

This is Transformer Engine's ring, Megatron-LM's default (`--cp-comm-type p2p`), on the device with the last part, whose
steps have all queries. It holds every step's keys, values and result until the results are joined. PyTorch's own
gathers all keys and values first, unless told otherwise.

Source: NVIDIA/TransformerEngine, `context_parallel.py`, `AttnFuncWithCPAndKVP2P`, late 2025.
"""

from __future__ import annotations

from ironlaw.core.sizes import NOTHING, Size
from ironlaw.core.units import Count
from ironlaw.graph.ir import Value

Inputs = tuple[Value, ...]
"""Queries, keys and values."""


def workspaces(devices: Count, inputs: Inputs, out: Value, lse: Value) -> tuple[Size, Size]:
    """Bytes beside inputs, results and gradients, forward and backward.

    Forward the steps, and the sum of their results in fp32. Backward two buffers of keys, values and their gradients,
    of which one half is the gradient itself, and the gradients of a step.
    """
    if devices == 1:
        return NOTHING, NOTHING
    passed = passed_on(inputs)
    step = passed + out.byte_size + lse.byte_size
    return step * devices + out.size * 4, passed * 4 + inputs[0].byte_size


def passed_on(inputs: Inputs) -> Size:
    """Bytes of keys and values that a device sends on in a step."""
    return inputs[1].byte_size + inputs[2].byte_size


def joining(inputs: Inputs, out: Value) -> tuple[Size, Size]:
    """Bytes that joining results moves in a forward pass: once, and for each step after the first.

    Keys and values are copied; the first result begins the fp32 sum, which is narrowed in the end, others are added.
    """
    return 2 * (passed_on(inputs) + out.byte_size + out.size * 4), out.byte_size + out.size * 8


def summing(inputs: Inputs) -> tuple[Size, Size]:
    """Bytes that summing gradients moves in a backward pass, likewise.

    The first gradients are copied, others added; those of another device's keys are of their earlier half alone.
    """
    queries, half = inputs[0].byte_size, passed_on(inputs).split(2)
    return 2 * queries + 9 * half, 3 * (queries + half)
