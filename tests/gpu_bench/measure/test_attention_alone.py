"""Attention alone: variants compute the same, points carry their work, and what a device cannot do is a result."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Any

import pytest
import torch

from gpu_bench.cases.case import Case
from gpu_bench.cases.kinds import AttentionCase
from gpu_bench.measure import attention
from gpu_bench.record.load import file_faults, read
from gpu_bench.run import runner

CPU = torch.device("cpu")


def _case(**changes: Any) -> AttentionCase:
    fields: dict[str, Any] = {
        "name": "points", "variants": ("standard", "flash"), "sizes": (16,),
        "formats": ("fp32",), "heads": 2, "head_size": 8, "rounds": 2, "repeats": 1,
    }  # fmt: skip
    return AttentionCase(**{**fields, **changes})


def test_attention_in_memory_and_fused_attention_agree_forward_and_backward() -> None:
    qkv = tuple(torch.randn(2, 3, 33, 8, requires_grad=True) for _ in range(3))
    gradient = torch.randn(2, 3, 33, 8)
    results = []
    for variant in ("standard", "flash"):
        out = attention.attention(variant, 33, CPU)(qkv)
        results.append((out, *torch.autograd.grad(out, qkv, gradient)))
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def test_work_of_attention_is_that_of_its_products_over_the_causal_half() -> None:
    case = _case(batch=3)
    setting: dict[str, Any] = {"variant": "flash", "format": "bf16", "size": 128}
    # Two products forward, four backward; each multiplies and adds B H T T D times, half of it causal.
    products = 3 * 2 * 128 * 128 * 8 * 2 / 2
    assert case.work_of({**setting, "pass": "forward"}) == {"flops": 2 * products, "tokens": 3 * 128}
    assert case.work_of({**setting, "pass": "backward"}) == {"flops": 4 * products, "tokens": 3 * 128}


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 4),
        ({"sizes": (16, 32), "formats": ("fp32", "bf16")}, 16),
    ],
)
def test_every_setting_has_a_forward_and_a_backward_point(changes: dict[str, Any], count: int) -> None:
    points = attention.run_repeat(_case(**changes), CPU, 0)["points"]
    assert len(points) == len({point["label"] for point in points}) == count
    assert {point["settings"]["pass"] for point in points} == {"forward", "backward"}
    for point in points:
        assert point["status"] == "ok"
        assert len(point["samples_s"]) == 2
        assert all(second > 0 for second in point["samples_s"])


def test_a_kernel_that_a_cpu_lacks_is_unsupported_and_the_others_go_on() -> None:
    points = attention.run_repeat(_case(variants=("cudnn", "standard")), CPU, 0)["points"]
    status = {(point["settings"]["variant"], point["settings"]["pass"]): point["status"] for point in points}
    assert status[("cudnn", "forward")] == status[("cudnn", "backward")] == "unsupported"
    assert status[("standard", "forward")] == "ok"


def test_a_size_that_does_not_fit_is_a_point_of_the_record(tmp_path: Path) -> None:
    def limit(case: Case, pid: int) -> None:
        resource.prlimit(pid, resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))

    case = _case(variants=("standard",), sizes=(64, 2**17), heads=1, rounds=1)
    assert runner.run([("trial", case)], runner.Settings("cpu", tmp_path, on_start=limit)) == 0
    (file,) = tmp_path.rglob("*.json")
    assert file_faults(file) == []
    record, _ = read(file)
    assert record is not None
    assert [point["status"] for point in record["points"]] == ["ok", "ok", "oom", "oom"]
    assert "can't allocate memory" in record["points"][2]["message"]
    assert record["points"][2]["seconds"] is None
