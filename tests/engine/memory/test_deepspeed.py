"""DeepSpeed's optimizers by hand: bytes per parameter, staging copies, the allocator's segments, communicators."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw import EngineError, Transformer, model, setup, training_memory
from ironlaw.cli import main
from ironlaw.config.layout import Layout
from ironlaw.memory.deepspeed import GROUP_COMMUNICATOR, PAIR_COMMUNICATOR, communicators, new_segments, overheads
from ironlaw.memory.static import stage_parameters
from ironlaw.time.step import step_plan
from ironlaw.time.update import update_bytes

SMALL = model("gpt2")
EMBEDDING = SMALL.vocab * SMALL.hidden


def test_the_list_of_precisions_names_both_formats_of_gradients(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "precisions"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("deepspeed"))
    assert line.split() == ["deepspeed", "bf16", "bf16", "+", "fp32", "fp32", "fp32", "bf16", "bf16"]


@pytest.mark.parametrize("replicas", [1, 4, 8])
def test_zero_1_leaves_both_gradients_whole_and_divides_twelve_bytes(replicas: int) -> None:
    """`BF16_Optimizer`: 2 weights, 2 gradients and 4 sums on each device; 4 master copy and 8 states divided."""
    zero = min(replicas - 1, 1)
    ledger = training_memory("gpt2", precision="deepspeed", dp=replicas, zero=zero, framework="megatron")
    expected = (8 + 12 / replicas) * SMALL.parameters
    assert ledger.static_bytes == pytest.approx(expected, rel=1e-4)
    assert ledger.bytes_by_part("gradients") == {"": 2 * SMALL.parameters, "sum": 4 * SMALL.parameters}


def test_the_16_bit_gradients_are_there_during_the_forward_pass() -> None:
    """Pipeline engine: gradients are cleared when the next backward pass begins, not when they were added."""
    moments = {m.name: m.bytes for m in training_memory("gpt2", precision="deepspeed").moments}
    accrued = {m.name: m.bytes for m in training_memory("gpt2", precision="bf16").moments}
    # 12 bytes more a parameter than pure BF16 (8 against 20), and 2 that BF16 does not have yet in its forward pass.
    assert moments["forward, last block"] - accrued["forward, last block"] == 14 * SMALL.parameters


@pytest.mark.parametrize(
    ("phases", "expected"),
    [
        ([(5,), (3,)], 5),  # the second copy fits in the first one's segment
        ([(3,), (5,)], 8),  # it does not fit: a new segment
        ([(2, 4), (6,)], 12),  # two free blocks are no contiguous one
        ([(10,), (4, 6)], 10),  # a block is split
        ([(10,), (6, 6)], 16),
        ([(4,), (9,), (4, 9)], 13),  # the smallest that fits is taken, so the larger stays whole
        ([], 0),
    ],
)
def test_contiguous_requests_leave_segments(phases: list[tuple[int, ...]], expected: int) -> None:
    assert new_segments(phases) == expected


@given(st.lists(st.lists(st.integers(1, 100), min_size=1, max_size=4), max_size=6))
def test_segments_hold_every_phase_and_never_more_than_all_requests(phases: list[list[int]]) -> None:
    segments = new_segments(phases)
    assert max(map(sum, phases), default=0) <= segments <= sum(map(sum, phases))


def test_the_bf16_optimizer_stages_a_cast_of_the_embedding_and_of_all_sums() -> None:
    staging = overheads(setup(SMALL, precision="deepspeed", dp=4, zero=1)).staging
    assert staging == 4 * EMBEDDING + 2 * SMALL.parameters
    assert overheads(setup(SMALL, precision="deepspeed")).staging == 4 * EMBEDDING


def test_zero_1_in_fp16_stages_one_bucket_where_all_fits_in_it() -> None:
    # The bucket's 2 bytes a parameter then hold the share's 2/4 + 4/4 bytes, and the gathered weights.
    assert overheads(setup(SMALL, precision="mixed", dp=4, zero=1)).staging == 2 * SMALL.parameters
    # A single replica reduces nothing: a flat copy in FP16, then in FP32.
    assert overheads(setup(SMALL, precision="mixed")).staging == 6 * SMALL.parameters


def test_zero_1_in_fp16_stages_buckets_of_half_a_billion_and_the_share_in_fp32() -> None:
    shape = Transformer("t", layers=72, hidden=14336, heads=64, vocab=250880, max_seq=2048, position="alibi")
    c = setup(shape, precision="mixed", dp=8, tp=4, pp=12, zero=1)
    parameters = sum(p.elements * p.count for p in stage_parameters(c.stages[0]))
    staging = overheads(c).staging
    share = 4 * parameters / 8
    assert share + 2 * parameters / 8 < staging <= share + 2 * 500_000_000 + 2 * parameters / 8


def test_a_device_of_the_first_stage_has_eight_communicators() -> None:
    tied = Transformer("t", layers=12, hidden=64, heads=4, vocab=512, max_seq=64)
    c = setup(tied, precision="mixed", dp=8, tp=4, pp=12, zero=1)
    assert sorted(communicators(tied, c.layout)) == [2, 2, 4, 4, 8, 12, 48, 384]
    assert overheads(c).communicators == 6 * GROUP_COMMUNICATOR + 2 * PAIR_COMMUNICATOR


def test_a_single_device_has_no_communicator() -> None:
    assert communicators(SMALL, Layout()) == ()
    assert overheads(setup(SMALL, precision="mixed")).communicators == 0


def test_overheads_are_known_for_two_optimizers_only() -> None:
    for mode in ("fp32", "megatron"):
        with pytest.raises(
            EngineError, match=f"precision '{mode}' is not allowed .* allowed: mixed, mixed-bf16, deepspeed"
        ):
            setup(SMALL, precision=mode, runtime="deepspeed")
    with pytest.raises(EngineError, match="zero 2 is not allowed with runtime deepspeed; allowed: 0, 1"):
        setup(SMALL, precision="mixed", dp=4, zero=2, runtime="deepspeed")


@given(st.sampled_from(["deepspeed", "mixed", "mixed-bf16"]), st.sampled_from([1, 4]), st.sampled_from([1, 2]))
def test_the_runtime_adds_its_overheads_to_the_device_and_nothing_to_the_tensors(mode: str, dp: int, pp: int) -> None:
    words: dict[str, Any] = {"precision": mode, "dp": dp, "pp": pp, "zero": min(dp - 1, 1), "micro_batches": 4}
    plain, run = (training_memory(SMALL, runtime=runtime, **words) for runtime in ("none", "deepspeed"))
    assert run.allocated_peak == plain.allocated_peak
    assert run.device_total - plain.device_total == overheads(setup(SMALL, **words)).total > 0


def test_adding_through_a_cast_moves_18_bytes_a_parameter() -> None:
    """2 to read the gradient, 4 + 4 for the cast, 4 + 4 for the sum; Megatron's own products move 12, pure BF16 6."""
    times = {
        mode: step_plan(
            setup(SMALL, "a100-80", precision=mode, framework="megatron", accumulation="separate")
        ).accumulation
        for mode in ("deepspeed", "megatron", "bf16")
    }
    assert times["deepspeed"] / times["bf16"] == pytest.approx(18 / 6)
    assert times["deepspeed"] / times["megatron"] == pytest.approx(18 / 12)


def test_the_update_reads_the_sums_alone() -> None:
    made = (setup(SMALL, precision=mode, framework="megatron") for mode in ("deepspeed", "megatron"))
    ours, megatrons = (update_bytes(c, c.stages[0], fused=True) for c in made)
    assert ours == megatrons
