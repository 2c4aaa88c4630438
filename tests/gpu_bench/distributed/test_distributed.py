"""Suite 13: every way of spreading a step is the same step; communication is distinguished from computation."""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed, multiprocessing

from gpu_bench.cases.case import case_of
from gpu_bench.cases.suites import SUITES, TINY
from gpu_bench.distributed import measure, rank, strategies
from gpu_bench.distributed.case import NODES, RENDEZVOUS, Meeting, ScalingCase, Strategy, meeting
from gpu_bench.distributed.rank import shares
from gpu_bench.distributed.strategies import Here
from gpu_bench.machine import provenance
from gpu_bench.measure.gpt2 import GPT2, SIZES
from gpu_bench.predict.prediction import step_flops
from gpu_bench.record import load
from gpu_bench.record.derive import derive, work_of
from gpu_bench.run import plan
from gpu_bench.run.isolation import Place
from tests.conftest import FULL
from tests.gpu_bench.tiny import recorded

CASE = ScalingCase(
    name="tiny",
    model="pico",
    precision="fp32",
    strategy="ddp",
    scaling="strong",
    batch=4,
    sequence=32,
    learning_rate=1e-3,
    processes=(1, 2),
    micro_batches=2,
    warmup=1,
    steps=3,
    profiled=1,
)
STRATEGIES: tuple[Strategy, ...] = ("ddp", "fsdp2", "tensor", "pipeline")
CASES = {
    f"{strategy}-{precision}": replace(CASE, strategy=strategy, precision=precision)
    for precision in ("fp32", "amp-bf16")
    for strategy in STRATEGIES
}


def _process(number: int, world: int, folder: str, names: list[str]) -> None:
    """One of `world` processes: runs the named cases and writes what it found."""
    # The loopback interface, because the test must not need a network.
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    store = f"file://{folder}/store-{world}"
    distributed.init_process_group("gloo", init_method=store, rank=number, world_size=world)
    here = Here(number, world, torch.device("cpu"))
    found = {name: rank.measure(CASES[name], here) for name in names}
    if number == 0:
        Path(folder, f"{world}.json").write_text(json.dumps(found), encoding="utf-8")
    distributed.barrier()
    distributed.destroy_process_group()


@pytest.fixture(scope="module")
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    """Number of processes -> case -> what the first process reports."""
    folder = str(tmp_path_factory.mktemp("ranks"))
    context = multiprocessing.get_context("spawn")
    # The short run compares the first strategy and the last; a test that is named may be of any.
    every = FULL or any("::" in argument for argument in request.config.args)
    names = [name for name in CASES if every or name.startswith(STRATEGIES[0]) or name == f"{STRATEGIES[-1]}-fp32"]
    pair = [context.Process(target=_process, args=(number, 2, folder, names)) for number in (0, 1)]
    for process in pair:
        process.start()
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GLOO_SOCKET_IFNAME", "lo")
            _process(0, 1, folder, ["ddp-fp32", "ddp-amp-bf16"])
        for process in pair:
            process.join(900)  # only ends what hangs
    finally:
        for process in pair:
            process.kill()
            process.join()
    assert [process.exitcode for process in pair] == [0, 0]
    return {world: json.loads(Path(folder, f"{world}.json").read_text(encoding="utf-8")) for world in (1, 2)}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.sampled(len(STRATEGIES) - 1)
def test_two_processes_train_exactly_as_one(found: dict[int, dict[str, Any]], strategy: str) -> None:
    alone, together = found[1]["ddp-fp32"]["losses"], found[2][f"{strategy}-fp32"]["losses"]
    assert len(together) == CASE.warmup + CASE.steps + CASE.profiled
    assert alone[-1] < alone[0] - 0.1, "it learns, so clipping, optimizer and gradients matter"
    assert together == pytest.approx(alone, abs=2e-5)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.sampled(len(STRATEGIES))
def test_mixed_precision_trains_alike_up_to_rounding(found: dict[int, dict[str, Any]], strategy: str) -> None:
    alone, together = found[1]["ddp-amp-bf16"]["losses"], found[2][f"{strategy}-amp-bf16"]["losses"]
    assert together == pytest.approx(alone, abs=0.03)
    assert together != found[2][f"{strategy}-fp32"]["losses"], "BF16 rounds"


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.sampled(len(STRATEGIES) - 1)
def test_communication_takes_a_share_of_many_and_nothing_of_one(
    found: dict[int, dict[str, Any]], strategy: str
) -> None:
    assert found[1]["ddp-fp32"]["communication"] == [{"busy": 0.0, "exposed": 0.0}]
    everyone = found[2][f"{strategy}-fp32"]["communication"]
    assert len(everyone) == 2
    assert all(0 < one["exposed"] <= one["busy"] < 1 for one in everyone)


def _event(name: str, category: str, begin: float, end: float, thread: int = 1) -> dict[str, Any]:
    return {"name": name, "cat": category, "ts": begin, "dur": end - begin, "pid": 1, "tid": thread, "ph": "X"}


def test_on_a_gpu_communication_is_nccl_and_computation_may_hide_it() -> None:
    events = [
        _event("gpu_bench: profiled steps", "gpu_user_annotation", 40, 60),
        _event("gpu_bench: profiled steps", "user_annotation", 0, 100),
        _event("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "kernel", 20, 60),
        _event("ampere_bf16_gemm", "kernel", 10, 40),
        _event("Memcpy DtoD", "gpu_memcpy", 55, 58),
        _event("ncclDevKernel_AllGather_RING_LL", "kernel", 90, 120),
        _event("aten::mm", "cpu_op", 60, 90),
    ]
    found = shares(events, "cuda")
    assert found.busy == pytest.approx(0.50), "40 + the 10 of the second that lie in the window"
    assert found.exposed == pytest.approx(0.27), "15 + 2 + 10 not covered by other work"


def test_on_a_cpu_an_operation_that_waits_inside_is_no_computation() -> None:
    events = [
        _event("gpu_bench: profiled steps", "user_annotation", 0, 100),
        _event("aten::outer", "cpu_op", 0, 80),
        _event("aten::inner", "cpu_op", 0, 30),
        _event("gloo:all_reduce", "cpu_op", 20, 70, thread=2),
    ]
    found = shares(events, "cpu")
    assert found.busy == pytest.approx(0.5)
    assert found.exposed == pytest.approx(0.4)


def test_a_failed_launch_is_named_by_its_error() -> None:
    output = "\n".join(
        [
            "[rank1]: Traceback (most recent call last):",
            '[rank1]:   File "rank.py", line 3, in main',
            "[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
            "E1121 failed (exitcode: 1) local_rank: 1",
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        ]
    )
    assert measure._reason(output) == "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."
    assert measure._reason("first\nlast") == "first\nlast"


def test_memory_that_runs_out_in_a_library_is_what_a_failed_launch_tells() -> None:
    output = "\n".join(
        [
            "[rank1]: Traceback (most recent call last):",
            "[rank1]: torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:77, unhandled cuda error",
            "[rank1]: ncclUnhandledCudaError: Call to CUDA function failed.",
            "[rank1]: Last error:",
            "[rank1]: Cuda failure 2 'out of memory'",
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        ]
    )
    assert measure._reason(output) == "Cuda failure 2 'out of memory'"


def test_a_machine_runs_what_it_has_devices_for_and_failures_stay_points(monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(case: ScalingCase, device: str, options: Sequence[str], here: int) -> dict[str, Any]:
        if here > 1:
            raise measure.LaunchError("Cuda failure 2 'out of memory'")
        return {
            "step_s": [0.5, 0.5, 0.5],
            "losses": [2.0],
            "communication": [{"busy": 0.0, "exposed": 0.0}],
            "peak": [None],
        }

    monkeypatch.setattr(measure, "launch", launch)
    monkeypatch.setattr("gpu_bench.machine.provenance.cpu_cores", lambda: 3)
    case = replace(CASE, strategy="fsdp2", scaling="weak", processes=(1, 2, 4))
    report = measure.run_repeat(case, torch.device("cpu"), 0)
    assert [(point["label"], point["status"]) for point in report["points"]] == [
        ("1 process", "ok"),
        ("2 processes", "oom"),
    ]
    assert [work_of(case, point["settings"])["tokens"] for point in report["points"]] == [128, 256]


def test_when_nothing_can_be_launched_the_repeat_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def launch(case: ScalingCase, device: str, options: Sequence[str], here: int) -> dict[str, Any]:
        raise measure.LaunchError("ValueError: no")

    monkeypatch.setattr(measure, "launch", launch)
    with pytest.raises(measure.LaunchError, match="ValueError: no"):
        measure.run_repeat(CASE, torch.device("cpu"), 0)


def test_model_flops_count_the_parameters_of_the_model() -> None:
    model = GPT2(SIZES["pico"])
    multiplied = model.parameter_count() - model.wpe.weight.numel()
    size = SIZES["pico"]
    flops = step_flops(multiplied, size.layers, size.hidden, 32, 4).full
    assert work_of(CASE, {"processes": 2, "batch": 4}) == {"flops": flops, "tokens": 4 * 32}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"strategy": "magic"}, "strategy: 'magic' is unknown; allowed: ddp, fsdp2, tensor, pipeline"),
        ({"precision": "fp8"}, "precision: 'fp8' is unknown; allowed: fp32, amp-bf16"),
        ({"processes": (2, 4)}, "allowed: 1 and at least one more, ascending"),
        ({"strategy": "pipeline", "micro_batches": 3}, "allowed: a divisor of the batch"),
        ({"profiled": 0}, "profiled: 0 is too small; allowed: 1 or more"),
    ],
)
def test_an_impossible_case_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        replace(CASE, **changes)


def test_a_case_survives_being_written_down() -> None:
    assert case_of(ScalingCase, json.loads(json.dumps(CASE.as_dict()))) == CASE


def test_a_machine_with_too_few_devices_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    device = {"type": "cpu", "memory": None}
    place = Place("here", {"device": device, "device_count": 2})
    assert plan.why_unfit(replace(CASE, devices=2), place) is None
    assert plan.why_unfit(replace(CASE, devices=4), place) == "needs 4 devices, there are 2"
    monkeypatch.setenv(NODES, "2")
    monkeypatch.setenv(RENDEZVOUS, "10.0.0.1:29400")
    assert plan.why_unfit(replace(CASE, devices=4), place) is None, "two such machines have four"


@pytest.mark.full
def test_torchrun_measures_two_processes_into_a_valid_record(
    found: dict[int, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    if (provenance.cpu_cores() or 1) < 2:
        pytest.skip("one core: a second process has nowhere to run")
    launch = measure.launch
    # One process was measured above, in the same way but for the launcher.
    monkeypatch.setattr(
        measure,
        "launch",
        lambda case, device, options, here: found[1]["ddp-fp32"] if here == 1 else launch(case, device, options, here),
    )
    case = replace(CASE, devices=2, repeats=1)
    # The processes end when standard input does.
    end, beginning = os.pipe()
    with os.fdopen(end) as standard_input, os.fdopen(beginning, "w"):
        monkeypatch.setattr(sys, "stdin", standard_input)
        record = recorded("trial", case)
    assert load.faults(record) == []
    record = derive(record)
    alone, together = record["points"]
    assert (alone["settings"]["processes"], together["settings"]["processes"]) == (1, 2)
    assert together["losses"] == pytest.approx(alone["losses"], abs=2e-5)
    assert alone["shares"]["communication"] == 0
    assert 0 < together["shares"]["communication_exposed"] <= together["shares"]["communication"] < 1
    assert all(len(point["samples_s"][0]) == CASE.steps for point in (alone, together))


def _quiet_port() -> int:
    """A free port that no system gives to whoever asks for any: it must stay free until two processes have started."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("a hundred ports are taken")


@pytest.mark.full
def test_two_machines_that_meet_at_an_address_train_as_one_and_both_have_the_report(
    found: dict[int, dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    together = Meeting(f"127.0.0.1:{_quiet_port()}", 2)
    options = together.options(2, "trial")
    end, beginning = os.pipe()
    with os.fdopen(end) as standard_input, os.fdopen(beginning, "w"), ThreadPoolExecutor(2) as machines:
        monkeypatch.setattr(sys, "stdin", standard_input)
        one, other = machines.map(lambda _: measure.launch(CASE, "cpu", options, 1), range(2))
    assert one["losses"] == other["losses"] == pytest.approx(found[1]["ddp-fp32"]["losses"], abs=2e-5)


def test_machines_meet_for_several_processes_and_measure_one_by_themselves() -> None:
    together = Meeting("10.0.0.1:29400", 2)
    assert together.options(1, "a") == Meeting().options(1, "a")
    assert {"--nnodes=2", "--nproc-per-node=4", "--rdzv-endpoint=10.0.0.1:29400"} < set(together.options(8, "a"))


@pytest.mark.parametrize(("nodes", "address"), [("0", "host:1"), ("two", "host:1"), ("2", ""), ("2", ":29400")])
def test_a_meeting_without_machines_or_address_is_refused(
    nodes: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NODES, nodes)
    monkeypatch.setenv(RENDEZVOUS, address)
    with pytest.raises(ValueError, match="allowed"):
        meeting()


def test_the_suite_measures_the_best_recipe_compiled_and_fused() -> None:
    assert all(isinstance(case, ScalingCase) and case.compile == "default" for case in SUITES["scaling"])
    case = next(case for case in TINY["scaling-tiny"] if isinstance(case, ScalingCase))
    for one, compiled in ((case, False), (replace(case, compile="default"), True)):
        model = strategies.make_model(one, torch.device("meta"))
        assert all((block._compiled_call_impl is not None) == compiled for block in model.blocks)
        assert strategies.make_optimizer(model.parameters(), 1e-4).defaults["fused"] is True
