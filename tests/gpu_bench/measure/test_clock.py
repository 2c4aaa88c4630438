"""Windows, the look at the GPU every second, and what becomes of a repeat that something spoiled."""

from __future__ import annotations

import itertools
import json
import time
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import Tensor

from gpu_bench.cases.case import TrainingCase
from gpu_bench.machine.nvml import Gpu, GpuSample, Monitor, summary, throttled
from gpu_bench.measure import clock
from gpu_bench.measure.trace import attention_kernels
from gpu_bench.measure.training import Trainer
from gpu_bench.measure.unsupported import kind_of, told
from gpu_bench.record import rules, shape
from gpu_bench.record.judgement import diverged_at, judged
from tests.gpu_bench.tiny import tiny_case

CPU = torch.device("cpu")


class _Steady:
    """A trainer whose every step takes as long as an imagined clock says."""

    def __init__(self, case: TrainingCase, now: list[float], seconds: float) -> None:
        self.case, self.device, self._now, self._seconds = case, CPU, now, seconds

    def load(self, window: Tensor) -> Tensor:
        return window

    def step(self, window: Tensor) -> Tensor:
        # A little uneven, as real steps are: by two in a thousand.
        self._now[0] += self._seconds * (1 + 0.001 * (int(self._now[0] * 1e3) % 3))
        return torch.zeros(())


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    moment = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: moment[0])
    return moment


def test_windows_last_the_seconds_that_a_case_asks_for(now: list[float]) -> None:
    case = tiny_case(warm_s=10.0, timed_s=30.0, steps=3, warmup=5)
    trainer: Any = _Steady(case, now, 0.5)
    windows = itertools.repeat(torch.zeros(2, 33))
    warm = clock.warm_up(trainer, windows, [])
    assert warm.settled
    assert 10 <= sum(warm.seconds) < 12
    timed = clock.time_steps(trainer, windows, [], None, 0.5)
    assert 30 <= sum(timed.seconds) < 34, "too few samples for a narrow interval, so the whole window"
    assert len(clock.time_steps(cast(Any, _Steady(tiny_case(), now, 0.5)), windows, [], None, 0.5).seconds) == 3


def test_a_window_ends_early_once_the_median_is_known(now: list[float]) -> None:
    trainer: Any = _Steady(tiny_case(timed_s=30.0), now, 0.005)
    timed = clock.time_steps(trainer, itertools.repeat(torch.zeros(2, 33)), [], None, 0.005)
    assert 100 <= len(timed.seconds) < 2000


def test_a_gpu_is_looked_at_while_steps_run_and_mean_and_least_are_kept() -> None:
    samples = iter(
        GpuSample(clock, 2600, 60, 600.0, ("power_cap",)) for clock in itertools.chain([1900, 1500], [1700] * 99)
    )
    gpu = cast(Gpu, SimpleNamespace(sample=lambda: next(samples)))
    with Monitor(gpu, every_s=0.01) as monitor:
        time.sleep(0.2)
    state = summary(monitor.samples)
    assert state is not None
    assert state["samples"] >= 3
    assert (state["sm_clock_mhz"]["minimum"], state["sm_clock_mhz"]["maximum"]) == (1500, 1900)
    assert throttled({**state, "slow_share": 0.1}) is None, "one dip of ten looks says nothing about a median"
    assert "for 20% of the time the GPU's clock was below 90%" in str(throttled({**state, "slow_share": 0.2}))
    clocks = [GpuSample(clock, 2600, 60, 600.0, ()) for clock in [1700] * 8 + [1500] * 2]
    slowed = summary(clocks)
    assert slowed is not None
    assert slowed["slow_share"] == 0.2
    assert list(rules.faults(shape.GpuState, json.loads(json.dumps(slowed)))) == [], "a record may state it"
    with Monitor(None) as nothing:
        pass
    assert summary(nothing.samples) is None


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, "ok"),
        ({"losses": [5.4, None]}, "diverged"),
        ({"losses": [5.4, 900.0]}, "diverged"),
        ({"graphs_while_timed": 1}, "recompiled"),
        ({"settled": False}, "unsettled"),
        ({"losses": [None], "graphs_while_timed": 1, "settled": False}, "diverged"),
    ],
)
def test_a_spoiled_repeat_says_how_it_was_spoiled(changes: dict[str, Any], status: str) -> None:
    timing: dict[str, Any] = {"losses": [5.4, 5.3], "graphs_while_timed": 0, "settled": True, "gpu": None}
    timing["warmup_s"] = [1.0]
    case, repeat = tiny_case(steady=True), timing | changes
    found, message = judged(case, repeat | {"diverged_at": diverged_at(case, repeat["losses"])})
    assert found == status
    assert (message is None) == (status == "ok")


def test_a_run_whose_loss_explodes_is_diverged_and_never_ok() -> None:
    from gpu_bench.measure.repeat import run_repeat

    part = run_repeat(tiny_case(optimizer="sgd", learning_rate=1000.0, clip_norm=None), CPU, 1)
    assert part["status"] == "diverged"
    assert None in part["timing"]["losses"]


def test_the_attention_that_ran_is_named() -> None:
    trainer, window = Trainer(tiny_case(), CPU), torch.randint(256, (2, 33))
    assert attention_kernels(lambda: trainer.step(window), CPU) == ["flash"]
    plain = Trainer(tiny_case(attention="standard"), CPU)
    assert attention_kernels(lambda: plain.step(window), CPU) == []


@pytest.mark.parametrize(
    "text",
    [
        "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        "Triton Error [CUDA]: out of memory",
        "NCCL error: Call to CUDA function failed.\nLast error:\nCuda failure 2 'out of memory'",
        "CUDNN_STATUS_ALLOC_FAILED",
    ],
)
def test_memory_that_runs_out_inside_a_library_or_behind_the_compilers_error_is_oom(text: str) -> None:
    assert kind_of(RuntimeError(text)) == "oom"
    outer = ValueError("backend='inductor' raised: no valid choices")
    outer.__cause__ = RuntimeError(text)
    assert kind_of(outer) == "oom"
    assert told(outer) in text.splitlines()
    assert kind_of(ValueError("backend='inductor' raised: something else")) is None
