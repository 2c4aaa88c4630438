"""Precisions: which number format each kind of training tensor has.

| name | weights | gradients | master | states | compute | convention |
|---|---|---|---|---|---|---|
| `fp32` | fp32 | fp32 | none | fp32 | fp32 | everything in single precision |
| `amp-fp16`, `amp-bf16` | fp32 | fp32 | none | fp32 | 16 bit | torch autocast over fp32 parameters |
| `fp16`, `bf16` | 16 bit | 16 bit | none | 16 bit | 16 bit | pure 16 bit, `model.to(dtype)` |
| `mixed` | fp16 | fp16 | fp32 | fp32 | fp16 | Micikevicius et al. 2018; ZeRO, arXiv 1910.02054, section 3.1 |
| `mixed-bf16` | bf16 | bf16 | fp32 | fp32 | bf16 | the same in BF16: FSDP's mixed precision, DeepSpeed with ZeRO |
| `megatron` | bf16 | fp32 | fp32 | fp32 | bf16 | Megatron-LM: gradients accumulate in fp32 |
| `deepspeed` | bf16 | bf16 + fp32 | fp32 | fp32 | bf16 | DeepSpeed's `BF16_Optimizer`: fp32 sums beside gradients |
| `tf32` | fp32 | fp32 | none | fp32 | fp32 | products round their operands to TF32 |
| `fp8` | bf16 | fp32 | fp32 | fp32 | bf16 | `megatron`, with the blocks' linear layers in FP8 (Transformer Engine) |
| `amp-fp8` | fp32 | fp32 | none | fp32 | bf16 | `amp-bf16`, with the blocks' linear layers in FP8 (torchao) |

FSDP2 under `MixedPrecisionPolicy(param_dtype=torch.bfloat16)` keeps FP32 shards of parameters and of gradients, and
gathers in BF16 (PyTorch 2.13, `torch/distributed/fsdp/_fully_shard/_fsdp_api.py`): as many bytes a device as the
shards of `mixed-bf16`. DeepSpeed sums gradients in FP32 only without ZeRO (`runtime/engine.py`, `get_data_types`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.core.errors import entry
from ironlaw.numerics.dtypes import BF16, FP8_E4M3, FP16, FP32, TF32, DType


@dataclass(frozen=True, slots=True)
class Precision:
    """The formats of one way to train.

    Attributes:
        name: As on the command line.
        weights: What the model's parameters are stored in.
        gradients: What parameter gradients are stored in.
        master: A second copy of the parameters that the optimizer updates, or None.
        states: What each optimizer state vector is stored in.
        compute: What matrix products read and write.
        autocast: Whether 16-bit casts of fp32 weights are made for the matrix products and kept until backward, while
            normalizations, the residual stream and the loss stay in fp32 (torch autocast).
        accumulation: What gradients are summed in when the sums are tensors of their own beside `gradients`, or None.
        rounded: What linear layers round the operands of their products to: TF32 wherever products are fp32, FP8 in
            blocks; None when they multiply in `compute`.
    """

    name: str
    weights: DType
    gradients: DType
    master: DType | None
    states: DType
    compute: DType
    autocast: bool = False
    accumulation: DType | None = None
    rounded: DType | None = None

    @property
    def products(self) -> DType:
        """The format in which the blocks' linear layers multiply; utilization is relative to its peak."""
        return self.rounded or self.compute

    @property
    def product_format(self) -> str:
        """Its name in an accelerator's record: `"fp8"` for either of the FP8 formats."""
        return self.products.name.partition("-")[0]

    @property
    def in_fp8(self) -> bool:
        """Whether the blocks' linear layers multiply in FP8."""
        return self.product_format == "fp8"

    @property
    def wide(self) -> DType:
        """What normalizations, softmax and loss are computed in: FP32 under autocast, whatever the weights are in."""
        return FP32 if self.autocast else self.weights

    @property
    def residual(self) -> DType:
        """The format of the residual stream between blocks."""
        return self.weights


_PRECISIONS = {
    entry.name: entry
    for entry in (
        Precision("fp32", FP32, FP32, None, FP32, FP32),
        Precision("amp-fp16", FP32, FP32, None, FP32, FP16, autocast=True),
        Precision("amp-bf16", FP32, FP32, None, FP32, BF16, autocast=True),
        Precision("fp16", FP16, FP16, None, FP16, FP16),
        Precision("bf16", BF16, BF16, None, BF16, BF16),
        Precision("mixed", FP16, FP16, FP32, FP32, FP16),
        Precision("mixed-bf16", BF16, BF16, FP32, FP32, BF16),
        Precision("megatron", BF16, FP32, FP32, FP32, BF16),
        Precision("deepspeed", BF16, BF16, FP32, FP32, BF16, accumulation=FP32),
        Precision("tf32", FP32, FP32, None, FP32, FP32, rounded=TF32),
        Precision("fp8", BF16, FP32, FP32, FP32, BF16, rounded=FP8_E4M3),
        Precision("amp-fp8", FP32, FP32, None, FP32, BF16, autocast=True, rounded=FP8_E4M3),
    )
}


def precision(name: str | Precision) -> Precision:
    """The precision called `name` (a `Precision` passes through). Raises `EngineError` for an unknown name."""
    if isinstance(name, Precision):
        return name
    return entry("precision", name, _PRECISIONS)


def list_precisions() -> tuple[str, ...]:
    """Names of all precisions."""
    return tuple(_PRECISIONS)
