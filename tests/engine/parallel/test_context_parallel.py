"""Context parallelism: what each device holds, computes and sends, beside one device and beside published runs."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.answers.advice import ways
from ironlaw.answers.changes import context, more_context
from ironlaw.answers.estimate import prepare
from ironlaw.answers.explanation import explain
from ironlaw.config.layout import Layout
from ironlaw.config.resolved import Setup, stage_sections
from ironlaw.config.setup import setup
from ironlaw.core.errors import EngineError
from ironlaw.core.sizes import Size
from ironlaw.memory.ledger import memory_plans, training_memory
from ironlaw.memory.tensors import MemoryLedger
from ironlaw.models.transformer import model
from ironlaw.parallel.collectives import ring_seconds, sends
from ironlaw.parallel.job import job_time
from ironlaw.parallel.search import search
from ironlaw.time.attention import kernel_share, ring_share
from ironlaw.time.step import step_plan, step_time

MODELS = st.sampled_from(
    ("llama3-8b", "palm-8b", "qwen2.5-0.5b", "Qwen/Qwen3-8B", "Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V2-Lite")
)
WAYS = st.sampled_from((2, 4, 8, 16))
PARTS = st.integers(1, 8)
"""Parts of 32 tokens that a device has of each half of a sequence."""
WORDS = st.fixed_dictionaries(
    {
        "batch": st.integers(1, 4),
        "checkpointing": st.sampled_from(("none", "selective", "full")),
        "loss": st.sampled_from(("full", "chunked:8")),
        "execution": st.sampled_from(("eager", "compiled")),
    }
)


def shared(name: str, devices: int, sequence: int, **words: Any) -> Setup:
    """A setup whose sequences so many devices share; compiled code where the model is known compiled."""
    if words.get("execution") == "compiled" and model(name).undivided:
        words["execution"] = "eager"
    return setup(name, "h100-sxm", sequence=sequence, cp=devices, **words)


def whole(c: Setup) -> Setup:
    """The same on one device."""
    return c.whole


@given(MODELS, WORDS, st.sampled_from((1, 2, 4)))
def test_one_device_that_shares_with_nobody_is_as_without_the_word(name: str, words: dict[str, Any], data: int) -> None:
    """The word's default changes nothing, to the last digit."""
    with_it = shared(name, 1, 512, dp=data, **words)
    words = {**words, "execution": with_it.framework.execution}
    assert with_it == setup(name, "h100-sxm", sequence=512, dp=data, **words)
    assert Layout() == Layout(context=1)


@given(MODELS, WAYS, PARTS, WORDS)
def test_what_tokens_keep_divides_to_the_byte(name: str, ways: int, parts: int, words: dict[str, Any]) -> None:
    """Of every kept tensor a device has a share of its tokens; what no token makes is there whole."""
    sequence = 64 * parts * ways
    c = shared(name, ways, sequence, **words)
    (mine,), (alone,) = memory_plans(c), memory_plans(whole(c))
    for own, all_of_it in zip(mine.saved, alone.saved, strict=True):
        assert (own.name, own.dtype, own.count) == (all_of_it.name, all_of_it.dtype, all_of_it.count)
        of_tokens = Size(tuple(term for term in own.size.terms if term[0][1]))
        fixed = own.size + of_tokens * -1
        assert of_tokens(c.batch, sequence // ways) * ways + fixed(c.batch, 1) == all_of_it.size(c.batch, sequence)


@given(MODELS, WAYS, PARTS, WORDS)
def test_all_devices_together_compute_what_one_does(name: str, ways: int, parts: int, words: dict[str, Any]) -> None:
    """Model FLOPs of all devices add up to those of one, and so do those that are done again."""
    sequence = 64 * parts * ways
    c = shared(name, ways, sequence, **words)
    mine, alone = step_time(c), step_time(whole(c))
    assert mine.model_flops * ways == pytest.approx(alone.model_flops, rel=1e-12)
    assert mine.recomputed_flops * ways == pytest.approx(alone.recomputed_flops, rel=1e-12)
    assert mine.tokens * ways == alone.tokens
    assert mine.convention_flops * ways == pytest.approx(alone.convention_flops, rel=1e-12)
    assert prepare(c)().flops == prepare(whole(c))().flops


@given(st.integers(1, 9), st.integers(1, 6))
def test_a_zigzag_gives_every_device_equally_many_pairs(ways: int, half: int) -> None:
    """Counted pair by pair: an early and a late part each, and every step after the first as long on all devices."""

    def tokens(device: int) -> list[int]:
        late = 2 * ways - 1 - device
        return [*range(device * half, (device + 1) * half), *range(late * half, (late + 1) * half)]

    def pairs(queries: int, keys: int) -> int:
        return sum(q >= k for q, k in product(tokens(queries), tokens(keys)))

    total = 2 * ways * half * (2 * ways * half + 1) // 2
    assert all(sum(pairs(device, other) for other in range(ways)) * ways == total for device in range(ways))
    others = {pairs(a, b) for a in range(ways) for b in range(ways) if a != b}
    assert others <= {2 * half * half}  # half of the square of a device's tokens


@given(st.integers(1, 64), st.integers(128, 10**6))
def test_the_causal_saving_stays(ways: int, own: int) -> None:
    """A ring's kernels take no less than half of all products, and come as near to it as one kernel does."""
    share = ring_share(own, ways)
    assert share == pytest.approx(kernel_share(own), rel=1e-12) if ways == 1 else 0.5 < share <= kernel_share(own)
    assert ring_share(own, ways) >= kernel_share(own * ways)  # shorter kernels reach less of their rate


@pytest.mark.parametrize("checkpointing", ["none", "selective", "full"])
@pytest.mark.parametrize(("name", "tensor"), [("llama3-8b", 1), ("llama3-8b", 4), ("palm-8b", 2)])
@pytest.mark.parametrize("ways", [2, 4, 16])
def test_a_ring_sends_the_bytes_of_the_closed_form(name: str, tensor: int, ways: int, checkpointing: str) -> None:
    """3 (c-1) times a device's keys and values, 4 (c-1) where attention runs again, by the steps of the source."""
    c = setup(name, "h100-sxm", 2, 256 * ways, framework="megatron", tp=tensor, cp=ways, checkpointing=checkpointing)
    layers = c.model.layers
    sent = sum(
        count * size * steps * times
        for phase, count, size, _ in step_plan(c).rings(c.batch, c.sequence)
        for steps, times in sends(ways, backward=phase == "backward")
    )
    width = max(c.model.kv_heads // tensor, 1) * c.model.head_size  # a single head is on every device
    again = 4 if checkpointing != "none" else 3
    assert sent == layers * again * (ways - 1) * 2 * 2 * 256 * width * 2  # K and V, b, s/c, w, 16 bits


def test_what_a_ring_holds_while_it_computes() -> None:
    """By hand, from Transformer Engine's code: every step's keys, values, results, their sum in fp32; two buffers."""
    c = setup("llama3-8b", "h100-sxm", 1, 4096 * 8, cp=8, framework="megatron")
    assert c.own_sequence == 4096
    block = next(part for part in stage_sections(c, c.stages[0]) if part.name == "block")
    (op,) = (op for op in block.ops if op.kind == "attention")
    q, kv, heads = 4096 * 4096 * 2, 2 * 4096 * 1024 * 2, 4096 * 32 * 4
    assert op.forward_workspace(1, 4096) == 8 * (kv + q + heads) + 2 * q
    accumulated = 2 * q + heads  # of FlashAttention's own backward kernel
    assert op.backward_workspace(1, 4096) == accumulated + 3 * kv + (q + kv)


def test_sends_are_hidden_as_far_as_attention_is_longer() -> None:
    assert ring_seconds(1.0, 2.0, 5.0, 4, backward=False) == (3.0, 0.0)
    assert ring_seconds(1.0, 2.0, 1.5, 4, backward=True) == (2 * 1.0 + 2 * 2.0, 2 * 0.5)
    assert ring_seconds(1.0, 2.0, 0.25, 2, backward=True) == (2.0, 1.5)
    assert ring_seconds(1.0, 2.0, 0.25, 1, backward=True) == (0.0, 0.0)


@given(WAYS, st.sampled_from((1, 2, 4)), st.integers(0, 3), st.sampled_from(("torch", "megatron")))
def test_states_are_divided_among_replicas_and_parts_of_sequences(
    ways: int, data: int, zero: int, framework: str
) -> None:
    """ZeRO's group is dp x cp (Megatron-LM, `core/parallel_state.py`): what does not depend on tokens is as with dp."""
    words: dict[str, Any] = {"framework": framework, "zero": zero}
    mine = training_memory(setup("gpt2", "h100-sxm", 1, 512, cp=ways, dp=data, **words))
    replicas = training_memory(setup("gpt2", "h100-sxm", 1, 512, dp=ways * data, **words))
    assert mine.static_bytes == replicas.static_bytes


def test_gradients_are_summed_over_both_groups() -> None:
    groups: tuple[dict[str, Any], ...] = ({"dp": 2, "cp": 8}, {"dp": 16})
    shared_, copies = (
        job_time(setup("llama3-8b", "h100-sxm", 1, 8192, framework="megatron", overlap=False, **words))
        for words in groups
    )
    assert shared_.data == pytest.approx(copies.data, rel=1e-9)


def test_a_ring_lies_inside_a_node_beside_its_tensor_group() -> None:
    """Megatron's order is tp-cp-ep-dp-pp: eight devices of a node hold two by four, and sixteen do not fit."""

    def waited(**words: Any) -> float:
        return job_time(setup("llama3-8b", "h100-sxm", 1, 32768, framework="megatron", tp=2, **words)).context

    inside, across = waited(cp=4), waited(cp=4, node_size=4)
    assert across > inside
    assert waited(cp=8) > inside


@given(WAYS, st.integers(1, 4))
def test_more_devices_are_faster_and_never_better_than_proportional(ways: int, batch: int) -> None:
    words: dict[str, Any] = {"framework": "megatron", "zero": 1}
    times = [
        job_time(setup("llama3-8b", "h100-sxm", batch, 65536, dp=2, cp=each, **words)).total
        for each in (ways // 2, ways)
    ]
    assert times[1] < times[0]
    assert times[1] > 0.45 * times[0]


def test_masks_scores_and_positions_of_other_kernels_are_refused() -> None:
    for words, message in (
        ({"sequence": 1000}, "sequence 1000 is not allowed with cp 16; it must be a multiple of 32"),
        ({"attention": "standard"}, "attention 'standard' is not allowed with cp 16; allowed: flash"),
        ({"backend": "cpu"}, "backend 'cpu' is not allowed with cp 16; allowed: cuda"),
        ({"precision": "deepspeed", "runtime": "deepspeed"}, "runtime 'deepspeed' is not allowed with cp 16"),
        (
            {"model": "bloom-176b", "sequence": 2048},
            "cp 16 is not allowed with model bloom-176b, whose attention has a bias",
        ),
        ({"model": "openai/gpt-oss-20b"}, "cp 16 is not allowed with model gpt-oss-20b, whose attention has windows"),
        ({"logits": "fp32-shifted"}, "logits 'fp32-shifted' is not allowed with cp 16"),
        ({"cp": 0}, "cp 0 is not allowed"),
    ):
        asked: dict[str, Any] = {"model": "llama3-8b", "gpu": "h100-sxm", "sequence": 4096, "cp": 16, **words}
        with pytest.raises(EngineError) as raised:
            setup(**asked)
        assert str(raised.value).startswith(message), (str(raised.value), message)
    with pytest.raises(EngineError, match="multiple of 32"):
        prepare(setup("llama3-8b", "h100-sxm", sequence=4096, cp=16))(sequence=4095)


@pytest.mark.parametrize("sequence", [8192, 131072])
def test_a_plan_evaluates_any_sequence_as_a_setup_of_it(sequence: int) -> None:
    words: dict[str, Any] = {"cp": 8, "dp": 2, "zero": 1}
    plan = prepare(setup("llama3.1-8b", "h100-sxm", sequence=4096, **words))
    assert plan(sequence=sequence) == prepare(setup("llama3.1-8b", "h100-sxm", sequence=sequence, **words))()


def test_a_ledger_is_that_of_one_devices_tokens() -> None:
    ledger = training_memory(setup("gpt2", "h100-sxm", 2, 1024, cp=4))
    assert isinstance(ledger, MemoryLedger)
    assert (ledger.batch, ledger.sequence) == (2, 256)


# NVIDIA/NeMo, docs/source/performance/performance_long_sequence.md, commit 0aa267117: Llama 2 7B in FP8 on DGX H100
# (container 24.03.01): thousands of tokens a sequence, tensor, data, context, TFLOP/s of a GPU by 6 N + 12 L h T: other
# tables of these releases give tokens/s too, and this count turns one into the other. The batch is not said; four
# million tokens a step are assumed, as the table for B200 has them. The rate does not depend on it much.
LONG = [
    (32, 2, 8, 2, 610),
    (64, 4, 8, 2, 574),
    (128, 4, 8, 4, 555),
    (256, 4, 8, 8, 549),
    (512, 8, 4, 16, 549),
    (1024, 8, 4, 32, 536),
]


@pytest.mark.parametrize(("thousands", "tensor", "data", "context", "published"), LONG)
def test_long_sequences_of_nemo(thousands: int, tensor: int, data: int, context: int, published: float) -> None:
    """Within a tenth, from 32 thousand to a million tokens, by physics alone; printed where pytest shows output."""
    c = setup(
        "llama2-7b", "h100-sxm", 1, thousands * 1024, framework="megatron", precision="fp8", tp=tensor, dp=data,
        cp=context, zero=1, sequence_parallel=True, overlap_tensor=True, accumulate=4096 // thousands // data,
        network_gbit=400,
    )  # fmt: skip
    time = job_time(c)
    predicted = time.mfu * time.peak / 1e12
    print(f"{thousands} k tokens: published {published} TFLOP/s, predicted {predicted:.0f}")
    assert abs(predicted / published - 1) < 0.1
    assert prepare(c)().fits  # it ran


# Tokens a second and GPU on H100 in FP8, sequences of 8,192, two devices a sequence. NeMo 24.07: NVIDIA/NeMo,
# docs/source/performance/performance_summary.md, commit 070a0bb16; Megatron-Bridge 25.11: NVIDIA-NeMo/Megatron-Bridge,
# docs/performance-summary.md, commit 00b7660be.
SHORT = [
    ("llama3-8b", 4, 1, 1, 1, 32, 12036),
    ("llama3-70b", 2, 4, 4, 5, 64, 1533),
    ("llama3.1-405b", 8, 8, 8, 8, 64, 292),
]


@pytest.mark.parametrize(("name", "data", "tensor", "pipeline", "interleave", "passes", "published"), SHORT)
def test_pre_training_of_llama_3(
    name: str, data: int, tensor: int, pipeline: int, interleave: int, passes: int, published: float
) -> None:
    """In the calibrated band, whose coefficients do not know these runs, and by physics alone within a fifth."""
    c = setup(
        name, "h100-sxm", 1, 8192, framework="megatron", precision="fp8", dp=data, tp=tensor, pp=pipeline, cp=2,
        interleave=interleave, micro_batches=passes, balanced=name == "llama3.1-405b", zero=1,
        sequence_parallel=tensor > 1, overlap_tensor=tensor > 1,
    )  # fmt: skip
    found = prepare(c)()
    assert found.calibrated is not None
    rate, predicted = found.calibrated.tokens_per_s, found.time.tokens_per_s / c.devices
    print(f"{name}: published {published} tokens/s and GPU, predicted {predicted:.0f}")
    assert rate.low <= published * c.devices <= rate.high
    assert abs(predicted / published - 1) < 0.2


def test_a_long_sequence_is_offered_more_devices_and_a_short_one_is_not() -> None:
    asked = setup("llama3.1-8b", "h100-sxm", sequence=65536, dp=16, zero=3, checkpointing="full")
    options = {one.option: one for one in ways(asked)}
    assert options["--cp 4 --dp 4 --zero 3 --accumulate 4"].verdict == "fits"
    assert not context(setup("llama3.1-8b", "h100-sxm", sequence=4096, dp=16))
    alone = setup("llama3.1-8b", "h100-sxm", sequence=262144, checkpointing="full")
    assert [(change.words["cp"], change.words["zero"]) for change in more_context(alone)][:2] == [(2, 1), (2, 2)]
    for change in (*context(asked), *more_context(alone)):
        assert change.apply(asked) == setup(
            "llama3.1-8b", "h100-sxm", sequence=65536, checkpointing="full", **{"dp": 16, "zero": 3, **change.words}
        )


def test_an_answer_says_what_it_counts() -> None:
    asked = setup("llama3.1-8b", "h100-sxm", sequence=65536, cp=16, dp=2, zero=1)
    found = prepare(asked)()
    assert any("16 devices share every sequence" in line for line in found.assumptions)
    explained = explain(asked)
    [line] = [line for line in explained.time if line.name == "context parallelism"]
    assert line.value == job_time(asked).context > 0
    assert any("2310.01889" in source for source in explained.sources)
    assert any("divided by data and context" in line.formula for line in explained.static)
    assert sum(line.value for line in explained.time[:-1]) == pytest.approx(explained.time[-1].value)


def test_a_search_keeps_the_devices_that_share_a_sequence() -> None:
    found = search(setup("llama3.1-8b", "h100-sxm", sequence=65536, cp=4), devices=16, global_batch=8)
    assert all(one.setup.layout.context == 4 and one.setup.devices == 16 for one in found)
    with pytest.raises(EngineError, match="no layout fits"):
        search(setup("llama3.1-8b", "h100-sxm", sequence=65536, cp=4), devices=6, global_batch=8)
