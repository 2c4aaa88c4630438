"""What a device may call itself."""

from __future__ import annotations

import pytest

from gpu_bench.machine.chips import chip_of, nearly_known
from ironlaw.hardware.accelerators import DRIVER_NAMES


@pytest.mark.parametrize(
    "name", ["NVIDIA  H200", "nvidia h200", "NVIDIA\u200b H200", "NVIDIA\u200bH200", "NVIDIA(R) H200", "NVIDIA-H200 "]
)
def test_another_spelling_of_a_known_chip_is_that_chip(name: str) -> None:
    assert chip_of(name) is None
    assert nearly_known(name) == "NVIDIA H200"


def test_proper_and_unknown_names_are_nobody_elses() -> None:
    assert [nearly_known(name) for name in (*DRIVER_NAMES, "NVIDIA H300", "", None)] == [None] * (len(DRIVER_NAMES) + 3)
