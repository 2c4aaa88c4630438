"""Estimates of convolutional networks: exact states, sums that close, times no hardware could beat, published rates."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw import EngineError, accelerator
from ironlaw.answers.estimate import Estimate
from ironlaw.answers.estimate_images import estimate_images, image_setup, parameter_tensors
from ironlaw.cli import main
from ironlaw.memory.tensors import COMPONENTS
from ironlaw.networks.convnets import resnet50

RESNET = resnet50()
configurations = st.fixed_dictionaries(
    {
        "gpu": st.sampled_from(["v100-16", "a100-80", "h100-sxm", "rtx-4060", "phone"]),
        "batch": st.sampled_from([1, 7, 64, 512]),
        "precision": st.sampled_from(["fp32", "amp-fp16", "fp16", "mixed"]),
        "optimizer": st.sampled_from(["sgd", "momentum", "adamw", "adamw-8bit"]),
        "accumulate": st.sampled_from([1, 4]),
        "dp": st.sampled_from([1, 8, 64]),
        "zero": st.sampled_from([0, 1]),
    }
)


def of(gpu: str, **choices: Any) -> Estimate:
    dp = 1 if gpu == "phone" else choices.pop("dp", 1)
    return estimate_images(image_setup("resnet50", gpu, **(choices | {"dp": dp})))


def test_parameter_tensors_are_all_of_resnet50() -> None:
    assert sum(p.elements for p in parameter_tensors(RESNET)) == RESNET.parameters == 25_557_032


def test_momentum_keeps_one_fp32_copy() -> None:
    memory = of("a100-80", batch=32, precision="amp-fp16").memory_bytes
    assert memory.parameters == memory.gradients == memory.optimizer == 4 * 25_557_032


@given(configurations)
def test_components_sum_to_the_peak_and_the_time_respects_the_hardware(choices: dict[str, Any]) -> None:
    found, chip = of(**choices), accelerator(choices["gpu"])
    memory = found.memory_bytes
    assert sum(getattr(memory, name) for name in (*COMPONENTS, "workspace", "peak_balance")) == memory.allocated_peak
    assert memory.allocated_peak + memory.context == memory.device_total
    assert found.fits == (memory.device_total <= memory.capacity)
    peak = chip.peak("fp32" if choices["precision"] == "fp32" else "fp16")
    devices = 1 if choices["gpu"] == "phone" else choices["dp"]
    assert found.time.step_s >= found.flops.hardware_per_step / (devices * peak)
    images = choices["batch"] * choices["accumulate"] * devices
    kept = RESNET.activation_bytes(images, 4 if choices["precision"] == "fp32" else 2)
    assert found.time.step_s * devices >= kept / chip.bandwidth
    assert found.time.mfu is not None
    assert 0 < found.time.mfu <= 1
    plain = found.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert all(type(size) is int for size in plain["memory_bytes"].values())


@pytest.mark.parametrize(
    ("gpu", "precision", "batch", "images_per_second"),
    [("v100-16", "amp-fp16", 256, 1200), ("a100-80", "amp-fp16", 256, 2470), ("v100-16", "fp32", 128, 367)],
)
def test_throughput_is_within_a_third_of_nvidias_published(
    gpu: str, precision: str, batch: int, images_per_second: float
) -> None:
    """One GPU of a DGX-1 and a DGX A100: NVIDIA/DeepLearningExamples, PyTorch, resnet50v1.5/README.md, March 2021."""
    assert of(gpu, precision=precision, batch=batch).time.tokens_per_s == pytest.approx(images_per_second, rel=1 / 3)


def test_eight_devices_are_almost_eight_times_as_fast() -> None:
    one, eight = (of("a100-80", batch=256, dp=dp).time for dp in (1, 8))
    assert 7 < eight.tokens_per_s / one.tokens_per_s <= 8


def test_a_single_image_waits_for_the_host() -> None:
    assert of("h100-sxm", batch=1).time.bound_by == "launch"


def test_only_states_are_divided() -> None:
    alone, shared = (of("a100-80", batch=8, dp=8, zero=zero).memory_bytes for zero in (0, 1))
    assert shared.optimizer == pytest.approx(alone.optimizer / 8, rel=1e-3)
    assert shared.parameters == alone.parameters
    with pytest.raises(EngineError, match="zero 3 is not allowed with model resnet50; allowed: 0, 1"):
        image_setup("resnet50", "a100-80", dp=8, zero=3)


def test_the_command_line_takes_it_as_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--model", "resnet50", "--batch", "64", "--gpu", "a100-80", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == of("a100-80", batch=64).as_dict()
    assert main(["sweep", "--model", "resnet50", "--vary", "batch=1,8"]) == 0
    assert "resnet50, momentum" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            "estimate --model resnet50 --tp 2",
            "--tp is not allowed with --model resnet50; allowed: --batch, --precision",
        ),
        ("estimate --model resnet50 --zero 2 --dp 2", "--zero 2 is not allowed with --model resnet50; allowed: 0, 1"),
        ("fit --model resnet50", "--model resnet50 is not allowed here; allowed: a transformer"),
        ("explain --model resnet50", "--model resnet50 is not allowed here; allowed: a transformer"),
    ],
)
def test_what_only_transformers_have_is_refused(capsys: pytest.CaptureFixture[str], words: str, line: str) -> None:
    assert main(words.split()) == 2
    assert capsys.readouterr().err.startswith(f"error: {line}")
