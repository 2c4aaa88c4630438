"""Layouts: what sharding leaves on one device, against the papers' closed forms."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw import EngineError, Layout, Transformer, model, precision, training_memory
from ironlaw.config.layout import stages, tensor_shard
from ironlaw.graph import sections
from ironlaw.graph.blocks import FrameworkName
from ironlaw.memory.textbook import state_bytes_per_parameter
from ironlaw.parallel.model_parallel import activation_bytes_per_layer

GPT3 = model("gpt3-175b")


@pytest.mark.parametrize("zero", [0, 1, 2, 3])
def test_zero_divides_states_as_its_table_says(zero: int) -> None:
    """arXiv 1910.02054, figure 1: 16, 4 + 12/n, 2 + 14/n and 16/n bytes per parameter."""
    n = 64
    ledger = training_memory("gpt2-xl", precision="mixed", dp=n, zero=zero, update="fused")
    state = sum(ledger.component(c) for c in ("parameters", "gradients", "master", "optimizer"))
    assert state / model("gpt2-xl").parameters == pytest.approx(state_bytes_per_parameter(zero, n), rel=1e-5)


@pytest.mark.parametrize("recompute", ["none", "selective", "full"])
@pytest.mark.parametrize(("tensor", "sequence_parallel"), [(1, False), (8, False), (8, True)])
def test_megatron_blocks_keep_exactly_what_korthikanti_counts(
    tensor: int, sequence_parallel: bool, recompute: str
) -> None:
    """arXiv 2205.05198, table 2, for every technique: 16 bit, dropout, standard attention."""
    b, s = 2, 2048
    ledger = training_memory(
        GPT3, precision="megatron", framework="megatron", batch=b, sequence=s, attention="standard", dropout=0.1,
        checkpointing=recompute, tp=tensor, sequence_parallel=sequence_parallel,
    )  # fmt: skip
    kept = ledger.bytes_by_part("activations")["block"]
    paper = activation_bytes_per_layer(
        s, b, GPT3.hidden, GPT3.heads, tensor, sequence_parallel=sequence_parallel, checkpointing=recompute
    )
    if recompute == "full" and sequence_parallel:
        paper = paper / tensor  # the paper keeps the whole input; a divided residual stream keeps its shard
    assert kept == pytest.approx(GPT3.layers * paper, rel=1e-12)


def test_the_first_stage_of_1f1b_keeps_as_much_as_all_blocks_of_one_micro_batch() -> None:
    """arXiv 2205.05198, section 4.2.3: p micro-batches in flight times L/p blocks."""
    whole = training_memory("gpt3-175b", precision="megatron", framework="megatron", dropout=0.1)
    split = training_memory(
        "gpt3-175b", precision="megatron", framework="megatron", dropout=0.1, pp=8, micro_batches=64
    )
    assert split.bytes_by_part("activations")["block"] == whole.bytes_by_part("activations")["block"]


def test_interleaving_keeps_more_by_one_plus_p_minus_1_over_p_v() -> None:
    plain, interleaved = (
        stages(GPT3, Layout(pipeline=8, micro_batches=64, interleave=v))[0].kept_blocks for v in (1, 3)
    )
    assert interleaved / plain == pytest.approx(1 + 7 / (8 * 3))


def test_gpipe_keeps_every_micro_batch() -> None:
    first = stages(GPT3, Layout(pipeline=8, micro_batches=32, schedule="gpipe"))[0]
    assert first.kept_blocks == 32 * 96 // 8


@pytest.mark.parametrize("tensor", [2, 4, 8])
def test_tensor_shards_add_up_to_the_model_and_its_copies(tensor: int) -> None:
    """Norms and the biases of row-parallel matrices are on every device; the vocabulary is padded."""
    shard = tensor_shard(GPT3, tensor)
    copies = sum(
        p.elements * p.count
        for p in GPT3.parameter_tensors
        if p.role == "norm" or p.name == "wpe.weight" or p.name.endswith("c_proj.bias")
    )
    padding = (tensor * shard.vocab - GPT3.vocab) * GPT3.hidden
    assert tensor * shard.parameters == GPT3.parameters + (tensor - 1) * copies + padding


def test_key_value_heads_fewer_than_devices_are_repeated() -> None:
    assert tensor_shard(model("llama3-8b"), 8).kv_heads == 1
    assert tensor_shard(model("palm-8b"), 8).kv_heads == 1


def with_fitting_zero(layout: dict[str, Any]) -> dict[str, Any]:
    """The layout without ZeRO if it has one replica, because ZeRO divides states among replicas."""
    return layout if layout["dp"] > 1 else layout | {"zero": 0}


layouts = st.fixed_dictionaries(
    {
        "dp": st.sampled_from([1, 2, 8]),
        "tp": st.sampled_from([1, 2, 4]),
        "pp": st.sampled_from([1, 2, 4]),
        "zero": st.sampled_from([0, 1, 2, 3]),
        "micro_batches": st.sampled_from([1, 4, 16]),
    }
).map(with_fitting_zero)


@given(layouts, st.sampled_from(["gpt2-medium", "llama2-7b", "qwen2.5-0.5b"]), st.sampled_from(["torch", "megatron"]))
def test_sharding_never_adds_static_memory(layout: dict[str, Any], name: str, framework: str) -> None:
    """Buckets and gathered parameters are scratch that sharding needs; they are counted apart."""
    m = model(name)
    if m.heads % layout["tp"]:
        return
    one = training_memory(m, sequence=128, framework=framework, precision="fp32")
    shard = training_memory(m, sequence=128, framework=framework, precision="fp32", **layout)
    for component in ("parameters", "gradients", "optimizer"):
        assert shard.component(component) <= one.component(component)


@given(layouts)
def test_more_devices_never_need_more_each(layout: dict[str, Any]) -> None:
    one, two = (
        training_memory("gpt2-medium", sequence=128, precision="fp32", **some).component("optimizer")
        for some in (layout, layout | {"dp": 2 * layout["dp"]})
    )
    assert two <= one


def test_ddp_copies_gradients_into_buckets() -> None:
    ledger = training_memory("gpt2", dp=8, precision="fp32")
    assert ledger.component("buckets") == ledger.component("gradients")
    assert training_memory("gpt2", framework="megatron", dp=8, precision="fp32").component("buckets") == 0


def test_every_tensor_names_the_group_that_divides_it() -> None:
    ledger = training_memory("gpt2-medium", dp=8, tp=2, zero=1, precision="fp32")
    groups = {t.component: t.shard_group for t in ledger.tensors if t.component in ("parameters", "optimizer")}
    assert groups == {"parameters": "tensor", "optimizer": "tensor+data"}


def test_the_last_stage_of_a_tied_model_holds_its_own_table() -> None:
    first, *_, last = stages(model("gpt2"), Layout(pipeline=4))
    assert (first.first, first.last, last.first, last.last) == (True, False, False, True)
    ledger = training_memory("gpt2", pp=4, sequence=8, batch=1, framework="megatron", precision="fp32")
    names = {t.name for t in ledger.tensors if t.component == "parameters"}
    assert ("wte.weight" in names) != ("lm_head.weight" in names)


@given(
    layers=st.integers(1, 130),
    pipeline=st.integers(2, 40),
    micro_batches=st.integers(1, 64),
    balanced=st.booleans(),
    schedule=st.sampled_from(["1f1b", "gpipe"]),
)
def test_the_blocks_of_all_stages_are_the_models_and_one_stage_each_has_the_embedding_and_the_head(
    layers: int, pipeline: int, micro_batches: int, balanced: bool, schedule: str
) -> None:
    gpt = Transformer("gpt", layers, 256, 4, 1000, 64)
    layout = Layout(pipeline=pipeline, micro_batches=micro_batches, balanced=balanced, schedule=schedule)
    try:
        every = stages(gpt, layout)
    except EngineError:
        # Fewer blocks than stages, or slots that embedding or head fill alone.
        slots = layers + 2 * balanced
        assert pipeline > slots or (balanced and slots // pipeline < 2)
        return
    sizes = [stage.blocks for stage in every]
    assert len(every) == pipeline
    assert sum(sizes) == layers
    slots_filled = [size + balanced * (stage.first + stage.last) for size, stage in zip(sizes, every, strict=True)]
    assert slots_filled == sorted(slots_filled, reverse=True)
    assert slots_filled[0] - slots_filled[-1] <= 1
    assert [stage.first for stage in every] == [True] + [False] * (pipeline - 1)
    assert [stage.last for stage in every] == [False] * (pipeline - 1) + [True]
    in_flight = [micro_batches if schedule == "gpipe" else min(pipeline - i, micro_batches) for i in range(pipeline)]
    assert [stage.in_flight for stage in every] == in_flight
    assert [stage.kept_blocks for stage in every] == [n * size for n, size in zip(in_flight, sizes, strict=True)]


@given(st.sampled_from([2, 3, 4, 6, 12]), st.sampled_from([1, 2, 4, 8]), st.integers(1, 4))
def test_interleaved_stages_hold_as_many_blocks_and_the_last_keeps_the_least(p: int, v: int, rounds: int) -> None:
    """Korthikanti et al. 2022, section 4.2.3: p v + p - 1 chunks in flight on the first stage, one less on each after.

    No stage keeps more than all its micro-batches' blocks.
    """
    layers = 2 * p * v
    gpt = Transformer("gpt", layers, 256, 4, 1000, 64)
    every = stages(gpt, Layout(pipeline=p, micro_batches=rounds * p, interleave=v))
    assert [stage.blocks for stage in every] == [layers // p] * p
    chunks = [p * v + p - 1 - i for i in range(p)] if v > 1 else [p - i for i in range(p)]
    assert [s.kept_blocks for s in every] == [min(c * layers // (p * v), layers // p * rounds * p) for c in chunks]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Layout(data=0), "data 0 is not allowed"),
        (lambda: Layout(zero=4), "zero 4 is unknown; allowed: 0, 1, 2, 3"),
        (lambda: Layout(schedule="zigzag"), "schedule 'zigzag' is unknown; allowed: gpipe, 1f1b"),
        (
            lambda: tensor_shard(model("gpt2-xl"), 2),
            "tensor 2 is not allowed with model gpt2-xl, which has 25",
        ),
        (
            lambda: stages(model("gpt2"), Layout(pipeline=13)),
            "pipeline 13 is not allowed with model gpt2, which",
        ),
    ],
)
def test_an_impossible_layout_is_refused_in_one_line(make: object, message: str) -> None:
    with pytest.raises(EngineError) as error:
        make()  # type: ignore[operator]
    assert str(error.value).startswith(message)


@given(st.sampled_from([1, 2, 4]), st.booleans())
def test_every_list_can_be_divided_along_the_sequence(tensor: int, megatron: bool) -> None:
    m = Transformer("t", 2, 256, 4, 1000, 64, position="rope", norm="rmsnorm", mlp="swiglu", tied=False, bias=False)
    shard, mode = tensor_shard(m, tensor), precision("bf16")
    framework: FrameworkName = "megatron" if megatron else "torch"
    whole = sections(shard, mode, "flash", 0.0, "cuda", framework)
    split = sections(shard, mode, "flash", 0.0, "cuda", framework, tensor)
    for a, b in zip(whole, split, strict=True):
        assert sum(v.bytes(2, 64) for v in b.saved) <= sum(v.bytes(2, 64) for v in a.saved)


def test_torch_keeps_the_gathered_input_of_a_product_where_megatron_gathers_again() -> None:
    """A PyTorch linear layer saves what it multiplied, which is the whole sequence; Megatron's saves its own shard."""
    m, mode, tensor = model("llama3-8b"), precision("bf16"), 4
    for framework, shards in (("torch", 1), ("megatron", tensor)):
        block = sections(tensor_shard(m, tensor), mode, "flash", 0.0, "cuda", framework, tensor)[1]
        first = next(op for op in block.ops if op.kind == "matmul")
        assert first.saved[0].bytes(2, 512) * shards == 2 * (2 * 512 * m.hidden)
