"""Accelerators: data sheet figures, dense peaks, sources."""

from __future__ import annotations

import pytest

from ironlaw import EngineError, accelerator, list_accelerators
from ironlaw.hardware.accelerators import ASSUMABLE

TERA = 1e12


@pytest.mark.parametrize(
    ("name", "dtype", "peak"),
    [
        ("v100-16", "fp16", 125),
        ("v100-32", "fp16", 125),
        ("a100-40", "bf16", 312),
        ("a100-80", "bf16", 312),
        ("h100-sxm", "bf16", 989.4),
        ("h200", "bf16", 989.4),
        ("rtx-4060", "bf16", 30.2),
        ("rtx-4090", "bf16", 165.2),
        ("rtx-5080", "bf16", 112.6),
    ],
)
def test_training_peak_is_dense_and_accumulates_in_fp32(name: str, dtype: str, peak: float) -> None:
    assert accelerator(name).peak(dtype) == pytest.approx(peak * TERA)


MEBIBYTES = {
    "h100-sxm": 81_559,
    "h200": 143_771,
    "b200": 183_359,
    "a100-40": 40_960,
    "a100-80": 81_920,
    "v100-16": 16_384,
    "rtx-4060": 8_188,
    "rtx-4090": 24_564,
    "rtx-5080": 16_303,
}


@pytest.mark.parametrize("name", MEBIBYTES)
def test_memory_is_the_total_that_the_driver_reports(name: str) -> None:
    assert accelerator(name).memory_bytes == MEBIBYTES[name] * 2**20


@pytest.mark.parametrize("name", list_accelerators())
def test_the_number_on_the_box_is_within_a_tenth_of_the_drivers_total(name: str) -> None:
    """Between decimal and binary gigabytes, less what a driver or an error-correcting code keeps."""
    chip = accelerator(name)
    assert 0.95 < chip.memory_bytes / (chip.nominal_gb * 1e9) <= 1.0738
    assert chip.memory_source is not None or not chip.title.startswith("NVIDIA")


def test_a_v100_has_no_bf16() -> None:
    with pytest.raises(
        EngineError,
        match="dtype 'bf16' is not allowed with accumulate fp32 and accelerator v100-16",
    ):
        accelerator("v100-16").peak("bf16")


def test_an_unknown_accelerator_names_the_known_ones() -> None:
    with pytest.raises(EngineError, match=r"^accelerator 'h900' is unknown, did you mean h200\?; allowed: .*h100-sxm"):
        accelerator("h900")


@pytest.mark.parametrize("name", list_accelerators())
def test_every_record_is_sourced_and_has_each_mode_once(name: str) -> None:
    chip = accelerator(name)
    assert chip.sources
    assert all(s.url.startswith("https://") and s.date for s in chip.sources)
    modes = [(p.dtype, p.accumulate) for p in chip.peaks]
    assert len(modes) == len(set(modes))
    assert chip.memory_bytes > 0
    assert chip.bandwidth > 0
    assert chip.tdp > 0
    assert set(chip.assumed) <= set(ASSUMABLE)


def test_no_two_records_describe_the_same_chip() -> None:
    titles = [accelerator(name).title for name in list_accelerators()]
    assert len(titles) == len(set(titles))
