"""A smaller card on a larger one: the allocator refuses what the small card would not have had.

Only memory is emulated. Speed is that of the real card, and libraries that look at free memory see the real one.
"""

from __future__ import annotations

import torch

from engine.memory.ledger import CUDA_CONTEXT
from gpu_bench.device import open_nvml


def limit_memory(device: torch.device, limit: int) -> int:
    """Let this process allocate what `limit` leaves after the CUDA context. Call it before the first allocation.

    Args:
        device: A CUDA device.
        limit: Bytes that programs can allocate on the emulated card.

    Returns:
        Bytes counted as context: what the driver says this process holds already, but at least the engine's
        assumption, since kernels that are loaded later add to it.

    Raises:
        ValueError: When the device is not larger than the card, or something was allocated already.
    """
    torch.cuda.init()  # type: ignore[no-untyped-call]
    torch.cuda.synchronize(device)
    if torch.cuda.memory_reserved(device):
        raise ValueError("memory was allocated before its limit was set")
    total = torch.cuda.get_device_properties(device).total_memory
    gpu = open_nvml(device)
    context = max((gpu.process_memory() if gpu else None) or 0, CUDA_CONTEXT)
    if limit >= total:
        raise ValueError(f"a card of {limit / 2**30:.1f} GiB cannot be emulated on one of {total / 2**30:.1f} GiB")
    torch.cuda.set_per_process_memory_fraction((limit - context) / total, device)
    return context
