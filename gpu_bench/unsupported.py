"""What a device cannot do, and what does not fit it: results, not failures."""

from __future__ import annotations

from typing import Literal

import torch

_NO_KERNEL = ("No viable backend for scaled_dot_product_attention", "No available kernel.")
"""What PyTorch says, on a CPU and on CUDA, when none of the attention kernels that may run can."""


class UnsupportedError(Exception):
    """The device, or the software on it, lacks what the case needs; the message says what."""


def kind_of(error: Exception) -> Literal["oom", "unsupported"] | None:
    """Which result an exception is, or None for a fault.

    CUDA raises a type of its own when memory runs out, the CPU allocator a `RuntimeError` that only its text tells.
    """
    text = str(error)
    if isinstance(error, torch.OutOfMemoryError | MemoryError) or "DefaultCPUAllocator: can't allocate" in text:
        return "oom"
    if isinstance(error, UnsupportedError) or any(words in text for words in _NO_KERNEL):
        return "unsupported"
    return None
