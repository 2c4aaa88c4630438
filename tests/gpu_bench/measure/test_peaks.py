"""Peaks: taken from the engine's sourced data for exact names, unknown for anything else."""

from __future__ import annotations

import pytest
import torch

from gpu_bench.machine.chips import specified_peak
from gpu_bench.measure.roofline import matmul_ceilings
from gpu_bench.record.derive import ceiling
from ironlaw.hardware.accelerators import DRIVER_NAMES, list_accelerators


def test_every_device_name_leads_to_an_accelerator_of_the_engine() -> None:
    assert set(DRIVER_NAMES.values()) <= set(list_accelerators())


def test_h100_peaks_are_dense_not_sparse() -> None:
    assert specified_peak("NVIDIA H100 80GB HBM3", "amp-bf16") == pytest.approx(989e12, rel=1e-2)
    assert specified_peak("NVIDIA H100 80GB HBM3", "fp32") == pytest.approx(67e12, rel=2e-2)


@pytest.mark.parametrize("name", [None, "AMD EPYC", "NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA H100"])
def test_unknown_device_has_no_peak_rather_than_zero(name: str | None) -> None:
    assert specified_peak(name, "amp-bf16") is None


def test_mode_that_a_chip_lacks_has_no_peak() -> None:
    assert specified_peak("Tesla V100-SXM2-32GB", "amp-bf16") is None


def test_measured_matmul_lies_between_a_pocket_calculator_and_a_data_center() -> None:
    found = matmul_ceilings(torch.device("cpu"), "fp32", [(64, 32, 48), (128, 128, 128)])
    assert [(one["m"], one["n"], one["k"]) for one in found] == [(64, 32, 48), (128, 128, 128)]
    best = ceiling(found, "fp32")
    assert best == max(one["flops_per_s"] for one in found)
    assert best is not None
    assert 1e7 < best < 1e15
    assert ceiling(found, "fp8") is None


def test_an_fp8_ceiling_accumulates_fast_in_one_product_of_three() -> None:
    found = [
        {"format": "fp8", "fast_accumulation": fast, "flops_per_s": rate} for fast, rate in ((True, 6.0), (False, 3.0))
    ]
    assert ceiling(found, "fp8") == pytest.approx(3 / (1 / 6 + 2 / 3))
