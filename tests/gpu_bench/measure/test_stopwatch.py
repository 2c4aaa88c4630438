"""Times between marks, by the clock of the device."""

from __future__ import annotations

import time

import pytest
import torch

from gpu_bench.measure.stopwatch import Stopwatch

on_a_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.mark.parametrize("name", ["cpu", pytest.param("cuda", marks=on_a_gpu)])
def test_one_time_between_two_marks(name: str) -> None:
    watch = Stopwatch(torch.device(name))
    assert watch.seconds() == []
    watch.mark()
    assert watch.seconds() == []
    for _ in range(3):
        watch.mark()
    times = watch.seconds()
    assert len(times) == 3
    assert all(0 <= one < 1 for one in times)


def test_on_a_cpu_a_time_is_as_long_as_the_work() -> None:
    watch = Stopwatch(torch.device("cpu"))
    before = time.perf_counter()
    watch.mark()
    began = time.perf_counter()
    time.sleep(0.05)
    inside = time.perf_counter() - began
    watch.mark()
    time.sleep(0.05)
    whole = time.perf_counter() - before
    assert inside <= watch.seconds()[0] < whole - 0.05, "what happens after the last mark does not count"


@on_a_gpu
def test_on_a_gpu_a_time_is_the_devices_and_not_the_hosts() -> None:
    matrix = torch.randn(8192, 8192, device="cuda")
    matrix @ matrix
    torch.cuda.synchronize()
    watch = Stopwatch(torch.device("cuda"))
    began = time.perf_counter()
    watch.mark()
    for _ in range(10):
        matrix @ matrix
    watch.mark()
    launched = time.perf_counter() - began
    assert watch.seconds()[0] > launched
