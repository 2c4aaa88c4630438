"""Floating-point formats, bit by bit: ranges, spacing, rounding, and when an update vanishes.

Everything here is exact: a value is a binary fraction, rounding is to nearest with ties to even, and the tests compare
every code of the 8- and 16-bit formats with PyTorch. Subnormal numbers are kept, as IEEE 754 and CUDA tensor cores do.

Sources: IEEE 754-2019 (FP32, FP16); Micikevicius et al. 2022, "FP8 Formats for Deep Learning", arXiv 2209.05433 (E4M3,
E5M2); Kalamkar et al. 2019, arXiv 1905.12322 (BF16); NVIDIA A100 architecture whitepaper, 2020 (TF32).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from ironlaw.core.errors import EngineError, entry
from ironlaw.core.units import Count, Ratio
from ironlaw.numerics import dtypes
from ironlaw.numerics.dtypes import DType


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """The arithmetic of a floating-point `DType`: one sign bit, its exponent bits, its stored fraction bits.

    `has_infinity` is true for IEEE-style formats, whose highest exponent is reserved for infinities and NaN. E4M3
    reserves a single code (all ones) for NaN instead, and so reaches one exponent further.
    """

    dtype: DType
    has_infinity: bool = True

    @property
    def name(self) -> str:
        """The format's name, e.g. `"bf16"`."""
        return self.dtype.name

    @property
    def exponent_bits(self) -> Count:
        """Bits of exponent: they set the range."""
        return self.dtype.exponent_bits

    @property
    def fraction_bits(self) -> Count:
        """Stored bits of fraction: they set the spacing."""
        return self.dtype.fraction_bits

    @property
    def code_bits(self) -> Count:
        """Bits that carry information (TF32 occupies 32 in memory but carries 19)."""
        return 1 + self.exponent_bits + self.fraction_bits

    @property
    def bias(self) -> Count:
        """What is subtracted from the stored exponent."""
        return int(2 ** (self.exponent_bits - 1)) - 1

    @property
    def minimum_exponent(self) -> int:
        """Exponent of the smallest normal number, shared by all subnormal ones."""
        return 1 - self.bias

    @property
    def maximum(self) -> float:
        """The largest finite number."""
        codes = int(2**self.exponent_bits)
        if self.has_infinity:
            return math.ldexp(2 - self.epsilon, codes - 2 - self.bias)
        return math.ldexp(2 - 2 * self.epsilon, codes - 1 - self.bias)

    @property
    def smallest_normal(self) -> float:
        """The smallest positive number with full precision; many kernels flush what is below it to zero."""
        return math.ldexp(1.0, self.minimum_exponent)

    @property
    def smallest_subnormal(self) -> float:
        """The smallest positive number at all."""
        return math.ldexp(1.0, self.minimum_exponent - self.fraction_bits)

    @property
    def epsilon(self) -> float:
        """Distance from 1 to the next larger number."""
        return math.ldexp(1.0, -self.fraction_bits)

    @property
    def decades(self) -> Ratio:
        """Dynamic range of the normal numbers in powers of ten."""
        return math.log10(self.maximum / self.smallest_normal)

    def ulp(self, value: float) -> float:
        """Spacing of the format's numbers around `value` (unit in the last place)."""
        return math.ldexp(1.0, self._quantum_exponent(Fraction(value)))

    def round(self, value: float | Fraction, *, saturate: bool = False) -> float:
        """The nearest number of the format, ties to even.

        Args:
            value: any finite number (a `Fraction` is rounded once, from its exact value), an infinity or NaN.
            saturate: clamp to the largest finite number instead of overflowing, as FP8 training does.

        Returns:
            The rounded value; on overflow an infinity, or NaN in a format without infinities.
        """
        if isinstance(value, float) and (math.isnan(value) or math.isinf(value)):
            if math.isnan(value) or self.has_infinity:
                return value
            return math.copysign(self.maximum, value) if saturate else math.nan
        exact = Fraction(value)
        quantum = self._quantum_exponent(exact)
        scaled = exact / Fraction(2) ** quantum
        rounded = math.ldexp(float(round(scaled)), quantum)
        if abs(rounded) > self.maximum:
            if saturate:
                return math.copysign(self.maximum, rounded)
            return math.copysign(math.inf, rounded) if self.has_infinity else math.nan
        negative = exact < 0 or (isinstance(value, float) and math.copysign(1.0, value) < 0)
        return math.copysign(rounded, -1.0 if negative else 1.0)

    def encode(self, value: float) -> int:
        """The bit pattern of `value` after rounding, as a non-negative integer of `code_bits` bits."""
        rounded = self.round(value)
        sign = 1 if math.copysign(1.0, rounded) < 0 else 0
        top = int(2**self.exponent_bits) - 1
        if math.isnan(rounded):
            fraction = int(2 ** (self.fraction_bits - 1)) if self.has_infinity else int(2**self.fraction_bits) - 1
            return self._pack(sign, top, fraction)
        if math.isinf(rounded):
            return self._pack(sign, top, 0)
        magnitude = abs(rounded)
        if magnitude < self.smallest_normal:
            return self._pack(sign, 0, round(magnitude / self.smallest_subnormal))
        exponent = math.frexp(magnitude)[1] - 1
        fraction = round((magnitude / math.ldexp(1.0, exponent) - 1) * 2**self.fraction_bits)
        return self._pack(sign, exponent + self.bias, fraction)

    def decode(self, code: int) -> float:
        """The number that a bit pattern stands for.

        Raises:
            EngineError: `code` is not an integer of `code_bits` bits.
        """
        if not 0 <= code < 2**self.code_bits:
            raise EngineError("code", code, f"0 to {2**self.code_bits - 1}", {"format": self.name})
        sign = -1.0 if code >> (self.code_bits - 1) else 1.0
        stored = (code >> self.fraction_bits) & (2**self.exponent_bits - 1)
        fraction = code & (2**self.fraction_bits - 1)
        if stored == 2**self.exponent_bits - 1:
            if self.has_infinity:
                return math.copysign(math.inf, sign) if fraction == 0 else math.nan
            if fraction == 2**self.fraction_bits - 1:
                return math.nan
        if stored == 0:
            return sign * math.ldexp(float(fraction), self.minimum_exponent - self.fraction_bits)
        return sign * math.ldexp(1 + fraction * self.epsilon, stored - self.bias)

    def update_vanishes(self, weight: float, update: float) -> bool:
        """Whether adding `update` to a weight stored in this format leaves the weight unchanged.

        The exact sum is rounded once, as a fused add does. This is why pure FP16 training stalls: the update is below
        half the spacing of the weights, so nothing happens, step after step.
        """
        stored = self.round(weight)
        return self.round(Fraction(stored) + Fraction(update)) == stored

    def vanishing_threshold(self, weight: float) -> float:
        """Half the spacing at `weight`: an update of smaller magnitude that enlarges the weight vanishes."""
        return self.ulp(self.round(weight)) / 2

    def _quantum_exponent(self, value: Fraction) -> int:
        """Exponent of the spacing at `value`."""
        if value == 0:
            return self.minimum_exponent - self.fraction_bits
        magnitude = abs(value)
        exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        if Fraction(2) ** exponent > magnitude:
            exponent -= 1
        return max(exponent, self.minimum_exponent) - self.fraction_bits

    def _pack(self, sign: int, exponent: int, fraction: int) -> int:
        return (sign << (self.code_bits - 1)) | (exponent << self.fraction_bits) | fraction


FP32 = FloatFormat(dtypes.FP32)
TF32 = FloatFormat(dtypes.TF32)
FP16 = FloatFormat(dtypes.FP16)
BF16 = FloatFormat(dtypes.BF16)
FP8_E4M3 = FloatFormat(dtypes.FP8_E4M3, has_infinity=False)
FP8_E5M2 = FloatFormat(dtypes.FP8_E5M2)

_BY_NAME = {entry.name: entry for entry in (FP32, TF32, FP16, BF16, FP8_E4M3, FP8_E5M2)}


def float_format(name: str) -> FloatFormat:
    """The format called `name`, e.g. `"fp16"`. Raises `EngineError` for an unknown name."""
    return entry("float format", name, _BY_NAME)


@dataclass(frozen=True, slots=True)
class LossScaleWindow:
    """The loss scales, as powers of two, that keep a range of gradients inside a format.

    `lowest` is the smallest scale at which the smallest gradient is still a normal number, `highest` the largest at
    which the largest gradient does not overflow. When `lowest > highest` no single scale serves both ends.
    """

    lowest: float
    highest: float

    @property
    def exists(self) -> bool:
        """Whether one scale can keep the whole range."""
        return self.lowest <= self.highest


def loss_scale_window(fmt: FloatFormat, smallest_gradient: float, largest_gradient: float) -> LossScaleWindow:
    """Loss scales that keep gradients between two magnitudes normal and finite in `fmt`.

    Args:
        fmt: the format gradients are stored in.
        smallest_gradient: smallest magnitude that must stay a normal number, > 0.
        largest_gradient: largest magnitude that must stay finite, >= smallest_gradient.

    Raises:
        EngineError: magnitudes are not positive, or in the wrong order.

    Source: Micikevicius et al. 2018, "Mixed Precision Training", section 3.2, arXiv 1710.03740.
    """
    if not 0 < smallest_gradient <= largest_gradient:
        raise EngineError(
            "smallest_gradient",
            smallest_gradient,
            "above 0 and at most the largest",
            {"largest_gradient": largest_gradient},
        )
    lowest = math.ceil(math.log2(fmt.smallest_normal / smallest_gradient))
    highest = math.floor(math.log2(fmt.maximum / largest_gradient))
    return LossScaleWindow(math.ldexp(1.0, lowest), math.ldexp(1.0, highest))
