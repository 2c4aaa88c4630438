"""What a device cannot do, and what does not fit it: results, not failures."""

from __future__ import annotations

from typing import Literal

import torch

from gpu_bench.record.judgement import NO_MEMORY

_NOT_HERE = (
    # No allowed attention kernel can run: the message on a CPU, on CUDA, and of cuDNN.
    "No viable backend for scaled_dot_product_attention",
    "No available kernel.",
    "No execution plans support the graph",
    # Compiling needs a compiler: Triton's words, and those of PyTorch's compiler on a CPU.
    "Failed to find C compiler",
    "No working C++ compiler found",
)


class UnsupportedError(Exception):
    """The device, or the software on it, lacks what the case needs; the message says what."""


def _chain(error: BaseException) -> list[BaseException]:
    """The error and those that it was raised from: the compiler wraps what happens while it tries kernels."""
    found: list[BaseException] = []
    ahead: list[BaseException | None] = [error]
    while ahead:
        one = ahead.pop(0)
        if one is not None and one not in found:
            found.append(one)
            ahead += [getattr(one, "inner_exception", None), one.__cause__, one.__context__]
    return found


def told(error: BaseException) -> str:
    """The line of an error, or of one behind it, that says which result it is; the first one where none does."""
    chain = _chain(error)
    lines = [line for one in chain for line in str(one).splitlines()] or [type(error).__name__]
    if found := next((line for line in lines if any(words in line for words in (*_NOT_HERE, *NO_MEMORY))), None):
        return found
    # Python's own says which it is by its type alone.
    return f"MemoryError: {lines[0]}" if any(isinstance(one, MemoryError) for one in chain) else lines[0]


def kind_of(error: BaseException) -> Literal["oom", "unsupported"] | None:
    """Which result an exception is, or None for a fault.

    PyTorch's CUDA allocator raises a type of its own when memory runs out; other errors are known by their text. Where
    several errors led to this one, memory counts first: a compiler that finds no kernel because none had room ran out
    of it.
    """
    chain = _chain(error)
    texts = [str(one) for one in chain]
    ran_out = any(isinstance(one, torch.OutOfMemoryError | MemoryError) for one in chain)
    if ran_out or any(words in text for text in texts for words in NO_MEMORY):
        return "oom"
    unable = any(isinstance(one, UnsupportedError) for one in chain)
    if unable or any(words in text for text in texts for words in _NOT_HERE):
        return "unsupported"
    return None
