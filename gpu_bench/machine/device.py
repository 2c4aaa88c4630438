"""The device a case runs on: found, described, and given the short name that record files carry."""

from __future__ import annotations

from typing import Any

import torch

from gpu_bench.machine import nvml, provenance


def resolve_device(wanted: str) -> torch.device:
    """The CPU, the first GPU, or for `auto` the GPU if there is one.

    A GPU comes with its number, which some of PyTorch's functions ask for: 0 is the first that the process may see.

    Raises:
        ValueError: When `cuda` is asked for and PyTorch sees none.
    """
    if wanted == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device 'cuda' is not available: PyTorch {torch.__version__} sees no GPU; allowed: cpu, auto")
    on_gpu = wanted == "cuda" or (wanted == "auto" and torch.cuda.is_available())
    return torch.device("cuda", 0) if on_gpu else torch.device("cpu")


def open_nvml(device: torch.device) -> nvml.Gpu | None:
    """The driver's view of a CUDA device; None for a CPU or where the driver does not answer."""
    if device.type != "cuda":
        return None
    # PyTorch leaves out what the driver puts before it, which differs for a part of a GPU (MIG).
    uuid = str(torch.cuda.get_device_properties(device).uuid).removeprefix("GPU-").removeprefix("MIG-")
    return nvml.open_gpu(f"GPU-{uuid}") or nvml.open_gpu(f"MIG-{uuid}")


def describe(device: torch.device) -> dict[str, Any]:
    """What a record says of the device: its type, name, slug in file names, memory in bytes, and power limit in W."""
    name, limit, memory = provenance.cpu_model(), None, provenance.memory_bytes()
    slug = provenance.cpu_slug(name, provenance.cpu_cores())
    if device.type == "cuda":
        properties, gpu = torch.cuda.get_device_properties(device), open_nvml(device)
        name, memory, limit = properties.name, properties.total_memory, gpu.power_limit_w() if gpu else None
        slug = provenance.slugify(name)
    return {"type": device.type, "name": name, "slug": slug, "memory": memory, "power_limit_w": limit}


def software(device: torch.device) -> dict[str, Any]:
    """Versions of what computes."""
    cuda = device.type == "cuda"
    return {
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda if cuda else None,
        "cudnn": str(torch.backends.cudnn.version()) if cuda else None,  # type: ignore[no-untyped-call]
        "triton": provenance.package_version("triton"),
        "nccl": _nccl_version() if cuda else None,
        "driver": nvml.driver_version() if cuda else None,
        "packages": provenance.packages(),
        "environment": provenance.environment(),
        "threads": torch.get_num_threads(),
    }


def _nccl_version() -> str | None:
    """The version of the library that GPUs talk to each other by, where PyTorch was built with it."""
    if not torch.distributed.is_nccl_available():
        return None
    return ".".join(str(part) for part in torch.cuda.nccl.version())  # type: ignore[no-untyped-call]
