"""Backends: the few facts in which PyTorch's kernels for CPU and for CUDA keep different tensors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ironlaw.core.errors import entry

BackendName = Literal["cuda", "cpu"]


@dataclass(frozen=True, slots=True)
class Backend:
    """What a device's kernels keep. Facts of PyTorch 2.13; the CPU's are tested against it.

    Attributes:
        name: `"cuda"` or `"cpu"`.
        fp32_statistics: Layer norm keeps mean and deviation in fp32; otherwise in the input's format.
        byte_masks: A dropout mask takes one byte an element; otherwise it has the input's format.
        fp32_softmax: Autocast runs a plain softmax in fp32.
        fused_dropout: The fused attention kernel applies dropout itself; otherwise PyTorch spells it out.
        fused_rms_norm: RMSNorm is one kernel that keeps its input and a statistic a row, as `torch.nn.RMSNorm`, Liger's
            and FlashAttention's are; otherwise separate operations, as Hugging Face transformers writes it.
    """

    name: BackendName
    fp32_statistics: bool
    byte_masks: bool
    fp32_softmax: bool
    fused_dropout: bool
    fused_rms_norm: bool = False


_BACKENDS: dict[str, Backend] = {
    backend.name: backend
    for backend in (Backend("cuda", True, True, True, True), Backend("cpu", False, False, False, False))
}


def backend(name: str | Backend) -> Backend:
    """The backend called `name` (a `Backend` passes through). Raises `EngineError` for an unknown name."""
    if isinstance(name, Backend):
        return name
    return entry("backend", name, _BACKENDS)
