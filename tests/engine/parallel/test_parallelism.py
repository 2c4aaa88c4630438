"""Parallelism: the papers' identities and what sharding can never do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.core.errors import EngineError
from ironlaw.hardware.accelerators import accelerator
from ironlaw.memory import textbook
from ironlaw.models.transformer import model
from ironlaw.parallel import collectives, data_parallel, model_parallel
from ironlaw.parallel.job import COPY_PASSES, job_time

devices = st.integers(1, 4096)


def test_zero_stages_follow_table_1_of_the_paper() -> None:
    # arXiv 1910.02054, table 1: bytes per device in GB for a 7.5 B parameter model on n devices.
    published = {1: (120, 120, 120, 120), 64: (120, 31.4, 16.6, 1.88), 1024: (120, 30.1, 15.1, 0.12)}
    for n, row in published.items():
        for stage, gigabytes in enumerate(row):
            ours = 7.5 * textbook.state_bytes_per_parameter(stage, n)
            assert ours == pytest.approx(gigabytes, abs=0.06)


@given(n=devices)
def test_zero_closed_forms(n: int) -> None:
    assert textbook.state_bytes_per_parameter(0, n) == 16
    assert textbook.state_bytes_per_parameter(1, n) == pytest.approx(4 + 12 / n)
    assert textbook.state_bytes_per_parameter(2, n) == pytest.approx(2 + 14 / n)
    assert textbook.state_bytes_per_parameter(3, n) == pytest.approx(16 / n)


@given(n=devices, stage=st.integers(0, 3))
def test_more_devices_or_a_higher_stage_never_need_more_memory(n: int, stage: int) -> None:
    here = textbook.state_bytes_per_parameter(stage, n)
    assert textbook.state_bytes_per_parameter(stage, 2 * n) <= here
    if stage < 3:
        assert textbook.state_bytes_per_parameter(stage + 1, n) <= here + 1e-12


def test_zero_2_sends_no_more_than_data_parallelism_and_zero_3_half_as_much_again() -> None:
    # arXiv 1910.02054, section 7: 2, 2, 2 and 3 times the parameters, as the number of devices grows.
    sent = []
    for stage in range(4):
        step = job_time("gpt2-xl", "h100-sxm", precision="bf16", dp=64, zero=stage, overlap=False)
        copies = COPY_PASSES * 2 * model("gpt2-xl").parameters / accelerator("h100-sxm").streaming if stage > 1 else 0
        sent.append(step.communication - copies)
    # Zero sums over trees where that is quicker; the others scatter and gather along rings.
    assert 0.8 * sent[1] < sent[0] <= sent[1]
    assert sent[2] == pytest.approx(sent[1])
    assert sent[3] / sent[1] == pytest.approx(1.5, rel=0.1)


def test_zero_1_waits_for_no_more_hops_than_zero_3() -> None:
    # Both send a block's tensors at a time; ZeRO-3 gathers its weights twice, ZeRO-1 once.
    one, three = (
        job_time("llama3-8b", "h100-sxm", 1, 8192, precision="mixed", dp=1024, zero=stage, overlap=False).communication
        for stage in (1, 3)
    )
    assert three / one == pytest.approx(1.5, rel=0.1)


def test_larger_messages_of_gradients_wait_for_fewer_hops() -> None:
    # GPT-2 XL has 48 blocks and 1.56 billion parameters: FSDP2 sends 48 messages of gradients, Megatron-LM 24 of 64
    # million on 64 devices and two on 1,024, DeepSpeed four of 500 million.
    codes = {"torch": {}, "megatron": {"framework": "megatron"}, "deepspeed": {"runtime": "deepspeed"}}
    waits = {
        (name, n): job_time(
            "gpt2-xl", "h100-sxm", 1, precision="mixed", execution="compiled", dp=n, zero=1, overlap=False, **words
        ).data
        for name, words in codes.items()
        for n in (64, 1024)
    }
    assert waits["deepspeed", 64] < waits["megatron", 64] < waits["torch", 64]
    assert waits["megatron", 1024] < waits["deepspeed", 1024] < waits["torch", 1024]


def test_gpt3_static_state_is_2_8_terabytes() -> None:
    assert 175e9 * textbook.state_bytes_per_parameter(0, 1) == 2.8e12
    assert 32e9 / textbook.state_bytes_per_parameter(3, 64) == pytest.approx(128e9)


@given(n=st.integers(2, 4096), size=st.floats(1, 1e12))
def test_ring_all_reduce_sends_2_n_minus_1_over_n(n: int, size: float) -> None:
    seconds = collectives.ring_all_reduce(size, n, 1e9)
    assert seconds == pytest.approx(2 * (n - 1) / n * size / 1e9)
    # A scatter of the sums and a gather of them, each of which sends the same.
    assert seconds == pytest.approx(2 * collectives.all_gather(size, n, 1e9))


def test_one_device_sends_nothing() -> None:
    assert collectives.ring_all_reduce(1e9, 1, 1e9, 1e-6) == 0
    assert collectives.tree_all_reduce(1e9, 1, 1e9, 1e-6) == 0


def test_trees_win_for_small_buffers_and_rings_for_large() -> None:
    ring, tree = collectives.ring_all_reduce, collectives.tree_all_reduce
    assert tree(1e4, 256, 1e11, 5e-6) < ring(1e4, 256, 1e11, 5e-6)
    assert ring(1e10, 8, 1e11, 5e-6) < tree(1e10, 8, 1e11, 5e-6)
    assert collectives.all_reduce(1e10, 8, 1e11, 5e-6) == ring(1e10, 8, 1e11, 5e-6)


@given(n=devices, size=st.floats(0, 1e12), bandwidth=st.floats(1e6, 1e12), latency=st.floats(0, 1e-3))
def test_an_all_reduce_is_never_faster_than_its_volume_over_the_link(
    n: int, size: float, bandwidth: float, latency: float
) -> None:
    least = collectives.all_reduce_factor(n) * size / bandwidth
    assert collectives.all_reduce(size, n, bandwidth, latency) >= least * (1 - 1e-12)


def test_hidden_communication_takes_multiprocessors_from_the_work() -> None:
    assert collectives.contention(1.0, 108) == pytest.approx(16 / 108)
    assert collectives.contention(1.0, 0) == 0


def test_hierarchy_beats_a_flat_ring_over_the_slow_network() -> None:
    flat = collectives.ring_all_reduce(1e9, 64, 50e9 / 8)
    inside, between = collectives.all_gather(1e9, 8, 450e9), collectives.all_reduce(1e9 / 8, 8, 50e9 / 8)
    assert 2 * inside + between < flat


def test_chapters_network_wall_of_a_7b_model() -> None:
    # 14 GB of FP16 gradients over 100 Gb/s: the chapter's 2 S / BW is the limit of many devices.
    assert collectives.ring_all_reduce(14e9, 8, 12.5e9) == pytest.approx(1.96)
    assert collectives.ring_all_reduce(14e9, 10**9, 12.5e9) == pytest.approx(2.24)


def test_gpipe_bubble_is_18_75_percent_overhead_and_15_8_percent_of_the_step() -> None:
    assert model_parallel.bubble_overhead(4, 16) == 0.1875
    assert model_parallel.bubble_fraction(4, 16) == pytest.approx(3 / 19)
    assert model_parallel.bubble_overhead(4, 16, 2) == 0.1875 / 2


@given(p=st.integers(1, 64), m=st.integers(1, 1024), v=st.integers(1, 8))
def test_bubble_fraction_and_overhead_are_two_views_of_one_thing(p: int, m: int, v: int) -> None:
    overhead = model_parallel.bubble_overhead(p, m, v)
    assert model_parallel.bubble_fraction(p, m, v) == pytest.approx(overhead / (1 + overhead))


def test_interleaving_trades_bubble_for_messages() -> None:
    assert model_parallel.boundary_crossings(4, 16, 2) == 2 * model_parallel.boundary_crossings(4, 16)
    assert model_parallel.boundary_crossings(1, 16) == 0


def test_gpt3_activations_per_layer_follow_korthikanti() -> None:
    # arXiv 2205.05198: 175B, s = 2048, h = 12288, a = 96: 5 a s / h = 80, so selective recompute removes 70 %.
    s, b, h, a = 2048, 1, 12288, 96
    whole = model_parallel.activation_bytes_per_layer(s, b, h, a)
    assert whole == s * b * h * (34 + 80)
    selective = model_parallel.activation_bytes_per_layer(s, b, h, a, checkpointing="selective")
    assert 1 - selective / whole == pytest.approx(0.70, abs=0.005)
    both = model_parallel.activation_bytes_per_layer(s, b, h, a, 8, sequence_parallel=True, checkpointing="selective")
    assert both == s * b * h * 34 / 8


@given(t=st.integers(1, 64), sp=st.booleans(), kind=st.sampled_from(["none", "selective", "full"]))
def test_sharding_tensors_never_needs_more_activations(t: int, sp: bool, kind: str) -> None:
    def layer(ways: int) -> float:
        return model_parallel.activation_bytes_per_layer(
            2048, 4, 8192, 64, ways, sequence_parallel=sp, checkpointing=kind
        )

    assert layer(2 * t) <= layer(t)


def test_tensor_parallel_sends_four_all_reduces_a_layer() -> None:
    sent = model_parallel.bytes_sent_per_layer(1, 2048, 12288, 8)
    assert sent == 4 * 2 * 7 / 8 * (2048 * 12288 * 2)
    assert model_parallel.bytes_sent_per_layer(1, 2048, 12288, 8, recompute=True) == 1.5 * sent


def test_fewer_kv_heads_than_devices_are_replicated() -> None:
    assert model_parallel.divides(model("llama3-70b"), 16)
    assert not model_parallel.divides(model("gpt2-xl"), 2)


@given(
    compute=st.floats(1e-3, 10),
    gradients=st.floats(0, 1e11),
    n=devices,
    bandwidth=st.floats(1e9, 1e12),
    overlap=st.booleans(),
)
def test_a_data_parallel_step_lies_between_its_parts_and_their_sum(
    compute: float, gradients: float, n: int, bandwidth: float, overlap: bool
) -> None:
    step = data_parallel.data_parallel_step(compute, gradients, n, bandwidth, overlap=overlap)
    assert max(step.compute, step.communication * 0.999999) <= step.total + 1e-12
    assert step.total <= step.compute + step.communication + 1e-12
    assert 0 < step.scaling_efficiency <= 1


def test_overlap_hides_all_but_the_last_bucket_of_a_fast_network() -> None:
    step = data_parallel.data_parallel_step(1.0, 100 * data_parallel.BUCKET_BYTES, 8, 450e9)
    assert step.exposed == pytest.approx(step.communication / 100)


def test_accumulation_divides_the_traffic() -> None:
    once = data_parallel.data_parallel_step(0.1, 14e9, 32, 12.5e9)
    four = data_parallel.data_parallel_step(0.1, 14e9, 32, 12.5e9, accumulate=4)
    assert four.communication == once.communication
    assert four.scaling_efficiency > once.scaling_efficiency


def test_formulas_take_arrays() -> None:
    n: Any = np.array([1, 2, 8, 64])
    step = data_parallel.data_parallel_step(0.1, 6e9, n, 50e9)
    single = [data_parallel.data_parallel_step(0.1, 6e9, int(k), 50e9).total for k in n]
    assert np.allclose(step.total, single)
    assert np.allclose(textbook.state_bytes_per_parameter(2, n), 2 + 14 / n)
    assert np.allclose(model_parallel.bubble_overhead(n, 16), (n - 1) / 16)
    trees = [collectives.tree_all_reduce(1e6, int(k), 1e9, 1e-6) for k in n]
    assert np.allclose(collectives.tree_all_reduce(1e6, n, 1e9, 1e-6), trees)


def test_from_tokens_to_hide_on_the_all_reduce_fits_under_the_backward_pass_of_any_model() -> None:
    rate, bandwidth = 4e14, 2e10
    tokens = data_parallel.tokens_to_hide(rate, bandwidth, 64)
    for parameters in (1e8, 7e9):
        step = data_parallel.data_parallel_step(
            6 * parameters * tokens / rate, 2 * parameters, 64, bandwidth, bucket_bytes=2 * parameters / 1e6
        )
        assert step.communication == pytest.approx(step.compute * 2 / 3)
        assert step.scaling_efficiency == pytest.approx(1, abs=1e-5)


def test_amdahl_limits_speedup_to_the_serial_share() -> None:
    assert data_parallel.amdahl_speedup(10**9, 0.05) == pytest.approx(20, rel=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: textbook.state_bytes_per_parameter(4, 8), "zero 4 is unknown; allowed: 0, 1, 2, 3"),
        (lambda: textbook.state_bytes_per_parameter(1, 0), "devices 0 is not allowed"),
        (lambda: model_parallel.bubble_fraction(0, 8), "pipeline stages 0 is not allowed"),
        (
            lambda: model_parallel.activation_bytes_per_layer(1, 1, 1, 1, checkpointing="some"),
            "allowed: none, selective",
        ),
        (lambda: collectives.all_reduce(1.0, 2, 0.0), "bandwidth 0.0 is not allowed"),
    ],
)
def test_bad_input_is_one_line(call: Any, message: str) -> None:
    with pytest.raises(EngineError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
