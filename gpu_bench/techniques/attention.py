"""Attention: spelled out with the T x T scores in memory, or fused, by one of PyTorch's kernels or its own choice."""

from __future__ import annotations

from dataclasses import dataclass, replace

from torch.nn.attention import SDPBackend

from gpu_bench.case import Attention, AttentionKernel
from gpu_bench.recipe import Recipe

KERNELS: dict[AttentionKernel, tuple[SDPBackend, ...]] = {
    "auto": (),
    "flash": (SDPBackend.FLASH_ATTENTION,),
    "efficient": (SDPBackend.EFFICIENT_ATTENTION,),
    "cudnn": (SDPBackend.CUDNN_ATTENTION,),
    "math": (SDPBackend.MATH,),
}


@dataclass(frozen=True)
class WithAttention:
    """Compute attention in a form, and a fused one by a kernel. A kernel that cannot run is an error."""

    form: Attention
    kernel: AttentionKernel = "auto"

    def apply(self, recipe: Recipe) -> Recipe:
        """Set the form in the model and the kernels that may run."""
        return replace(recipe, config=replace(recipe.config, attention=self.form), kernels=KERNELS[self.kernel])
