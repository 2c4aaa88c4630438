"""Replicas that share a model by FSDP2, in one process: collectives do nothing, and the first replica is measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

REPLICAS = 8
LLAMA: dict[str, Any] = {
    "kv_heads": 1, "ffn": 896, "position": "rope", "norm": "rmsnorm", "mlp": "swiglu", "tied": False, "bias": False,
}  # fmt: skip


@contextmanager
def replicas() -> Iterator[DeviceMesh]:
    """The mesh of all replicas."""
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=REPLICAS)
    yield init_device_mesh("cpu", (REPLICAS,))
    dist.destroy_process_group()


def local(tensor: Any) -> torch.Tensor:
    """What the first replica has of a tensor."""
    part: torch.Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return part
