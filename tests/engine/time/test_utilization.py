"""Utilization never passes 100 %, on any GPU, for any model and any length that it allows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ironlaw.answers.estimate import Estimate, EstimatePlan, prepare
from ironlaw.config.setup import setup
from ironlaw.core.errors import EngineError
from ironlaw.core.sizes import Size
from ironlaw.core.units import Count, Flops
from ironlaw.hardware.accelerators import accelerator, list_accelerators
from ironlaw.models.transformer import list_models, model
from ironlaw.time.attention import causal_share

MODELS = [name for name in list_models() if model(name).layers]


def computed_flops(flops: Size, batch: Count, sequence: Count, attention: str) -> Flops:
    """FLOPs of `flops` that kernels compute: of the scores, which grow with T², the share that is not skipped.

    Args:
        flops: Matrix products of a micro-batch (`ironlaw.graph.operations.operation_sizes`), all scores counted.
        batch: Sequences in a micro-batch.
        sequence: Tokens in a sequence.
        attention: `"flash"` kernels skip masked blocks; `"standard"` ones compute every score.
    """
    if attention != "flash":
        return flops(batch, sequence)
    scores = Size(tuple((power, count) for power, count in flops.terms if power[1] == 2))
    rest = Size(tuple((power, count) for power, count in flops.terms if power[1] != 2))
    return rest(batch, sequence) + scores(batch, sequence) * causal_share(sequence)


def available(plan: EstimatePlan, found: Estimate) -> float:
    """FLOPs that all devices could do in the step at their dense peak."""
    c = plan.setup
    return found.time.step_s * c.chip.peak(c.precision.compute.name) * c.devices


def done(plan: EstimatePlan, counted: Size) -> float:
    """FLOPs of a step that kernels compute."""
    c = plan.setup
    return computed_flops(counted, c.batch, c.sequence, c.attention.kernel) * c.micro_batches * c.replicas


choices = st.fixed_dictionaries(
    {
        "precision": st.sampled_from(["fp32", "amp-fp16", "amp-bf16", "fp16", "bf16", "megatron"]),
        "optimizer": st.sampled_from(["sgd", "adamw", "adafactor"]),
        "attention": st.sampled_from(["flash", "standard"]),
        "checkpointing": st.sampled_from(["none", "selective", "full", "every:2"]),
        "framework": st.sampled_from(["torch", "megatron"]),
        "accumulate": st.sampled_from([1, 64]),
    }
)
anything: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from(MODELS),
    "gpu": st.sampled_from(list_accelerators()),
    "batch": st.sampled_from([1, 8, 64]),
    "length": st.floats(0.01, 1),
    "choice": choices,
}


def prepared(name: str, gpu: str, batch: int, length: float, choice: dict[str, Any]) -> tuple[EstimatePlan, Estimate]:
    """A plan and its estimate; the length is a share of the model's longest sequence."""
    sequence = max(int(length * model(name).max_seq), 1)
    try:
        plan = prepare(setup(name, gpu, batch=batch, sequence=sequence, **choice))
    except EngineError:
        assume(False)
        raise
    return plan, plan()


@given(**anything)
def test_what_is_computed_never_passes_the_dense_peak(
    name: str, gpu: str, batch: int, length: float, choice: dict[str, Any]
) -> None:
    plan, found = prepared(name, gpu, batch, length, choice)
    for counted in (plan.model_flops, plan.hardware_flops):
        assert done(plan, counted) <= available(plan, found) * (1 + 1e-9)


@pytest.mark.parametrize("gpu", [name for name in list_accelerators() if accelerator(name).multiprocessors])
def test_a_step_of_attention_alone_computes_at_most_the_peak(gpu: str) -> None:
    precision = f"amp-{accelerator(gpu).short_format}"
    plan = prepare(setup("llama3.1-8b", gpu, batch=1, sequence=131_072, precision=precision, accumulate=64))
    found = plan()
    assert 0.05 < done(plan, plan.hardware_flops) / available(plan, found) <= 1
    assert done(plan, plan.hardware_flops) < found.flops.hardware_per_step


def test_standard_attention_computes_every_score() -> None:
    plan = prepare(setup("llama3-8b", "h200", batch=1, sequence=8192))
    flops = plan.hardware_flops
    assert computed_flops(flops, 1, 8192, "standard") == flops(1, 8192)
    assert computed_flops(flops, 1, 128, "flash") == flops(1, 128)


@given(**anything)
def test_the_estimate_gives_no_utilization_above_1(
    name: str, gpu: str, batch: int, length: float, choice: dict[str, Any]
) -> None:
    time = prepared(name, gpu, batch, length, choice)[1].time
    assert time.mfu is None or 0 < time.mfu <= 1
    assert time.hfu is None or (time.mfu is not None and time.mfu <= time.hfu <= 1)


@pytest.mark.parametrize(("sequence", "given_"), [(1024, True), (131_072, False)])
def test_a_step_that_is_mostly_skipped_scores_has_no_utilization(sequence: int, given_: bool) -> None:
    found = prepare(setup("llama3.1-8b", "rtx-5090", sequence=sequence, accumulate=64))().time
    assert (found.mfu is not None) is given_
