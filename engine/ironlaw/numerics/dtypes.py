"""Number formats: how many bits an element takes, and how its exponent and fraction divide them."""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.core.errors import entry
from ironlaw.core.units import Bytes, Count


@dataclass(frozen=True, slots=True)
class DType:
    """A number format. `exponent_bits` and `fraction_bits` are 0 for integers and booleans."""

    name: str
    bits: Count
    exponent_bits: Count = 0
    fraction_bits: Count = 0

    def bytes(self, elements: Count) -> Bytes:
        """Bytes that `elements` packed elements take, without padding."""
        return (elements * self.bits + 7) // 8


# IEEE 754-2019 for fp64/fp32/fp16; bf16 and tf32: NVIDIA A100 white paper; fp8: arXiv 2209.05433, table 1.
FP64 = DType("fp64", 64, 11, 52)
FP32 = DType("fp32", 32, 8, 23)
TF32 = DType("tf32", 32, 8, 10)  # stored in 32 bits; only the tensor core reads fewer
FP16 = DType("fp16", 16, 5, 10)
BF16 = DType("bf16", 16, 8, 7)
FP8_E4M3 = DType("fp8-e4m3", 8, 4, 3)
FP8_E5M2 = DType("fp8-e5m2", 8, 5, 2)
INT64 = DType("int64", 64)
INT32 = DType("int32", 32)
INT8 = DType("int8", 8)
UINT8 = DType("uint8", 8)
BOOL = DType("bool", 8)  # PyTorch stores a boolean in a byte

_BY_NAME = {d.name: d for d in (FP64, FP32, TF32, FP16, BF16, FP8_E4M3, FP8_E5M2, INT64, INT32, INT8, UINT8, BOOL)}
_BY_NAME["fp8"] = FP8_E4M3  # accelerators state one rate for both 8-bit floats; E4M3 is the one of forward products


def dtype(name: str) -> DType:
    """The format called `name`, e.g. `"bf16"`. Raises `EngineError` for an unknown name."""
    return entry("dtype", name, _BY_NAME)
