"""Estimates: one answer per configuration, whose parts have the right sums and whose times no hardware could beat."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ironlaw import EngineError, accelerator, list_accelerators, model, training_memory
from ironlaw.answers.estimate import Estimate, estimate, prepare
from ironlaw.answers.explanation import explain
from ironlaw.config.setup import setup
from ironlaw.graph.operations import flops_per_token
from ironlaw.memory.tensors import COMPONENTS
from ironlaw.time.step import step_time
from tests.conftest import tries

SUMMANDS = (*COMPONENTS, "workspace", "peak_balance")
GPUS = [name for name in list_accelerators() if {"fp32", "fp16"} <= {peak.dtype for peak in accelerator(name).peaks}]
configurations = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["gpt2", "gpt2-medium", "qwen2.5-0.5b", "llama3-8b"]),
        "gpu": st.sampled_from(GPUS),
        "batch": st.sampled_from([1, 2, 3, 8, 64]),
        "sequence": st.sampled_from([1, 16, 128, 1024]),
        "precision": st.sampled_from(["fp32", "amp-fp16", "fp16", "mixed"]),
        "optimizer": st.sampled_from(["sgd", "momentum", "adamw", "adamw-8bit", "adafactor", "lion", "galore"]),
        "attention": st.sampled_from(["flash", "standard"]),
        "checkpointing": st.sampled_from(["none", "selective", "full", "every:3"]),
        "loss": st.sampled_from(["full", "chunked:4"]),
        "dropout": st.sampled_from([0.0, 0.1]),
        "accumulate": st.sampled_from([1, 4]),
        "optimizer_in_backward": st.booleans(),
        "offload": st.sampled_from(["none", "optimizer", "gradients"]),
        "update": st.sampled_from([None, "foreach", "for-loop", "fused"]),
        "framework": st.sampled_from(["torch", "megatron"]),
        "dp": st.sampled_from([1, 2, 8]),
        "tp": st.sampled_from([1, 2]),
        "pp": st.sampled_from([1, 2, 4]),
        "sequence_parallel": st.booleans(),
        "zero": st.integers(0, 3),
        "micro_batches": st.sampled_from([1, 4]),
        "interleave": st.sampled_from([1, 2]),
    }
)


def of(choices: dict[str, Any]) -> Estimate:
    """The estimate of a configuration; the example is discarded if its choices exclude each other."""
    try:
        return estimate(setup(**choices))
    except EngineError:
        assume(False)
        raise


@settings(max_examples=tries(120), suppress_health_check=[HealthCheck.filter_too_much])
@given(configurations)
def test_an_estimate_holds_together(choices: dict[str, Any]) -> None:
    found = of(choices)
    components_sum_to_the_peak_and_the_peak_and_the_context_to_the_device(found)
    no_step_is_faster_than_the_devices_peak_or_their_memory(choices, found)
    energy_and_money_follow_from_the_time(choices, found)
    an_estimate_survives_json(found)


def components_sum_to_the_peak_and_the_peak_and_the_context_to_the_device(found: Estimate) -> None:
    memory = found.memory_bytes
    assert sum(getattr(memory, name) for name in SUMMANDS) == memory.allocated_peak
    assert memory.allocated_peak + memory.runtime + memory.context == memory.device_total
    assert all(getattr(memory, name) >= 0 for name in (*COMPONENTS, "workspace", "context", "host"))


def no_step_is_faster_than_the_devices_peak_or_their_memory(choices: dict[str, Any], found: Estimate) -> None:
    chip = accelerator(choices["gpu"])
    devices = choices["dp"] * choices["tp"] * choices["pp"]
    peak = chip.peak({"fp32": "fp32"}.get(choices["precision"], "fp16"))
    assert found.time.step_s >= found.flops.hardware_per_step / (devices * peak)
    # Every working weight is read at least once, somewhere.
    assert found.time.step_s * devices >= model(choices["model"]).parameters / chip.bandwidth
    assert found.time.mfu is not None
    assert found.time.hfu is not None
    assert 0 < found.time.mfu <= found.time.hfu <= 1


def energy_and_money_follow_from_the_time(choices: dict[str, Any], found: Estimate) -> None:
    chip = accelerator(choices["gpu"])
    devices = choices["dp"] * choices["tp"] * choices["pp"]
    tokens = choices["batch"] * choices["sequence"] * choices["accumulate"] * choices["micro_batches"] * choices["dp"]
    assert found.time.tokens_per_s * found.time.step_s == pytest.approx(tokens)
    assert found.energy_j_per_token * tokens == pytest.approx(chip.tdp * devices * found.time.step_s)
    if chip.rent:
        hours = found.time.step_s / 3600 * devices
        assert found.usd_per_1e9_tokens == pytest.approx(chip.rent.dollars * hours / tokens * 1e9)
    assert (found.usd_per_1e9_tokens is None) == (chip.rent is None and chip.purchase is None)


def an_estimate_survives_json(found: Estimate) -> None:
    plain = found.as_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert all(isinstance(size, int) for size in plain["memory_bytes"].values())
    assert all(isinstance(flops, int) for flops in plain["flops"].values())
    assert all(sentence.endswith(".") and "\n" not in sentence for sentence in plain["assumptions"])


@settings(max_examples=tries(40), suppress_health_check=[HealthCheck.filter_too_much])
@given(configurations, st.sampled_from([1, 2, 5]), st.sampled_from([8, 64]))
def test_a_plan_evaluated_elsewhere_is_the_estimate_there(choices: dict[str, Any], batch: int, sequence: int) -> None:
    of(choices)
    there = choices | {"batch": batch, "sequence": sequence}
    plan = prepare(setup(**choices))
    assert plan(batch, sequence) == of(there)


@settings(max_examples=tries(60), suppress_health_check=[HealthCheck.filter_too_much])
@given(configurations)
def test_the_lines_of_an_explanation_sum_to_the_estimate(choices: dict[str, Any]) -> None:
    found = of(choices)
    lines = explain(setup(**choices))
    memory = found.memory_bytes
    assert sum(line.value for line in lines.parameters) == lines.parameter_total == found.parameters
    assert sum(line.value for line in (*lines.static, *lines.saved)) == memory.allocated_peak - memory.peak_balance
    assert max(line.value for line in lines.moments) == memory.allocated_peak
    *parts, step = lines.time
    assert sum(line.value for line in parts) == pytest.approx(step.value) == pytest.approx(found.time.step_s)
    micro_batches = choices["accumulate"] * choices["micro_batches"] * choices["dp"]
    totals = {line.name: line.value for line in lines.flops}
    hardware = sum(totals[name] for name in list(totals)[-4:])
    assert hardware * micro_batches == pytest.approx(found.flops.hardware_per_step)
    assert 3 * totals["forward"] * micro_batches == pytest.approx(found.flops.model_per_step)


@settings(max_examples=tries(60), suppress_health_check=[HealthCheck.filter_too_much])
@given(configurations)
def test_utilization_is_the_convention_over_the_peak_of_all_devices(choices: dict[str, Any]) -> None:
    found, c = of(choices).time, setup(**choices)
    assert found.mfu is not None
    assert found.hfu is not None
    assert 0 < found.mfu <= found.hfu <= 1
    available = found.step_s * c.chip.peak(c.precision.product_format) * c.devices
    assert found.mfu == pytest.approx(flops_per_token(c.model, c.sequence) * c.tokens / available)


@settings(max_examples=tries(60), suppress_health_check=[HealthCheck.filter_too_much])
@given(configurations)
def test_experience_stands_beside_the_physics_and_changes_none_of_it(choices: dict[str, Any]) -> None:
    found = of(choices)
    expected = found.calibrated
    assert expected is not None
    for band in (expected.step_s, expected.tokens_per_s, expected.allocated_peak, expected.device_total):
        assert 0 < band.low < band.expected < band.high
    tokens = found.time.tokens_per_s * found.time.step_s
    assert expected.step_s.expected * expected.tokens_per_s.expected == pytest.approx(tokens)
    assert expected.step_s.low * expected.tokens_per_s.high == pytest.approx(tokens)
    plain = found.as_dict()
    assert plain["calibrated"]["step_s"]["expected"] == expected.step_s.expected
    assert plain["time"]["step_s"] == found.time.step_s


def test_the_answer_has_exactly_the_keys_it_promises() -> None:
    plain = estimate("gpt2-xl", "h200", batch=8, sequence=1024).as_dict()
    promised = {
        "parameters": None,
        "memory_bytes": [
            "parameters", "gradients", "optimizer", "activations", "logits", "workspace", "allocated_peak",
            "device_total",
        ],
        "flops": ["model_per_step", "hardware_per_step"],
        "time": ["step_s", "tokens_per_s", "mfu", "hfu", "bound_by"],
        "energy_j_per_token": None,
        "usd_per_1e9_tokens": None,
        "fits": None,
        "assumptions": None,
        "verdict": None,
        "calibrated": ["step_s", "tokens_per_s", "allocated_peak", "needed", "device_total"],
    }  # fmt: skip
    assert list(plain) == list(promised)
    for name, keys in promised.items():
        assert keys is None or set(keys) <= set(plain[name])
    extra = set(plain["memory_bytes"]) - set(promised["memory_bytes"] or ())
    assert extra == {"master", "casts", "buckets", "gathered", "peak_balance", "runtime", "context", "capacity", "host"}
    assert plain["parameters"] == 1_557_611_200
    assert plain["fits"] is True


def test_memory_is_the_ledger_of_the_same_configuration() -> None:
    found = estimate("gpt2-xl", "h200", batch=8, precision="bf16", checkpointing="full", loss="chunked:8").memory_bytes
    account = training_memory(
        "gpt2-xl", optimizer="adamw", precision="bf16", batch=8, checkpointing="full", loss="chunked:8"
    )
    assert found.allocated_peak == account.allocated_peak
    assert {name: getattr(found, name) for name in COMPONENTS} == {name: account.component(name) for name in COMPONENTS}


def test_one_device_takes_the_time_of_its_step() -> None:
    found = estimate("gpt2-xl", "h200", batch=8, accumulate=4)
    assert found.time.step_s == step_time("gpt2-xl", "h200", 8, accumulate=4).total


def test_a_configuration_fits_when_the_driver_leaves_enough() -> None:
    """An H100 is sold as 80 GB. Its driver reports 85.5 and lets programs have about half a GB less."""
    batches = [estimate("gpt2-xl", "h100-sxm", batch=batch) for batch in range(1, 33)]
    capacity = batches[0].memory_bytes.capacity
    assert 80e9 < capacity < accelerator("h100-sxm").memory_bytes
    assert {one.fits for one in batches} == {True, False}
    assert all(one.fits == (one.memory_bytes.device_total <= capacity) for one in batches)
    assert any(one.memory_bytes.device_total > 80e9 and one.fits for one in batches)


def test_a_chunked_loss_runs_the_head_again() -> None:
    whole, chunked = (estimate("gpt2", "h200", batch=8, loss=loss) for loss in ("full", "chunked:8"))
    head = 2 * 8 * 1024 * 50257 * 768
    assert chunked.flops.hardware_per_step - whole.flops.hardware_per_step == head
    assert chunked.flops.model_per_step == whole.flops.model_per_step
    assert chunked.time.step_s - whole.time.step_s >= head / accelerator("h200").peak("bf16")
    assert chunked.memory_bytes.allocated_peak < whole.memory_bytes.allocated_peak


def test_full_checkpointing_of_gpt2_small_does_half_again_of_the_forward_pass() -> None:
    found = estimate("gpt2", "h200", batch=8, checkpointing="full", attention="standard").flops
    assert 3 * found.hardware_per_step / found.model_per_step == pytest.approx(3.53, abs=0.02)


def test_a_fused_update_is_as_exact_and_faster() -> None:
    slow, fast = (estimate("gpt2-xl", "h200", update=update) for update in ("foreach", "fused"))
    assert fast.time.step_s < slow.time.step_s
    assert fast.memory_bytes.allocated_peak < slow.memory_bytes.allocated_peak
    assert fast.flops == slow.flops


def test_offloading_moves_states_to_the_host_and_the_bottleneck_to_the_link() -> None:
    here, there = (estimate("gpt2-xl", "rtx-5080", offload=offload) for offload in ("none", "optimizer"))
    assert there.memory_bytes.host == here.memory_bytes.optimizer == 8 * here.parameters
    assert there.memory_bytes.optimizer == 0
    assert there.time.bound_by == "offload"
    gradients_out_and_weights_in = 8 * here.parameters / 63e9
    assert there.time.step_s > gradients_out_and_weights_in


def test_sharded_states_are_a_share_of_the_whole() -> None:
    alone = estimate("gpt2-xl", "h200").memory_bytes
    for zero, names in (
        (1, ["optimizer"]),
        (2, ["optimizer", "gradients"]),
        (3, ["optimizer", "gradients", "parameters"]),
    ):
        sharded = estimate("gpt2-xl", "h200", dp=8, zero=zero).memory_bytes
        for name in ("optimizer", "gradients", "parameters"):
            share = 8 if name in names else 1
            assert getattr(sharded, name) == pytest.approx(getattr(alone, name) / share, rel=1e-4)


def test_tokens_per_second_are_those_of_the_whole_job() -> None:
    one, eight = (estimate("gpt2-xl", "h200", batch=8, dp=dp) for dp in (1, 8))
    assert 5 < eight.time.tokens_per_s / one.time.tokens_per_s <= 8
    assert eight.energy_j_per_token > one.energy_j_per_token


def test_the_default_precision_is_autocast_in_a_format_that_the_chip_has() -> None:
    assert setup("gpt2", "h200").precision.name == "amp-bf16"
    assert setup("gpt2", "v100-32").precision.name == "amp-fp16"
    assert setup("gpt2", "microcontroller").precision.name == "fp32"


def test_assumptions_say_what_memory_price_and_cluster_are_taken_for() -> None:
    text = " ".join(estimate("gpt2", "h100-sxm", dp=16).assumptions)
    for said in ("85.5 GB", "sold as 80 GB", "Nodes of 8 devices", "InfiniBand NDR", "$3.99 an hour", "16 replicas"):
        assert said in text
    assert "no dollars" in " ".join(estimate("gpt2", "phone").assumptions)
    assert "spread over 3 years" in " ".join(estimate("gpt2", "rtx-5080").assumptions)


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        (
            {"precision": "bf16", "gpu": "v100-16"},
            "precision 'bf16' is not allowed with gpu v100-16, which has no bf16",
        ),
        ({"gpu": "tpu-v4"}, "gpu 'tpu-v4' is not allowed, as nobody published its fp32 rate"),
        ({"gpu": "orin", "dp": 2}, "link is missing with gpu orin, which has none to other devices"),
        (
            {"gpu": "orin", "offload": "optimizer"},
            "offload 'optimizer' is not allowed with gpu orin, which has no link to a host on record; allowed: none",
        ),
        ({"sequence": 2048}, "sequence 2048 is not allowed with model gpt2; it must be at most 1024"),
        ({"tp": 5}, "tp 5 is not allowed with model gpt2, which has 12 heads; allowed: 1, 2, 4"),
        ({"tp": 8}, "tp 8 is not allowed with model gpt2, which has 12 heads"),
        ({"pp": 13}, "pp 13 is not allowed with model gpt2, which has 12 blocks"),
        ({"node_size": 0}, "node_size 0 is not allowed"),
        ({"accumulate": 2, "optimizer_in_backward": True}, "accumulate 2 is not allowed with optimizer_in_backward"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError) as error:
        estimate(setup(**({"model": "gpt2", "gpu": "h200"} | choices)))
    assert str(error.value).startswith(message)


def test_numbers_are_finite_at_the_ends_of_the_range() -> None:
    for choices in ({"batch": 1, "sequence": 1}, {"batch": 1_000_000, "sequence": 1024}):
        found = estimate("gpt2", "h200", **choices)
        assert found.time.mfu is not None
        values = (found.time.step_s, found.time.tokens_per_s, found.time.mfu, found.energy_j_per_token)
        assert all(math.isfinite(value) and value > 0 for value in values)
