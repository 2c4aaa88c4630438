"""Suite 9: points carry the arithmetic and the bytes of their operation, and what cannot run says so."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from gpu_bench.cases.case import case_of
from gpu_bench.cases.kinds import RooflineCase
from gpu_bench.cases.suites import TINY
from gpu_bench.cases.techniques import ROOFLINE
from gpu_bench.measure import roofline, stopwatch
from gpu_bench.measure.roofline import operations
from gpu_bench.measure.stopwatch import timed_rounds
from gpu_bench.record import load
from gpu_bench.run import runner
from ironlaw.time import matmul_intensity

CPU = torch.device("cpu")
OPERATIONS = RooflineCase(name="ops", part="operations", formats=("fp32",), model="pico", batch=2, sequence=16)


def test_a_product_s_arithmetic_and_bytes_are_those_of_its_shape() -> None:
    case = RooflineCase(name="one", part="matmul", formats=("bf16", "fp32"), shapes=("48x64x32",), rounds=2)
    bf16, fp32 = roofline.run_repeat(case, CPU, 0)["points"]
    assert bf16["settings"] == {"operation": "matmul", "format": "bf16", "m": 48, "n": 64, "k": 32}
    assert bf16["work"]["flops"] == 2 * 48 * 64 * 32
    assert bf16["work"]["flops"] / bf16["work"]["bytes"] == pytest.approx(matmul_intensity(48, 64, 32, 2))
    assert fp32["work"]["bytes"] == 2 * bf16["work"]["bytes"]
    assert len(fp32["samples_s"]) == 2


def test_products_that_a_device_has_not_are_results_with_a_reason() -> None:
    case = RooflineCase(name="one", part="matmul", formats=("tf32", "fp8"), shapes=("16x16x16",))
    points = roofline.run_repeat(case, CPU, 0)["points"]
    assert [(point["status"], point["samples_s"]) for point in points] == [("unsupported", [])] * 2
    assert "tensor cores" in points[0]["message"]


def test_on_a_gpu_formats_need_their_generation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (8, 0))
    gpu = torch.device("cuda")
    assert roofline.why_unsupported({"format": "fp8"}, gpu) == "fp8 needs compute capability 8.9; this GPU has 8.0"
    assert roofline.why_unsupported({"format": "tf32"}, gpu) is None
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device=None: (9, 0))
    assert "multiples of 16" in str(roofline.why_unsupported({"format": "fp8", "m": 16, "n": 50257, "k": 16}, gpu))
    assert roofline.why_unsupported({"format": "fp8", "m": 16, "n": 50304, "k": 16}, gpu) is None


def test_a_copy_reads_and_writes_every_byte() -> None:
    case = RooflineCase(name="copies", part="copy", sizes=(4096, 8192), rounds=2)
    assert [point["work"]["bytes"] for point in roofline.run_repeat(case, CPU, 0)["points"]] == [8192, 16384]


def test_products_of_the_step_have_the_flops_that_pytorch_counts() -> None:
    counted: Counter[str] = Counter()
    planned: dict[str, int] = {}
    for one in operations(OPERATIONS, CPU):
        call = one.build()
        # Attention as separate products, because the counter does not know the CPU's fused kernel.
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            call()
        counted[one.point.label], planned[one.point.label] = counter.get_total_flops(), one.point.work["flops"] or 0
    assert counted["fp32 linear, C to 4C"] == planned["fp32 linear, C to 4C"]
    # PyTorch counts the whole square of scores, the causal half is what is needed.
    assert counted["fp32 attention, fused"] == 2 * planned["fp32 attention, fused"]


def _works(case: RooflineCase) -> dict[str, dict[str, int]]:
    return {str(one.settings["operation"]): {k: v or 0 for k, v in one.work.items()} for one in case.points()}


def test_operations_move_at_least_their_inputs_and_results() -> None:
    found, halved = (_works(replace(OPERATIONS, formats=(name,))) for name in ("fp32", "bf16"))
    tokens, hidden = 2 * 16, 64
    assert found["addition"]["bytes"] == 3 * 4 * tokens * hidden
    assert found["layer norm"]["bytes"] == 2 * 4 * tokens * hidden
    intensity = {name: work["flops"] / work["bytes"] for name, work in found.items()}
    assert intensity["linear, C to 4C"] > 4 * intensity["GELU"]
    assert halved["addition"]["bytes"] * 2 == found["addition"]["bytes"]
    assert "AdamW update" not in halved, "the update is in FP32 whatever the products are in"


def test_a_sample_is_the_time_of_one_call() -> None:
    calls = 0

    def call() -> None:
        nonlocal calls
        calls += 1

    samples = timed_rounds(call, CPU, 5)
    assert len(samples) == 5
    assert calls > 100, "a call of nanoseconds is repeated within a sample"
    assert max(samples) < 1e-3


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"part": "sum"}, "part: 'sum' is unknown; allowed: matmul, copy, operations"),
        ({"formats": ("int4",)}, "formats/0: 'int4' is unknown; allowed: fp32, tf32, bf16, fp16, fp8"),
        ({"part": "matmul", "shapes": ("8x8",)}, "shapes/0: '8x8' is no such text; allowed: "),
        ({"part": "matmul"}, "allowed: shapes with matmul"),
        ({"sizes": (64,)}, "and sizes with copy"),
    ],
)
def test_an_impossible_case_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        replace(OPERATIONS, **changes)


def test_cases_survive_being_written_down() -> None:
    for case in ROOFLINE:
        assert case_of(RooflineCase, json.loads(json.dumps(case.as_dict()))).as_dict() == case.as_dict()


def test_the_tiny_suite_leaves_valid_records(tmp_path: Path) -> None:
    chosen = [case for case in TINY["roofline-tiny"] if case.name == "roofline-operations-gpt2-xl"]
    assert runner.run([("roofline-tiny", case) for case in chosen], runner.Settings("cpu", tmp_path)) == 0
    (file,) = tmp_path.rglob("*.json")
    assert load.file_faults(file) == []
    record, _ = load.read(file)
    assert record is not None
    points = record["points"]
    assert all(point["rates"]["bytes_per_s"] > 0 for point in points)


def test_a_gpu_is_busy_with_a_product_for_long_enough_that_its_clock_is_that_of_training(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A sample of 2 ms ends before the power limit lowers the clock."""
    now = [0.0]

    def call() -> None:
        now[0] += 0.001

    monkeypatch.setattr(stopwatch, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    samples = timed_rounds(call, CPU, 20, roofline.BUSY_S["cuda"])
    assert len(samples) == 20
    assert now[0] >= 0.8, "0.4 s before, and 0.4 s while it is timed"
    asked: list[float] = []

    def noted(call: Any, device: torch.device, rounds: int, busy_s: float) -> list[float]:
        asked.append(busy_s)
        return [1.0]

    monkeypatch.setattr(roofline, "timed_rounds", noted)
    case = RooflineCase(name="x", part="matmul", formats=("fp32",), shapes=("64x64x64",), rounds=1)
    roofline.run_repeat(case, CPU, 0)
    assert asked == [roofline.BUSY_S["cpu"]]
