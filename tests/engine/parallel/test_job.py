"""Parallel jobs: published runs, what must hold for every layout, and the search."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ironlaw import estimate
from ironlaw.config.resolved import Setup
from ironlaw.config.setup import setup
from ironlaw.core.errors import EngineError
from ironlaw.graph.operations import flops_per_token, megatron_flops
from ironlaw.hardware.accelerators import accelerator
from ironlaw.hardware.cluster import Cluster, cluster
from ironlaw.memory.ledger import training_memory
from ironlaw.models.transformer import Transformer
from ironlaw.parallel.collectives import all_gather, all_reduce, group_all_reduce, ring_all_reduce
from ironlaw.parallel.job import HOST_COLLECTIVE, JobTime, job_plan, job_time
from ironlaw.parallel.search import search
from ironlaw.time.step import KERNEL_GAP, step_plan
from tests.conftest import tries

SELENE = cluster(accelerator("a100-80"), network="infiniband-hdr")
H100 = cluster(accelerator("h100-sxm"))


def on_selene(gpt: Transformer, batch: int = 1, sequence: int | None = None, **words: Any) -> Setup:
    """Megatron-LM's training on the machine of its papers."""
    words = {"framework": "megatron", "network": "infiniband-hdr", **words}
    return setup(gpt, "a100-80", batch, sequence, **words)


def gpt2_xl(batch: int, **words: Any) -> JobTime:
    """Compiled PyTorch with autocast, on 64 H100 unless other words are given."""
    return job_time("gpt2-xl", "h100-sxm", batch, **{"execution": "compiled", "dp": 64, **words})


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


PAPER: dict[str, Any] = {"attention": "standard", "optimizer": "adam", "dropout": 0.1}
"""What both papers train with."""


def megatron_gpt(layers: int, hidden: int, heads: int) -> Transformer:
    return Transformer("gpt", layers, hidden, heads, 51200, 2048)


def test_megatron_runs_of_2021_are_met_within_a_fifth_at_the_median() -> None:
    # Micro-batches are not published for each row; one sequence is what the larger rows used.
    errors = []
    for heads, hidden, layers, tensor, pipeline, devices, batch, published in MEGATRON_2021:
        data = devices // (tensor * pipeline)
        layout = {"dp": data, "tp": tensor, "pp": pipeline, "micro_batches": batch // data}
        gpt = megatron_gpt(layers, hidden, heads)
        seconds = job_time(on_selene(gpt, **PAPER, checkpointing="full", **layout)).total
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
        c = on_selene(
            gpt,
            micro_batch,
            **PAPER,
            checkpointing=policy,
            dp=data,
            tp=8,
            pp=pipeline,
            sequence_parallel=sequence_parallel,
            micro_batches=batch // (data * micro_batch),
            interleave=interleave,
        )
        assert job_time(c).total == pytest.approx(published, rel=0.2)


layouts: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "dp": st.sampled_from([1, 2, 8, 64]),
        "tp": st.sampled_from([1, 2, 4, 8]),
        "pp": st.sampled_from([1, 2, 4, 5, 12]),
        "zero": st.integers(0, 3),
        "micro_batches": st.integers(1, 16),
    }
).map(lambda words: words if words["dp"] > 1 else words | {"zero": 0})
TEST = Transformer("test", 24, 2048, 16, 50304, 1024)


def on_h100(batch: int, **words: Any) -> Setup:
    """Megatron-LM's training of a model of 24 layers."""
    return setup(TEST, "h100-sxm", batch, framework="megatron", **words)


@settings(max_examples=tries(80))
@given(layout=layouts, micro_batch=st.sampled_from([1, 2, 4]))
def test_parts_sum_to_the_step_and_utilization_is_below_the_compute_share(
    layout: dict[str, Any], micro_batch: int
) -> None:
    c = on_h100(micro_batch, **layout)
    step = job_time(c)
    parts = (step.compute, step.update, step.bubble, step.tensor, step.pipeline, step.data)
    assert min(*parts, step.hidden) >= 0
    assert sum(parts) == pytest.approx(step.total)
    assert 0 < step.scaling_efficiency <= 1
    assert step.convention_flops / (step.devices * step.peak) <= step.total
    if c.devices == 1:
        assert step.scaling_efficiency == 1


@settings(max_examples=tries(40))
@given(layout=layouts, micro_batch=st.sampled_from([1, 4]))
def test_dividing_states_or_tensors_further_never_needs_more_memory(layout: dict[str, Any], micro_batch: int) -> None:
    def needed(**changes: int) -> int:
        return training_memory(on_h100(micro_batch, **(layout | changes))).device_total

    here = needed()
    if layout["tp"] < 8:
        assert needed(tp=2 * layout["tp"]) <= here
    if layout["zero"] in (1, 2, 3) and layout["dp"] > 1:
        assert needed(dp=2 * layout["dp"]) <= here


@settings(max_examples=tries(40))
@given(layout=layouts, micro_batch=st.sampled_from([1, 2]), sequence=st.sampled_from([128, 1024]))
def test_a_plan_evaluated_elsewhere_is_the_job_there(layout: dict[str, Any], micro_batch: int, sequence: int) -> None:
    plan = job_plan(on_h100(16, **layout))
    assert plan(micro_batch, sequence) == job_time(on_h100(micro_batch, sequence=sequence, **layout))


# ---- real stages ----


def test_layers_that_do_not_divide_make_stages_that_take_different_times() -> None:
    """73, 78 and 84 layers over 12 stages: 6 or 7 blocks a stage, and the sum of all is the model."""
    totals = []
    for layers in (73, 78, 84):
        c = on_selene(megatron_gpt(layers, 4096, 32), tp=8, pp=12, micro_batches=48)
        sizes = [stage.blocks for stage in c.stages]
        assert sum(sizes) == layers
        assert set(sizes) == ({7} if layers == 84 else {6, 7})
        totals.append(job_time(c))
    # The last stage, which has the head besides 6, 6 and 7 blocks, is the slowest. The others' blocks make the bubble.
    assert totals[0].compute == totals[1].compute < totals[2].compute
    assert totals[0].bubble < totals[1].bubble < totals[2].bubble
    assert totals[0].total < totals[1].total < totals[2].total


@given(layers=st.integers(12, 100), pipeline=st.integers(2, 12), micro_batches=st.integers(1, 32))
def test_stages_add_up_and_a_step_is_the_slowest_stage_and_one_micro_batch_of_each_other(
    layers: int, pipeline: int, micro_batches: int
) -> None:
    c = on_selene(Transformer("small", layers, 512, 8, 4096, 512), 2, pp=pipeline, micro_batches=micro_batches)
    assert sum(stage.blocks for stage in c.stages) == layers
    every = [step_plan(c, stage)(c.batch, c.sequence) for stage in c.stages]
    # A micro-batch's hidden states and their gradients come and go: four calls of the host.
    busy = [
        max(
            (one.forward + one.backward + one.recompute) / micro_batches, one.host / micro_batches + 4 * HOST_COLLECTIVE
        )
        for one in every
    ]
    step = job_time(c)
    assert step.compute == pytest.approx(micro_batches * max(busy))
    assert step.bubble == pytest.approx(sum(busy) - max(busy))


@settings(max_examples=tries(40))
@given(layers=st.integers(12, 60), pipeline=st.sampled_from([2, 4, 12]))
def test_a_layer_more_never_makes_a_job_faster(layers: int, pipeline: int) -> None:
    one, two = (
        job_time(on_selene(Transformer("small", n, 512, 8, 4096, 512), 2, pp=pipeline, micro_batches=8)).total
        for n in (layers, layers + 1)
    )
    assert one < two


# ---- communication ----


def test_a_fast_network_hides_most_of_an_all_reduce_over_eight_nodes() -> None:
    assert gpt2_xl(4).scaling_efficiency > 0.8


def test_a_network_forty_times_slower_saturates_and_takes_the_efficiency() -> None:
    assert gpt2_xl(4).scaling_efficiency > 0.8
    starved = gpt2_xl(4, network="ethernet-10")
    assert starved.scaling_efficiency < 0.5
    assert starved.bound_by == "communication"


def test_a_larger_batch_lowers_communication_per_compute() -> None:
    small, large = (gpt2_xl(batch, network="ethernet-25") for batch in (1, 16))
    assert large.scaling_efficiency > small.scaling_efficiency


def test_efficiency_falls_as_replicas_are_added() -> None:
    c = setup("gpt2-xl", "h100-sxm", 2, execution="compiled", dp=8, network="ethernet-100")
    steps = [job_time(replace(c, layout=replace(c.layout, data=n))) for n in (1, 8, 64, 512)]
    efficiency = [step.scaling_efficiency for step in steps]
    assert efficiency == sorted(efficiency, reverse=True)
    assert efficiency[0] == 1
    assert [step.devices for step in steps] == [1, 8, 64, 512]
    assert steps[1] == job_time(c)


def test_more_micro_batches_shrink_the_bubble_and_interleaving_too() -> None:
    def bubble(micro_batches: int, interleave: int = 1) -> float:
        words = {"tp": 8, "pp": 8, "micro_batches": micro_batches, "interleave": interleave}
        step = job_time(on_selene(megatron_gpt(96, 12288, 96), checkpointing="full", **words))
        return step.bubble / (step.compute + step.tensor)

    assert bubble(64) < bubble(16) <= 7 / 16
    assert bubble(16, 4) == pytest.approx(bubble(16) / 4)


def test_sending_and_receiving_in_turn_takes_twice_as_long_and_a_gather() -> None:
    words: dict[str, Any] = {"precision": "mixed", "checkpointing": "full", "tp": 8, "pp": 8, "micro_batches": 16}
    paired, in_turn = (
        job_time(on_selene(megatron_gpt(96, 12288, 96), runtime=runtime, **words)) for runtime in ("none", "deepspeed")
    )
    assert in_turn.pipeline > 2 * paired.pipeline
    assert in_turn.compute == paired.compute


def test_tensor_collectives_cut_into_pieces_hide_all_but_one_piece_at_a_cost() -> None:
    words: dict[str, Any] = {"tp": 8, "sequence_parallel": True, "micro_batches": 4}
    exposed, hidden = (
        job_time(on_selene(megatron_gpt(24, 12288, 96), 4, overlap_tensor=overlap, **words)).tensor
        for overlap in (False, True)
    )
    # The step waits for one of eight pieces; the others take 16 of 108 multiprocessors from the computation.
    assert hidden == pytest.approx(exposed * (1 / 8 + 7 / 8 * 16 / 108))


def test_embedding_and_head_count_as_blocks_when_stages_are_balanced() -> None:
    gpt = megatron_gpt(94, 12288, 96)
    even, balanced = (on_selene(gpt, tp=8, pp=8, micro_batches=64, balanced=yes) for yes in (False, True))
    assert [stage.blocks for stage in balanced.stages] == [11, 12, 12, 12, 12, 12, 12, 11]
    assert [stage.blocks for stage in even.stages] == [12, 12, 12, 12, 12, 12, 11, 11]
    assert job_time(balanced).total < job_time(even).total
    with pytest.raises(EngineError, match="pp 4 is not allowed with balanced True and model"):
        on_selene(megatron_gpt(2, 1024, 16), pp=4, balanced=True)


def test_every_further_micro_batch_reads_and_writes_the_gradients_once_more() -> None:
    gpt = megatron_gpt(24, 2304, 24)
    one, nine = (job_time(on_selene(gpt, micro_batches=m, accumulation="separate")) for m in (1, 9))
    gradients = 4 * gpt.parameters
    assert nine.update - one.update == pytest.approx(8 * 3 * gradients / SELENE.chip.streaming, rel=1e-3)
    assert nine.compute == pytest.approx(9 * one.compute)


def test_products_that_add_to_the_sum_leave_nothing_to_add_afterwards() -> None:
    gpt = megatron_gpt(24, 2304, 24)
    apart, fused = (job_time(on_selene(gpt, 4, micro_batches=9, accumulation=a)) for a in ("separate", "fused"))
    assert fused.update == job_time(on_selene(gpt, 4, micro_batches=1)).update < apart.update
    # A product over 8,192 tokens takes longer than the traffic of its sum, which it hides; few tokens hide nothing.
    assert fused.compute == pytest.approx(apart.compute, rel=0.01)
    few = [job_time(on_selene(gpt, 1, 64, accumulation=a)).compute for a in ("separate", "fused")]
    assert few[1] > 1.02 * few[0]


def test_chunks_of_an_interleaved_schedule_give_collectives_more_time_to_hide() -> None:
    gpt = megatron_gpt(48, 8192, 64)
    run: dict[str, Any] = {"pp": 4, "dp": 16, "zero": 1, "micro_batches": 4, "network_gbit": 50.0}
    plain, interleaved = (job_time(on_selene(gpt, interleave=v, **run)) for v in (1, 6))
    assert interleaved.data < plain.data
    assert interleaved.data + interleaved.hidden == pytest.approx(plain.data + plain.hidden, rel=0.2)


def test_a_metric_of_the_logits_passes_over_14_bytes_a_logit_and_only_where_the_logits_are() -> None:
    gpt = megatron_gpt(24, 2304, 24)
    for shards in (1, 2):
        plain, measured = (job_time(on_selene(gpt, 4, metrics=count, tp=shards)) for count in (0, 2))
        logits = 4 * 2048 * 51200 / shards
        each = 14 * logits / SELENE.chip.streaming + KERNEL_GAP
        assert measured.compute - plain.compute == pytest.approx(2 * each)
    c = {count: on_selene(gpt, 4, metrics=count, pp=4, micro_batches=64) for count in (0, 2)}
    first, last = ([step_plan(c[n], c[n].stages[at])(4, 2048).total for n in (0, 2)] for at in (0, -1))
    assert first[0] == first[1]
    assert last[0] < last[1]
    assert job_time(c[0]).total < job_time(c[2]).total


def test_sharded_gradients_are_copied_and_divided_before_they_are_sent() -> None:
    gpt = megatron_gpt(24, 2304, 24)
    idle = replace(SELENE.chip, multiprocessors=0)
    step = job_time(gpt, idle, 4, precision="bf16", execution="compiled", dp=8, zero=3, network="infiniband-hdr")
    copied = 4 * 2 * gpt.parameters / SELENE.chip.streaming
    assert copied < step.data < 2.5 * copied


# ---- tensor parallelism across nodes ----


def test_gradients_beside_tensor_groups_are_summed_by_trees_too() -> None:
    # 256 replicas of 4 devices: two of each data group share a node, and 128 nodes take part.
    where = setup(TEST, "h100-sxm", 1, dp=256, tp=4)
    sent = job_time(where).hidden + job_time(where).communication
    bucket = 25 * 2**20
    bandwidth, latency = H100.collective(bucket, within_node=False, nodes=128, inside=2)
    ring = ring_all_reduce(bucket / 2, 128, bandwidth, latency)
    gradients = where.precision.gradients.bytes(where.model.parameters) / 4
    assert sent < gradients / bucket * ring


def test_tensor_parallelism_between_nodes_is_a_bad_idea() -> None:
    gpt = megatron_gpt(96, 12288, 96)
    inside = job_time(on_selene(gpt, checkpointing="full", tp=8, pp=2, micro_batches=32))
    across = job_time(on_selene(gpt, checkpointing="full", tp=16, micro_batches=32))
    assert inside.total < across.total


@pytest.mark.parametrize("micro_batch", [1, 4])
def test_a_tensor_group_of_two_nodes_sums_inside_nodes_and_between_them(micro_batch: int) -> None:
    """Slower than eight devices that share a node, faster than a flat ring whose every hop is as slow as the network.

    Nor slower than three phases one after the other: scatter in each node, reduce between nodes, gather.
    """
    gpt = megatron_gpt(24, 12288, 96)
    size = micro_batch * 2048 * 12288 * 2
    # Four all-reduces a block; one each for embedding and head, forward and backward.
    count = 4 * gpt.layers + 4
    seconds = {
        tensor: job_time(gpt, "h100-sxm", micro_batch, framework="megatron", tp=tensor).tensor / count
        for tensor in (8, 16)
    }
    for tensor, each in seconds.items():
        assert each == pytest.approx(group_all_reduce(size, tensor, H100))
    network, latency = H100.bandwidth(within_node=False), H100.latency(within_node=False)
    assert seconds[8] < seconds[16] < ring_all_reduce(size, 16, network, latency)
    near, near_latency = H100.collective(size, within_node=True)
    phases = 2 * all_gather(size, 8, near, near_latency) + all_reduce(size / 8, 2, network, latency)
    assert seconds[16] < phases


@pytest.mark.parametrize("size", [5e7, 2e8])
@pytest.mark.parametrize("where", [SELENE, cluster(accelerator("rtx-4090"), network="ethernet-100")])
def test_two_nodes_never_sum_faster_than_one(where: Cluster, size: float) -> None:
    assert group_all_reduce(size, 8, where) <= group_all_reduce(size, 16, where)


# ---- utilization ----


@settings(max_examples=tries(80))
@given(layout=layouts, micro_batch=st.sampled_from([1, 2, 8]), policy=st.sampled_from(["none", "selective", "full"]))
def test_utilization_of_a_job_is_the_convention_over_all_devices_peak(
    layout: dict[str, Any], micro_batch: int, policy: str
) -> None:
    c = on_h100(micro_batch, checkpointing=policy, **layout)
    step = job_time(c)
    assert 0 < step.mfu <= step.hfu <= 1
    assert step.tokens == c.tokens == micro_batch * 1024 * layout["micro_batches"] * layout["dp"]
    assert step.devices == c.devices == layout["dp"] * layout["tp"] * layout["pp"]
    available = step.total * H100.chip.peak("bf16") * step.devices
    assert step.mfu == pytest.approx(flops_per_token(TEST, 1024) * step.tokens / available)
    assert step.hfu == pytest.approx(step.mfu + step.recomputed_flops / available)


# ---- search ----


def test_search_returns_what_fits_the_fastest_first() -> None:
    found = search(
        setup(Transformer("13b", 40, 5120, 40, 50304, 2048), framework="megatron"), devices=16, global_batch=64
    )
    times = [entry.time.total for entry in found]
    assert times == sorted(times)
    for entry in found:
        c = entry.setup
        assert entry.device_bytes == training_memory(c).device_total <= H100.chip.usable_bytes
        assert entry.time == job_time(c)
        assert c.devices == 16
        assert c.batch * c.micro_batches * c.replicas == 64


def test_search_says_when_nothing_fits() -> None:
    with pytest.raises(
        EngineError,
        match=r"^devices 1 is not allowed with model gpt2-xl .* as no layout fits; allowed: more",
    ):
        search(setup("gpt2-xl", "rtx-4060", execution="compiled"), devices=1, global_batch=8)


def test_a_chip_without_links_is_no_cluster() -> None:
    with pytest.raises(EngineError, match="link is missing with gpu orin"):
        cluster(accelerator("orin"))


def test_a_host_that_issues_collectives_bounds_small_steps_and_no_others() -> None:
    words: dict[str, Any] = {"dp": 64, "zero": 3, "execution": "eager"}
    blocks = 12
    small, large = (job_time("gpt2", "h100-sxm", batch, sequence, **words) for batch, sequence in ((1, 32), (64, 1024)))
    alone = step_plan(setup("gpt2", "h100-sxm", 1, 32, execution="eager"))(1, 32)
    assert small.compute >= alone.host + 3 * blocks * HOST_COLLECTIVE
    plan = step_plan(setup("gpt2", "h100-sxm", 64, 1024, execution="eager", dp=64, zero=3))(64, 1024)
    assert large.compute == pytest.approx(plan.forward + plan.backward)


def test_uneven_counts_of_devices_are_taken_as_equal_nodes() -> None:
    """Twenty devices of nodes of eight are four nodes of five, whose links inside count; said in the assumptions."""
    asked: dict[str, Any] = {"model": "llama3-8b", "gpu": "h100-sxm", "batch": 1, "sequence": 2048, "zero": 3}
    sixteen, twenty = (estimate(**asked, dp=many) for many in (16, 20))
    one_each = estimate(**asked, dp=20, node_size=1)
    assert sixteen.time.step_s < twenty.time.step_s < one_each.time.step_s / 3
    assert twenty.time.step_s == pytest.approx(estimate(**asked, dp=20, node_size=5).time.step_s)
    assert any("Nodes of 5 devices" in line for line in twenty.assumptions)
    assert any("Nodes of 8 devices" in line for line in sixteen.assumptions)
