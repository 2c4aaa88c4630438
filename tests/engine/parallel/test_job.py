"""Parallel jobs: published runs, what must hold for every layout, and the search."""

from __future__ import annotations

import statistics
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config.layout import Layout, stages
from engine.core.errors import EngineError
from engine.graph.operations import megatron_flops
from engine.hardware.accelerators import accelerator
from engine.hardware.cluster import Cluster, cluster
from engine.models.transformer import Transformer, model
from engine.parallel.job import job, job_time, weak_scaling
from engine.parallel.search import choose, device_bytes, search

SELENE = cluster(accelerator("a100-80"), network="infiniband-hdr")
H100 = cluster(accelerator("h100-sxm"))

# arXiv 2104.04473, table 1: heads, hidden, layers, tensor, pipeline, GPUs, batch, TFLOP/s per GPU on Selene.
MEGATRON_2021 = [
    (24, 2304, 24, 1, 1, 32, 512, 137),
    (32, 3072, 30, 2, 1, 64, 512, 138),
    (32, 4096, 36, 4, 1, 128, 512, 142),
    (48, 6144, 40, 8, 1, 256, 1024, 135),
    (64, 8192, 48, 8, 2, 512, 1536, 138),
    (80, 10240, 60, 8, 4, 1024, 1792, 140),
    (96, 12288, 80, 8, 8, 1536, 2304, 148),
    (128, 16384, 96, 8, 16, 1920, 2160, 155),
    (128, 20480, 105, 8, 35, 2520, 2520, 163),
    (160, 25600, 128, 8, 64, 3072, 3072, 163),
]

# arXiv 2205.05198, table 5: heads, hidden, layers, pipeline, interleave, GPUs, batch, seconds with full recomputation,
# and with sequence parallelism and selective recomputation.
KORTHIKANTI_2022 = [
    (64, 6144, 48, 1, 1, 8, 4, 1.42, 1.10),
    (96, 12288, 96, 8, 3, 64, 64, 18.13, 13.75),
    (128, 20480, 105, 35, 3, 280, 280, 49.05, 37.83),
    (160, 25600, 128, 64, 1, 512, 512, 94.42, 71.49),
]


def megatron_gpt(layers: int, hidden: int, heads: int) -> Transformer:
    return Transformer("gpt", layers, hidden, heads, 51200, 2048)


def test_megatron_runs_of_2021_are_met_within_a_fifth_at_the_median() -> None:
    # Micro-batches are not published for each row; one sequence is what the larger rows used.
    errors = []
    for heads, hidden, layers, tensor, pipeline, devices, batch, published in MEGATRON_2021:
        data = devices // (tensor * pipeline)
        layout = Layout(data=data, tensor=tensor, pipeline=pipeline, micro_batches=batch // data)
        work = job(megatron_gpt(layers, hidden, heads), policy="full", attention="standard", rule="adam", dropout=0.1)
        seconds = job_time(work, layout, SELENE, 1).total
        rate = megatron_flops(batch, 2048, layers, hidden, 51200) / seconds / devices
        errors.append(abs(rate / (published * 1e12) - 1))
    assert statistics.median(errors) < 0.2
    assert max(errors) < 0.35


@pytest.mark.parametrize("row", KORTHIKANTI_2022, ids=["22B", "175B", "530B", "1T"])
def test_korthikanti_step_times_are_met_within_a_fifth(row: tuple[float, ...]) -> None:
    heads, hidden, layers, pipeline, interleave, devices, batch = (int(x) for x in row[:7])
    micro_batch = 4 if pipeline == 1 else 1
    data = devices // (8 * pipeline)
    gpt = megatron_gpt(layers, hidden, heads)
    for policy, sequence_parallel, published in (("full", False, row[7]), ("selective", True, row[8])):
        layout = Layout(
            data=data,
            tensor=8,
            pipeline=pipeline,
            sequence_parallel=sequence_parallel,
            micro_batches=batch // (data * micro_batch),
            interleave=interleave,
        )
        work = job(gpt, policy=policy, attention="standard", rule="adam", dropout=0.1)
        assert job_time(work, layout, SELENE, micro_batch).total == pytest.approx(published, rel=0.2)


layouts = st.builds(
    Layout,
    data=st.sampled_from([1, 2, 8, 64]),
    tensor=st.sampled_from([1, 2, 4, 8]),
    pipeline=st.sampled_from([1, 2, 4, 12]),
    zero=st.integers(0, 3),
    micro_batches=st.integers(1, 16),
)
work_of_24_layers = job(Transformer("test", 24, 2048, 16, 50304, 1024))


@settings(max_examples=80, deadline=None)
@given(layout=layouts, micro_batch=st.sampled_from([1, 2, 4]))
def test_parts_sum_to_the_step_and_utilization_is_below_the_compute_share(layout: Layout, micro_batch: int) -> None:
    step = job_time(work_of_24_layers, layout, H100, micro_batch)
    parts = (step.compute, step.update, step.bubble, step.tensor, step.pipeline, step.data)
    assert min(*parts, step.hidden) >= 0
    assert sum(parts) == pytest.approx(step.total)
    assert 0 < step.scaling_efficiency <= 1
    assert 0 <= step.network_saturation <= 1
    assert step.convention_flops / (step.devices * step.peak) <= step.total
    if layout.devices == 1:
        assert step.scaling_efficiency == 1


@settings(max_examples=40, deadline=None)
@given(layout=layouts, micro_batch=st.sampled_from([1, 4]))
def test_dividing_states_or_tensors_further_never_needs_more_memory(layout: Layout, micro_batch: int) -> None:
    def needed(**changes: int) -> int:
        fields = ("data", "tensor", "pipeline", "zero", "micro_batches")
        values = {field: getattr(layout, field) for field in fields}
        return device_bytes(work_of_24_layers, Layout(**{**values, **changes}), micro_batch)

    here = needed()
    if layout.tensor < 8:
        assert needed(tensor=2 * layout.tensor) <= here
    if layout.zero in (1, 2, 3) and layout.data > 1:
        assert needed(data=2 * layout.data) <= here


def test_a_network_ten_times_slower_saturates_and_halves_efficiency() -> None:
    fast, slow = (cluster(accelerator("h100-sxm"), network=name) for name in ("infiniband-ndr", "ethernet-10"))
    work = job(model("gpt2-xl"), framework="torch", mode="amp-bf16")
    assert job_time(work, Layout(data=64), fast, 4).scaling_efficiency > 0.8
    starved = job_time(work, Layout(data=64), slow, 4)
    assert starved.scaling_efficiency < 0.5
    assert starved.network_saturation > 0.9
    assert starved.bound_by == "communication"


def test_a_larger_batch_lowers_communication_per_compute() -> None:
    slow = cluster(accelerator("h100-sxm"), network="ethernet-25")
    work = job(model("gpt2-xl"), framework="torch", mode="amp-bf16")
    small, large = (job_time(work, Layout(data=64), slow, batch) for batch in (1, 16))
    assert large.scaling_efficiency > small.scaling_efficiency


def test_efficiency_falls_as_replicas_are_added() -> None:
    slow = cluster(accelerator("h100-sxm"), network="ethernet-100")
    steps = weak_scaling(job(model("gpt2-xl"), framework="torch", mode="amp-bf16"), slow, 2, (1, 8, 64, 512))
    efficiency = [step.scaling_efficiency for step in steps]
    assert efficiency == sorted(efficiency, reverse=True)
    assert efficiency[0] == 1


def test_more_micro_batches_shrink_the_bubble_and_interleaving_too() -> None:
    work = job(megatron_gpt(96, 12288, 96), policy="full")

    def bubble(micro_batches: int, interleave: int = 1) -> float:
        layout = Layout(tensor=8, pipeline=8, micro_batches=micro_batches, interleave=interleave)
        step = job_time(work, layout, SELENE, 1)
        return step.bubble / (step.compute + step.tensor)

    assert bubble(64) < bubble(16) <= 7 / 16
    assert bubble(16, 4) == pytest.approx(bubble(16) / 4)


def test_sending_and_receiving_in_turn_takes_twice_as_long_and_a_gather() -> None:
    layout = Layout(tensor=8, pipeline=8, micro_batches=16)
    paired, in_turn = (
        job_time(job(megatron_gpt(96, 12288, 96), policy="full", paired_sends=paired), layout, SELENE, 1)
        for paired in (True, False)
    )
    assert in_turn.pipeline > 2 * paired.pipeline
    assert in_turn.compute == paired.compute


def test_tensor_collectives_cut_into_pieces_hide_all_but_one_piece_at_a_cost() -> None:
    layout = Layout(tensor=8, sequence_parallel=True, micro_batches=4)
    exposed, hidden = (
        job_time(job(megatron_gpt(24, 12288, 96), overlap_tensor=overlap), layout, SELENE, 4).tensor
        for overlap in (False, True)
    )
    # An eighth is waited for; the rest takes 16 of 108 multiprocessors.
    assert hidden == pytest.approx(exposed * (1 / 8 + 7 / 8 * 16 / 108))


def test_embedding_and_head_count_as_blocks_when_stages_are_balanced() -> None:
    gpt = megatron_gpt(94, 12288, 96)
    even = Layout(tensor=8, pipeline=8, micro_batches=64)
    balanced = Layout(tensor=8, pipeline=8, micro_batches=64, balanced=True)
    assert [stage.blocks for stage in stages(gpt, balanced)] == [11, 11]
    assert [stage.blocks for stage in stages(gpt, even)] == [12, 12]
    with pytest.raises(EngineError, match="balanced stages of gpt would hold no block"):
        stages(megatron_gpt(2, 1024, 16), Layout(pipeline=4, balanced=True))


def test_every_further_micro_batch_reads_and_writes_the_gradients_once_more() -> None:
    work = job(megatron_gpt(24, 2304, 24))
    one, nine = (job_time(work, Layout(micro_batches=m), SELENE, 1) for m in (1, 9))
    gradients = 4 * work.model.parameters
    streaming = SELENE.chip.streaming
    assert nine.update - one.update == pytest.approx(8 * 3 * gradients / streaming, rel=1e-3)
    assert nine.compute == pytest.approx(9 * one.compute)


def test_a_metric_of_the_logits_passes_over_14_bytes_a_logit_and_only_where_the_logits_are() -> None:
    gpt = megatron_gpt(24, 2304, 24)
    for layout, shards in ((Layout(), 1), (Layout(tensor=2), 2)):
        plain, measured = (job_time(job(gpt, metrics=count), layout, SELENE, 4) for count in (0, 2))
        logits = 4 * 2048 * 51200 / shards
        assert measured.compute - plain.compute == pytest.approx(2 * 14 * logits / SELENE.chip.streaming)
    piped = Layout(pipeline=4, micro_batches=64)
    first_is_slowest = [job_time(job(gpt, metrics=count), piped, SELENE, 4).total for count in (0, 2)]
    assert first_is_slowest[1] > first_is_slowest[0]


def test_sharded_gradients_are_copied_and_divided_before_they_are_sent() -> None:
    work = job(megatron_gpt(24, 2304, 24), framework="torch", mode="bf16")
    idle = Cluster(replace(SELENE.chip, multiprocessors=0), 8, SELENE.inside, SELENE.network)
    step = job_time(work, Layout(data=8, zero=3), idle, 4)
    copied = 4 * 2 * work.model.parameters / SELENE.chip.streaming
    assert copied < step.data < 2.5 * copied


def test_tensor_parallelism_between_nodes_is_a_bad_idea() -> None:
    work = job(megatron_gpt(96, 12288, 96), policy="full")
    inside = job_time(work, Layout(tensor=8, pipeline=2, micro_batches=32), SELENE, 1)
    across = job_time(work, Layout(tensor=16, micro_batches=32), SELENE, 1)
    assert inside.total < across.total


def test_search_returns_what_fits_the_fastest_first() -> None:
    work = job(Transformer("13b", 40, 5120, 40, 50304, 2048))
    found = search(work, H100, 16, 64)
    times = [entry.time.total for entry in found]
    assert times == sorted(times)
    for entry in found:
        assert entry.device_bytes <= H100.chip.memory_bytes
        assert entry.layout.devices == 16
        assert entry.micro_batch * entry.layout.micro_batches * entry.layout.data == 64


def test_search_says_when_nothing_fits() -> None:
    laptop = Cluster(accelerator("rtx-4060"), 1, H100.inside, H100.network)
    with pytest.raises(EngineError, match=r"gpt2-xl with a batch of 8 fits no layout of 1 rtx-4060; allowed: more"):
        search(job(model("gpt2-xl"), framework="torch", mode="amp-bf16"), laptop, 1, 8)


@pytest.mark.parametrize(
    ("parameters", "devices", "strategy"),
    [
        (124_000_000, 1, "one device"),
        (1_558_000_000, 8, "data parallelism"),
        (7_000_000_000, 8, "data parallelism with ZeRO-1"),
        (13_000_000_000, 16, "data parallelism with ZeRO-2"),
        (20_000_000_000, 8, "tensor parallelism inside a node"),
        (
            175_000_000_000,
            1024,
            "tensor parallelism inside nodes, pipeline between them, data parallelism over the rest",
        ),
        (10**12, 8, "more devices or offloading"),
    ],
)
def test_choice_rule(parameters: int, devices: int, strategy: str) -> None:
    assert choose(parameters, 80 * 10**9, devices).strategy == strategy


def test_a_chip_without_links_is_no_cluster() -> None:
    with pytest.raises(EngineError, match="orin has no link to other devices"):
        cluster(accelerator("orin"))
