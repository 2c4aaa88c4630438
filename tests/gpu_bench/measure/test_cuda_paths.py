"""What only a GPU runs, as far as a CPU can follow it: arguments, layouts, the driver's structures, errors' words."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from ctypes import c_uint, c_ulonglong
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel

from gpu_bench.cases.kinds import RooflineCase
from gpu_bench.input_pipeline.case import Loader
from gpu_bench.input_pipeline.loading import make_loader
from gpu_bench.machine import device, doctor, nvml
from gpu_bench.measure import clock, memory, roofline
from gpu_bench.measure.gpt2 import KERNELS
from gpu_bench.measure.techniques.fp8 import DelayedLinear
from gpu_bench.measure.unsupported import kind_of, told
from gpu_bench.record.derive import _energy
from tests.gpu_bench.fp8_products import pytorchs
from tests.gpu_bench.tiny import tiny_case

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)


def test_the_gpu_has_a_number_which_limiting_its_memory_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`set_per_process_memory_fraction` is PyTorch's own; it refuses a device without a number."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    gpu = device.resolve_device("cuda")
    assert gpu == device.resolve_device("auto") == GPU
    limits: list[tuple[float, int]] = []
    monkeypatch.setattr("torch.cuda.memory._lazy_init", lambda: None)
    monkeypatch.setattr(torch._C, "_cuda_setMemoryFraction", lambda *given: limits.append(given), raising=False)
    monkeypatch.setattr(torch.cuda, "init", lambda: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda where: None)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda where: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda where: SimpleNamespace(total_memory=80 * 2**30))
    monkeypatch.setattr(memory, "open_nvml", lambda where: SimpleNamespace(process_memory=lambda: 2**30))
    assert memory.limit_memory(gpu, 16 * 2**30) == 2**30
    assert limits == [(15 / 80, 0)]
    with pytest.raises(ValueError, match=r"a card of 96\.0 GiB cannot be emulated on one of 80\.0 GiB"):
        memory.limit_memory(gpu, 96 * 2**30)


@pytest.fixture
def as_on_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch checks FP8 products of fake tensors as it does on a GPU: layouts and sides that tensor cores take."""
    monkeypatch.setattr("torch._meta_registrations.device_hint", lambda tensor: "cuda")
    monkeypatch.setattr(torch, "_scaled_mm", pytorchs)


@pytest.mark.usefixtures("as_on_cuda")
def test_all_three_fp8_products_have_the_layout_that_tensor_cores_take() -> None:
    def through(layer: nn.Module, gradient: Callable[[Tensor], Tensor]) -> Tensor:
        x = torch.empty(2, 32, 64, requires_grad=True)
        y: Tensor = layer(x)
        y.backward(gradient(y))  # type: ignore[no-untyped-call]
        assert x.grad is not None
        return x.grad

    with FakeTensorMode():
        layer = DelayedLinear(nn.Linear(64, 48), fast=False)
        for gradient in (torch.empty_like, lambda y: torch.empty(48, 32, 2).permute(2, 1, 0).to(y.dtype)):
            assert through(layer, gradient).shape == (2, 32, 64)
        with pytest.raises(RuntimeError, match="divisible by 16"):
            layer(torch.empty(1, 5, 64)).sum().backward()


@pytest.mark.usefixtures("as_on_cuda")
def test_measured_fp8_products_have_that_layout_too() -> None:
    with FakeTensorMode():
        assert cast(Tensor, roofline.multiplication(CPU, "fp8", (64, 64, 64))()).shape == (64, 64)
        case = RooflineCase(name="one", part="matmul", formats=("fp8",), shapes=("64x48x32",))
        (one,) = roofline.operations(case, CPU)
        assert cast(Tensor, one.build()()).shape == (64, 48)


def test_every_attention_kernel_is_one_that_pytorch_can_be_told_to_use() -> None:
    for kernels in KERNELS.values():
        assert set(kernels) <= set(SDPBackend.__members__.values())
        with sdpa_kernel(list(kernels) or [SDPBackend.MATH]):
            pass


@pytest.mark.parametrize(
    ("text", "kind", "line"),
    [
        ("CUDA error: out of memory\nCUDA kernel errors might be asynchronous", "oom", "CUDA error: out of memory"),
        (
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
            "oom",
            "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
        ),
        ("No available kernel. Aborting execution.", "unsupported", "No available kernel. Aborting execution."),
        (
            "cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph.",
            "unsupported",
            "cuDNN Frontend error: [cudnn_frontend] Error: No execution plans support the graph.",
        ),
        (
            "backend='inductor' raised:\nRuntimeError: Failed to find C compiler. Please specify via CC.",
            "unsupported",
            "RuntimeError: Failed to find C compiler. Please specify via CC.",
        ),
        ("CUDA error: an illegal memory access was encountered", None, "CUDA error: an illegal memory access was"),
    ],
)
def test_errors_of_the_gpu_are_results_where_they_say_what_does_not_fit(text: str, kind: str | None, line: str) -> None:
    error = RuntimeError(text)
    assert kind_of(error) == kind
    assert told(error).startswith(line)


def test_pytorchs_own_error_for_a_full_gpu_is_a_result() -> None:
    assert kind_of(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")) == "oom"


def test_only_a_gpu_gets_pinned_batches() -> None:
    pinned = Loader("tokens", 0, 2, pinned=True)
    assert make_loader(pinned, 256, batch=1, sequence=8, device=GPU).pin_memory
    assert not make_loader(pinned, 256, batch=1, sequence=8, device=CPU).pin_memory


class _Driver:
    """Stands for the driver's library, with the calls in use: it writes its answers where the arguments point."""

    def __init__(self, uuids: tuple[str, ...] = (), processes: tuple[tuple[int, int], ...] = ()) -> None:
        self._uuids, self._processes = uuids, processes

    def nvmlDeviceGetHandleByUUID(self, uuid: Any, handle: Any) -> int:  # noqa: N802 - the library's name
        return 0 if uuid.value.decode() in self._uuids else 2

    def nvmlDeviceGetTotalEnergyConsumption(self, handle: Any, value: Any) -> int:  # noqa: N802
        ctypes.cast(value, ctypes.POINTER(c_ulonglong))[0] = 7_500
        return 0

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Any, value: Any) -> int:  # noqa: N802
        ctypes.cast(value, ctypes.POINTER(c_ulonglong))[0] = 0x44
        return 0

    def nvmlDeviceGetPowerUsage(self, handle: Any, value: Any) -> int:  # noqa: N802
        ctypes.cast(value, ctypes.POINTER(c_uint))[0] = 650_000
        return 0

    def nvmlDeviceGetComputeRunningProcesses_v3(self, handle: Any, count: Any, infos: Any) -> int:  # noqa: N802
        for index, (pid, held) in enumerate(self._processes):
            infos[index] = nvml._ProcessInfo(pid, held, 0, 0)
        ctypes.cast(count, ctypes.POINTER(c_uint))[0] = len(self._processes)
        return 0


def _gpu(driver: _Driver) -> nvml.Gpu:
    return nvml.Gpu(cast(ctypes.CDLL, driver), ctypes.c_void_p())


def test_readings_of_the_driver_come_in_si_units_and_what_it_lacks_is_null() -> None:
    gpu = _gpu(_Driver())
    assert gpu.energy_j() == 7.5
    sample = gpu.sample()
    assert (sample.power_w, sample.throttle_reasons) == (650.0, ("power_cap", "hardware_thermal"))
    assert (sample.sm_clock_mhz, sample.temperature_c, gpu.utilization()) == (None, None, None)


def test_the_drivers_table_of_processes_has_the_layout_of_its_header() -> None:
    # nvml.h, nvmlProcessInfo_t: unsigned int, unsigned long long, unsigned int, unsigned int.
    assert ctypes.sizeof(nvml._ProcessInfo) == 24
    assert nvml._ProcessInfo.memory.offset == 8
    gpu = _gpu(_Driver(processes=((os.getpid(), 5 * 2**30), (1, nvml._NOT_AVAILABLE))))
    assert gpu.processes() == {os.getpid(): 5 * 2**30, 1: None}
    assert gpu.process_memory() == 5 * 2**30


@pytest.mark.parametrize("prefix", ["GPU-", "MIG-"])
def test_a_gpu_or_a_part_of_one_is_found_by_what_pytorch_calls_it(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    uuid = "0123abcd-0000-1111-2222-0123456789ab"
    monkeypatch.setattr(nvml, "_library", lambda: _Driver(uuids=(prefix + uuid,)))
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda where: SimpleNamespace(uuid=uuid))
    assert device.open_nvml(GPU) is not None
    monkeypatch.setattr(nvml, "_library", lambda: _Driver(uuids=("GPU-another",)))
    assert device.open_nvml(GPU) is None


@pytest.mark.parametrize(
    ("listed", "others"), [((), 0), ((4711,), 0), ((4711, 4712), 1)], ids=["hidden", "own, by another number", "two"]
)
def test_the_doctor_does_not_take_itself_for_another_process(
    listed: tuple[int, ...], others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inside a container the driver lists no process, or this one by its number outside."""
    monkeypatch.setattr(doctor, "_LOOK_S", 0.0)
    findings = doctor._gpu_findings(_gpu(_Driver(processes=tuple((pid, 2**30) for pid in listed))))
    assert doctor.Finding(not others, f"{others} other processes on the GPU") in list(findings)


def test_the_doctor_counts_a_gpu_as_busy_when_it_is_so_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_LOOK_S", 0.0)
    for readings, least in (([0.3, 0.0, 0.2, 0.1, 0.4], 0.0), ([0.9] * 5, 0.9), ([None], None)):
        shown = iter(readings)
        gpu = SimpleNamespace(utilization=lambda shown=shown: next(shown))
        assert doctor._least_use(cast(nvml.Gpu, gpu)) == least


def test_steps_are_timed_between_events_and_the_host_waits_once(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    class Event:
        """The device's clock ticks 5 ms a step."""

        recorded = 0

        def __init__(self, *, enable_timing: bool) -> None:
            assert enable_timing
            self.at = -1

        def record(self) -> None:
            self.at, Event.recorded = Event.recorded, Event.recorded + 1

        def elapsed_time(self, end: Event) -> float:
            assert done[-1] == "wait", "before the host has waited, the device has not come so far"
            return 5.0 * (end.at - self.at)

    def step(window: Tensor) -> Tensor:
        done.append("step")
        return torch.zeros(())

    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda *where: done.append("wait"))
    monkeypatch.setattr(torch.cuda, "reset_peak_memory_stats", lambda where: done.append("reset"))
    trainer: Any = SimpleNamespace(device=GPU, case=tiny_case(steps=4), step=step, load=lambda window: window)
    losses: list[Tensor] = []
    timed = clock.time_steps(trainer, iter(torch.zeros(4, 2, 33)), losses, None, 0.005)
    assert timed.seconds == [0.005] * 4
    assert len(losses) == 4
    assert done == ["reset", *["step"] * 4, "wait"]


def test_energy_is_the_difference_of_the_counter_over_at_least_half_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now, steps = [0.0], [0]
    counter = iter([100.0, 100.0 + 31.5 * 600.0])

    def step(window: Tensor) -> None:
        steps[0] += 1
        now[0] += 0.5

    monkeypatch.setattr("gpu_bench.measure.clock.time.perf_counter", lambda: now[0])
    monkeypatch.setattr(torch.cuda, "synchronize", lambda where: None)
    trainer: Any = SimpleNamespace(device=GPU, case=tiny_case(), step=step, load=lambda window: window)
    gpu: Any = SimpleNamespace(energy_j=lambda: next(counter))
    found = clock.measure_energy(trainer, torch.zeros(2, 33), gpu, 0.5, wanted_s=1.0)
    assert steps[0] == found["steps"] == 63, "30 s and 5 % more, at half a second a step"
    derived = _energy(tiny_case(), found)
    assert derived["mean_power_w"] == pytest.approx(600.0)
    assert derived["per_token_j"] == pytest.approx(31.5 * 600.0 / (63 * 64))
    assert set(clock.measure_energy(trainer, torch.zeros(2, 33), None, 0.5, wanted_s=1.0).values()) == {None}
