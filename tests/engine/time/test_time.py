"""The time of a step: what physics forbids, what utilization means, and where published runs lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ironlaw.config.resolved import stage_sections
from ironlaw.config.setup import setup
from ironlaw.core.errors import EngineError
from ironlaw.graph.operations import flops_per_token
from ironlaw.hardware.accelerators import accelerator, list_accelerators
from ironlaw.models.transformer import model
from ironlaw.time.phases import phase_kernels
from ironlaw.time.step import StepTime, step_plan, step_time
from tests.conftest import tries

GPUS = [name for name in list_accelerators() if {"fp16", "fp32"} <= {p.dtype for p in accelerator(name).peaks}]
MODELS = ["gpt2", "gpt2-medium", "gpt2-xl"]

configurations = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "gpu": st.sampled_from(GPUS),
        "precision": st.sampled_from(["fp32", "fp16", "amp-fp16", "mixed"]),
        "attention": st.sampled_from(["flash", "standard"]),
        "checkpointing": st.sampled_from(["none", "selective", "full", "every:4"]),
        "optimizer": st.sampled_from(["sgd", "momentum", "adam", "adamw"]),
        "execution": st.sampled_from(["eager", "compiled"]),
    }
)


def at(configuration: dict[str, Any], batch: int, sequence: int, accumulate: int = 1) -> StepTime:
    return step_time(setup(batch=batch, sequence=sequence, accumulate=accumulate, **configuration))


@settings(max_examples=tries(150))
@given(configuration=configurations, batch=st.integers(1, 256), sequence=st.integers(1, 1024))
def test_a_step_is_never_faster_than_its_flops_or_its_bytes(
    configuration: dict[str, Any], batch: int, sequence: int
) -> None:
    step, chip = at(configuration, batch, sequence), accelerator(configuration["gpu"])
    # A causal kernel may skip half of attention; everything else must be done.
    block = [p for p in model(configuration["model"]).parameter_tensors if p.name.startswith("blocks.")]
    linear = 6 * sum(p.elements for p in block) * batch * sequence
    assert step.total >= linear / step.peak
    weights = model(configuration["model"]).parameters * 2
    assert step.total >= 3 * weights / chip.bandwidth
    assert step.total >= step.compute
    assert step.total >= step.memory


@settings(max_examples=tries(150))
@given(configuration=configurations, batch=st.integers(1, 256), sequence=st.integers(64, 1024))
def test_parts_sum_to_the_step_and_utilization_stays_below_the_compute_share(
    configuration: dict[str, Any], batch: int, sequence: int
) -> None:
    step = at(configuration, batch, sequence, accumulate=2)
    assert step.forward + step.backward + step.recompute + step.update == pytest.approx(step.device)
    assert step.compute + step.memory + step.launch == pytest.approx(step.total)
    assert step.bound_by in ("compute", "memory", "launch")
    exact_mfu = step.model_flops / (step.total * step.peak)
    causal = 0.5 if configuration["attention"] == "flash" else 1.0
    assert 0 < causal * exact_mfu <= step.compute / step.total * 1.0000001 <= 1.0000001


@settings(max_examples=tries(60))
@given(configuration=configurations, batch=st.integers(1, 128))
def test_a_larger_batch_takes_no_less_time_and_a_second_micro_batch_less_than_a_second_step(
    configuration: dict[str, Any], batch: int
) -> None:
    step = at(configuration, batch, 512)
    assert at(configuration, batch + 1, 512).total >= step.total * (1 - 1e-9)
    double = at(configuration, batch, 512, accumulate=2).total
    assert step.total < double


@settings(max_examples=tries(60))
@given(configuration=configurations, batch=st.integers(1, 64))
def test_checkpointing_costs_time_and_only_recompute(configuration: dict[str, Any], batch: int) -> None:
    plain = at({**configuration, "checkpointing": "none"}, batch, 512)
    full = at({**configuration, "checkpointing": "full"}, batch, 512)
    assert plain.recompute == 0 < full.recompute
    assert full.forward == plain.forward
    assert plain.hardware_flops < full.hardware_flops
    assert full.mfu <= plain.mfu


@settings(max_examples=tries(40))
@given(configuration=configurations)
def test_a_plan_takes_arrays_and_gives_what_scalars_give(configuration: dict[str, Any]) -> None:
    batches: Any = np.array([1, 2, 3, 17, 64, 200])
    plan = step_plan(setup(**configuration))
    swept = plan(batches, 384)
    for name in ("total", "compute", "memory", "mfu", "hfu", "tokens_per_second"):
        expected = [getattr(plan(int(b), 384), name) for b in batches]
        assert np.allclose(getattr(swept, name), expected, rtol=1e-9), name


def test_utilization_rises_with_the_batch_and_levels_off() -> None:
    plan = step_plan(setup("gpt2-xl", "h100-sxm", precision="bf16", execution="compiled"))
    mfu = [plan(batch, 1024).mfu for batch in (1, 2, 4, 8, 16, 32)]
    assert mfu == sorted(mfu)
    assert mfu[-1] - mfu[-2] < mfu[1] - mfu[0]


@settings(max_examples=tries(100))
@given(
    configuration=configurations,
    batch=st.integers(1, 256),
    sequence=st.integers(1, 1024),
    accumulate=st.sampled_from([1, 3]),
    loss=st.sampled_from(["full", "chunked:1", "chunked:4"]),
)
def test_utilization_is_the_convention_over_the_dense_peak(
    configuration: dict[str, Any], batch: int, sequence: int, accumulate: int, loss: str
) -> None:
    assume(loss != "chunked:4" or sequence >= 4)
    c = setup(batch=batch, sequence=sequence, accumulate=accumulate, loss=loss, **configuration)
    step = step_time(c)
    assert 0 < step.mfu <= step.hfu <= 1
    available = step.total * c.chip.peak(c.precision.product_format)
    assert step.tokens == c.tokens == batch * sequence * accumulate
    assert step.mfu == pytest.approx(flops_per_token(c.model, sequence) * step.tokens / available)
    assert step.hfu == pytest.approx(step.mfu + step.recomputed_flops / available)
    assert step.hardware_flops == step.model_flops + step.recomputed_flops
    again = c.checkpointing.kind != "none" or c.attention.kernel == "flash" or c.loss.chunks > 1
    assert (step.recomputed_flops > 0) == again


def test_a_loss_in_more_pieces_takes_longer_and_the_same_operations() -> None:
    """Small pieces make narrow products, launches, and sums of the head's gradient: 1,024 pieces of one token each."""
    words: dict[str, Any] = {"precision": "bf16", "execution": "compiled"}
    steps = {k: step_time("gpt2-xl", "h100-sxm", 8, 1024, loss=f"chunked:{k}", **words) for k in (1, 2, 8, 64, 1024)}
    assert steps[1] == step_time("gpt2-xl", "h100-sxm", 8, 1024, **words)
    totals = [step.total for step in steps.values()]
    assert totals == sorted(totals)
    assert steps[2].total < steps[8].total < steps[1024].total
    assert steps[1024].total > 1.5 * steps[8].total
    head = 2 * 8 * 1024 * 50257 * 1600
    assert {k: step.recomputed_flops - steps[1].recomputed_flops for k, step in steps.items()} == {
        k: pytest.approx(0 if k == 1 else head) for k in steps
    }
    # Every piece but the first adds its gradient of the head's matrix: two reads and a write.
    sums = 1023 * 3 * 2 * 50257 * 1600 / accelerator("h100-sxm").streaming
    assert steps[1024].memory - steps[1].memory > sums


def test_eager_small_models_are_bound_by_launching() -> None:
    assert step_time("gpt2", "h100-sxm", 1, 64, optimizer="sgd").bound_by == "launch"
    assert step_time("gpt2", "h100-sxm", 64, 1024, execution="compiled").bound_by == "compute"


def test_standard_attention_is_bound_by_memory_and_slower() -> None:
    flash = step_time("gpt2", "a100-80", 16, 1024, attention="flash")
    standard = step_time("gpt2", "a100-80", 16, 1024, attention="standard")
    assert standard.memory > 2 * flash.memory
    assert standard.total > flash.total


def test_mixed_precision_beats_fp32_by_more_than_the_bandwidth_alone() -> None:
    fp32 = step_time("gpt2-xl", "a100-80", 8, 1024, precision="fp32")
    amp = step_time("gpt2-xl", "a100-80", 8, 1024, precision="amp-bf16")
    tf32 = step_time("gpt2-xl", "a100-80", 8, 1024, precision="tf32")
    assert fp32.total / amp.total > 4
    assert amp.total < tf32.total < fp32.total


@pytest.mark.parametrize(
    ("name", "chip", "batch", "mode", "published"),
    [
        # Compiled GPT-2 on one GPU; none of these was used to choose a constant.
        ("gpt2-xl", "h100-sxm", 12, "amp-bf16", 47.9e3),
        ("gpt2-xl", "h100-sxm", 16, "bf16", 46.8e3),
        ("gpt2", "h100-sxm", 64, "amp-bf16", 463e3),
        ("gpt2", "a100-80", 64, "amp-bf16", 238e3),
        ("gpt2", "rtx-4090", 16, "amp-bf16", 130e3),
    ],
)
def test_published_throughputs_are_met_within_20_percent(
    name: str, chip: str, batch: int, mode: str, published: float
) -> None:
    assert step_time(name, chip, batch, 1024, precision=mode, execution="compiled").tokens_per_second == pytest.approx(
        published, rel=0.2
    )


def test_v100_has_no_bf16_and_small_chips_still_have_a_time() -> None:
    with pytest.raises(EngineError, match="precision 'bf16' is not allowed with gpu v100-16, which has no bf16"):
        step_time("gpt2", "v100-16", 1, 1024, precision="bf16")
    assert step_time("gpt2", "v100-16", 1, 1024) == step_time("gpt2", "v100-16", 1, 1024, precision="amp-fp16")
    assert step_time("gpt2", "phone", 1, 128, precision="fp32").total > 0.1
    tiny = step_time("gpt2", "microcontroller", 1, 16, precision="fp32")
    assert tiny.bound_by == "compute"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch": 0}, "batch 0 is not allowed"),
        ({"sequence": 2048}, "sequence 2048 is not allowed with model gpt2; it must be at most 1024"),
        ({"accumulate": 0}, "accumulate 0 is not allowed"),
        ({"checkpointing": "lots"}, "checkpointing 'lots' is unknown"),
    ],
)
def test_bad_input_is_one_line(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        step_time("gpt2", "h200", **{"batch": 1, "sequence": 1024, **arguments})


@pytest.mark.parametrize("checkpointing", ["full", "every:2"])
def test_nothing_of_frozen_blocks_runs_again(checkpointing: str) -> None:
    words: dict[str, Any] = {"batch": 1, "sequence": 128, "frozen": "wte,wpe,blocks.*"}
    again = step_time("gpt2", "t4", checkpointing=checkpointing, **words)
    assert again.recompute == 0
    assert again.total == step_time("gpt2", "t4", **words).total


@pytest.mark.parametrize(("name", "kinds"), [("openai/gpt-oss-120b", 2), ("google/gemma-2-27b", 2)])
def test_of_layers_that_alternate_beside_adapters_each_kind_is_made_once(name: str, kinds: int) -> None:
    """A page once looked for half a minute at every one of their kernels by itself."""
    c = setup(name, "h100-sxm", method="lora", checkpointing="full")
    parts = stage_sections(c, c.stages[0])
    blocks = [part for part in parts if part.name == "block"]
    assert len(blocks) == c.model.layers
    assert len({id(part.ops[0]) for part in blocks}) <= kinds + 1  # nothing before the first block has a gradient
    for run in phase_kernels(c, parts).values():
        assert len({id(kernel) for kernel in run}) < len(run) / 5
