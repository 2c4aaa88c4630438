"""What a device cannot do, and what does not fit it: results, not failures."""

from __future__ import annotations

from typing import Literal

import torch

_NOT_HERE = (
    # No allowed attention kernel can run: the message on a CPU, on CUDA, and of cuDNN.
    "No viable backend for scaled_dot_product_attention",
    "No available kernel.",
    "No execution plans support the graph",
    # Compiling needs a compiler: Triton's words, and those of PyTorch's compiler on a CPU.
    "Failed to find C compiler",
    "No working C++ compiler found",
)
_NO_MEMORY = (
    # The CPU's allocator; then CUDA and cuBLAS where they allocate without PyTorch's allocator.
    "DefaultCPUAllocator: can't allocate",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
)


class UnsupportedError(Exception):
    """The device, or the software on it, lacks what the case needs; the message says what."""


def told(error: Exception) -> str:
    """The line of an error that says which result it is; the first one where none does."""
    lines = str(error).splitlines() or [type(error).__name__]
    return next((line for line in lines if any(words in line for words in (*_NOT_HERE, *_NO_MEMORY))), lines[0])


def kind_of(error: Exception) -> Literal["oom", "unsupported"] | None:
    """Which result an exception is, or None for a fault.

    PyTorch's CUDA allocator raises a type of its own when memory runs out; all else only its text tells.
    """
    text = str(error)
    if isinstance(error, torch.OutOfMemoryError | MemoryError) or any(words in text for words in _NO_MEMORY):
        return "oom"
    if isinstance(error, UnsupportedError) or any(words in text for words in _NOT_HERE):
        return "unsupported"
    return None
