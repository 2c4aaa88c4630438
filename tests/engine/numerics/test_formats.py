"""Floating-point formats against PyTorch's own and against IEEE 754."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.core.errors import EngineError
from ironlaw.numerics.formats import (
    BF16,
    FP8_E4M3,
    FP8_E5M2,
    FP16,
    FP32,
    TF32,
    FloatFormat,
    float_format,
    loss_scale_window,
)

TORCH = {
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp8-e4m3": torch.float8_e4m3fn,
    "fp8-e5m2": torch.float8_e5m2,
}
ALL = [FP32, FP16, BF16, FP8_E4M3, FP8_E5M2]
finite = st.floats(allow_nan=False, allow_infinity=False, width=32)


@pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)
def test_limits_equal_torch_finfo(fmt: FloatFormat) -> None:
    info = torch.finfo(TORCH[fmt.name])
    assert fmt.maximum == info.max
    assert fmt.smallest_normal == info.smallest_normal
    assert fmt.epsilon == info.eps


def test_smallest_subnormals_are_those_of_the_standards() -> None:
    assert FP16.smallest_subnormal == 2.0**-24
    assert BF16.smallest_subnormal == 2.0**-133
    assert FP32.smallest_subnormal == 2.0**-149
    assert FP8_E4M3.smallest_subnormal == 2.0**-9
    assert FP8_E5M2.smallest_subnormal == 2.0**-16


@pytest.mark.parametrize("fmt", [FP16, BF16, FP8_E4M3, FP8_E5M2], ids=lambda fmt: fmt.name)
def test_every_code_decodes_to_torchs_value_and_encodes_back(fmt: FloatFormat) -> None:
    integer = torch.uint8 if fmt.code_bits == 8 else torch.int16
    codes = torch.arange(2**fmt.code_bits).to(integer)
    expected = codes.view(TORCH[fmt.name]).to(torch.float64).tolist()
    for code, value in enumerate(expected):
        ours = fmt.decode(code)
        if math.isnan(value):
            assert math.isnan(ours)
        else:
            assert ours == value
            assert fmt.encode(ours) == code


@pytest.mark.parametrize("fmt", ALL, ids=lambda fmt: fmt.name)
@given(value=finite)
def test_rounding_equals_torch_casting(fmt: FloatFormat, value: float) -> None:
    cast = torch.tensor(value, dtype=torch.float32).to(TORCH[fmt.name]).to(torch.float64).item()
    # torch clamps what overflows E4M3, the format without infinities, to its largest number.
    assert fmt.round(value, saturate=not fmt.has_infinity) == cast


@given(value=finite)
def test_tf32_keeps_fp32_range_and_fp16_spacing(value: float) -> None:
    rounded = TF32.round(value)
    if math.isfinite(rounded):
        assert TF32.round(rounded) == rounded
        assert abs(rounded - value) <= TF32.ulp(value) / 2
    assert TF32.smallest_normal == FP32.smallest_normal
    assert TF32.epsilon == FP16.epsilon


@given(weight=st.floats(0.0078125, 1, width=16), update=st.floats(-(2.0**-10), 2.0**-10, width=32))
def test_vanishing_agrees_with_torch_fp16_addition(weight: float, update: float) -> None:
    half = torch.tensor(weight, dtype=torch.float64)
    summed = (half + update).to(torch.float16).item()
    assert FP16.update_vanishes(weight, update) == (summed == weight)


def test_fp16_update_of_1e_4_vanishes_at_one_but_not_in_fp32() -> None:
    assert FP16.update_vanishes(1.0, 1e-4)
    assert BF16.update_vanishes(1.0, 1e-3)
    assert not FP32.update_vanishes(1.0, 1e-4)
    assert FP16.vanishing_threshold(1.0) == 2.0**-11


def test_overflow_goes_to_infinity_except_in_e4m3() -> None:
    assert FP16.round(65520) == math.inf
    assert FP16.round(65519) == FP16.maximum
    assert FP16.round(1e6) == math.inf
    assert math.isnan(FP8_E4M3.round(1e3))
    assert FP8_E4M3.round(1e3, saturate=True) == 448


def test_gradients_below_half_the_smallest_subnormal_underflow() -> None:
    assert FP16.round(2.0**-25) == 0
    assert FP16.round(2.0**-25 * 1.01) > 0
    assert BF16.round(1e-10) > 0


def test_loss_scale_window_keeps_both_ends() -> None:
    window = loss_scale_window(FP16, 1e-7, 1.0)
    assert window.exists
    assert window.lowest * 1e-7 >= FP16.smallest_normal
    assert window.highest * 1.0 <= FP16.maximum
    assert not loss_scale_window(FP16, 1e-10, 1e3).exists


def test_bad_input_is_one_line() -> None:
    with pytest.raises(EngineError, match="allowed: fp32"):
        float_format("fp12")
    with pytest.raises(EngineError, match="it must be 0 to 255"):
        FP8_E4M3.decode(256)
    with pytest.raises(EngineError, match="it must be above 0 and at most the largest"):
        loss_scale_window(FP16, 1.0, 0.1)
