"""What NVIDIA's driver calls the accelerators, as `nvidia-smi` and `torch.cuda.get_device_name` print it."""

from __future__ import annotations

DRIVER_NAMES = {
    "NVIDIA A10G": "a10g",
    "NVIDIA A100-PCIE-40GB": "a100-40-pcie",
    "NVIDIA A100-SXM4-40GB": "a100-40",
    "NVIDIA A100 80GB PCIe": "a100-80-pcie",
    "NVIDIA A100-SXM4-80GB": "a100-80",
    "NVIDIA A800-SXM4-80GB": "a800-80",
    "NVIDIA H20": "h20",
    "NVIDIA H100 80GB HBM3": "h100-sxm",
    "NVIDIA H100 NVL": "h100-nvl",
    "NVIDIA H100 PCIe": "h100-pcie",
    "NVIDIA H200": "h200",
    "NVIDIA B200": "b200",
    "NVIDIA L4": "l4",
    "NVIDIA L40S": "l40s",
    "NVIDIA RTX A6000": "rtx-a6000",
    "NVIDIA GeForce RTX 3090": "rtx-3090",
    "NVIDIA GeForce RTX 4060": "rtx-4060",
    "NVIDIA GeForce RTX 4060 Laptop GPU": "rtx-4060-laptop",
    "NVIDIA GeForce RTX 4080": "rtx-4080",
    "NVIDIA GeForce RTX 4090": "rtx-4090",
    "NVIDIA GeForce RTX 5070 Ti": "rtx-5070ti",
    "NVIDIA GeForce RTX 5080": "rtx-5080",
    "NVIDIA GeForce RTX 5090": "rtx-5090",
    "Tesla T4": "t4",
    "Tesla V100-SXM2-16GB": "v100-16",
    "Tesla V100-SXM2-32GB": "v100-32",
}
"""Name that the driver gives -> name in the engine. Names must match exactly: similar names have other peaks."""


def by_driver(title: str) -> str | None:
    """The engine's name of a device; None when it does not know exactly this one.

    `nvidia-smi` cuts a long name and ends it with dots: then the one name that begins so counts.
    """
    found = begun(title)
    return DRIVER_NAMES[found[0]] if len(found) == 1 else None


def begun(title: str) -> list[str]:
    """The names that a title may be."""
    title = title.strip()
    cut = title.rstrip(".… ")
    whole = not title.endswith(("...", "…"))
    return [name for name in DRIVER_NAMES if (name == title if whole else name.startswith(cut) and name != cut)]
