"""Expert parallelism: what each device holds, keeps, computes and sends, beside one device and beside a real exchange.

The real one is a tiny Qwen3-MoE of transformers on two devices, which are threads that send by gloo: each has half of
the experts, and every pair of a token and an expert goes to its expert's device and back, as in torchtitan's
`distributed/expert_parallel.py`, with transformers' own grouped products between.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from math import ceil
from pathlib import Path
from typing import Any
from weakref import WeakSet

import pytest
import torch
import torch.distributed as dist
from hypothesis import given
from hypothesis import strategies as st
from transformers.integrations.moe import _grouped_linear

from ironlaw.answers.advice import advice
from ironlaw.answers.estimate import estimate
from ironlaw.config.layout import expert_shard
from ironlaw.config.resolved import Setup
from ironlaw.config.setup import setup
from ironlaw.core.errors import EngineError
from ironlaw.memory.ledger import training_memory
from ironlaw.memory.static import is_expert, static_tensors
from ironlaw.models import from_config
from ironlaw.models.transformer import Transformer, model
from ironlaw.parallel.collectives import all_to_all
from ironlaw.parallel.job import job_time
from ironlaw.time.step import step_plan
from tests.engine.graph.test_layer_kinds import BATCH, ROUTED, SEQUENCE, Packed, network, tokens

DEVICES = 2
LAYERS = 2
LIMIT = timedelta(minutes=5)
"""For an exchange: a device that fails must not leave the other waiting for ever."""
TINY: dict[str, Any] = ROUTED | {"norm_topk_prob": True}
MODELS = st.sampled_from(("Qwen/Qwen3-30B-A3B", "deepseek-ai/DeepSeek-V2-Lite", "openai/gpt-oss-20b"))
WORDS = st.fixed_dictionaries(
    {
        "batch": st.integers(1, 3),
        "sequence": st.sampled_from((512, 2048)),
        "checkpointing": st.sampled_from(("none", "full")),
        "precision": st.sampled_from(("bf16", "amp-bf16")),
        "optimizer": st.sampled_from(("adamw", "sgd")),
    }
)


class Exchange(torch.autograd.Function):
    """Rows to other devices, so many from each; their gradients go the other way."""

    @staticmethod
    def forward(ctx: Any, group: Any, rows: torch.Tensor, to: list[int], here: list[int]) -> torch.Tensor:
        ctx.group, ctx.to, ctx.here = group, to, here
        return exchanged(group, rows, to, here)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[None, torch.Tensor, None, None]:
        return None, exchanged(ctx.group, gradients[0], ctx.here, ctx.to), None, None


def exchanged(group: Any, rows: torch.Tensor, to: list[int], here: list[int]) -> torch.Tensor:
    received = rows.new_empty(sum(here), *rows.shape[1:])
    group.alltoall_base(received, rows.contiguous(), here, to).wait()
    return received


def sent(group: Any, rows: torch.Tensor, to: list[int], here: list[int]) -> torch.Tensor:
    received: torch.Tensor = Exchange.apply(group, rows, to, here)  # type: ignore[no-untyped-call]
    return received


class Device:
    """One of the devices: its share of a network whose experts all share, and what a forward pass of it keeps."""

    def __init__(self, rank: int, precision: str) -> None:
        self.group: Any = None
        self.received: list[int] = []
        made: Any = network("qwen3_moe", TINY, "flash", torch.bfloat16 if precision == "bf16" else torch.float32)
        self.net = made
        for layer in made.model.layers:
            experts = layer.mlp.experts
            own = slice(rank * experts.num_experts // DEVICES, (rank + 1) * experts.num_experts // DEVICES)
            for name in ("gate_up_proj", "down_proj"):
                setattr(experts, name, torch.nn.Parameter(getattr(experts, name).detach()[own].clone()))
            experts.forward = lambda *given, experts=experts: self.routed(experts, *given)

    def routed(self, experts: Any, x: torch.Tensor, chosen: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        numbers, order = torch.sort(chosen.reshape(-1))
        taken = x[order // chosen.shape[1]]
        sorted_weights = weights.reshape(-1)[order]
        counts = torch.bincount(numbers, minlength=experts.num_experts)
        theirs = exchanged(self.group, counts, [experts.num_experts // DEVICES] * DEVICES, [len(counts) // DEVICES] * 2)
        to, here = counts.view(DEVICES, -1).sum(1).tolist(), theirs.view(DEVICES, -1).sum(1).tolist()
        self.received.append(sum(here))
        taken = sent(self.group, taken, to, here)
        mine = torch.arange(len(counts) // DEVICES).repeat(DEVICES).repeat_interleave(theirs)
        sorting = torch.argsort(mine, stable=True)
        offsets = torch.cumsum(theirs.view(DEVICES, -1).sum(0), 0, dtype=torch.int32)
        taken = taken[sorting]
        both = _grouped_linear(taken, experts.gate_up_proj, offsets)
        out = _grouped_linear(experts._apply_gate(both), experts.down_proj, offsets)
        returned = out.new_empty(out.shape)
        returned[sorting] = out
        out = sent(self.group, returned, here, to)
        out = out * sorted_weights.unsqueeze(-1)
        return out[torch.argsort(order)].view(len(x), -1, x.shape[1]).sum(1).to(x.dtype)

    def forward(self, text: torch.Tensor, precision: str) -> tuple[torch.Tensor, int]:
        """The loss, and the bytes that the pass leaves saved for backward."""
        own = {t.untyped_storage()._cdata for t in itertools.chain(self.net.parameters(), self.net.buffers())}
        alive: WeakSet[Packed] = WeakSet()

        def pack(tensor: torch.Tensor) -> Packed:
            alive.add(packed := Packed(tensor))
            return packed

        with (
            torch.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed.tensor),
            torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "amp-bf16"),
        ):
            loss = self.net(input_ids=text, labels=text, use_cache=False).loss
        storages = {s._cdata: s.nbytes() for s in (packed.tensor.untyped_storage() for packed in alive)}
        return loss, sum(size for address, size in storages.items() if address not in own)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "amp-bf16"])
def test_a_device_keeps_exactly_the_bytes_of_a_real_exchange(precision: str, tmp_path: Path) -> None:
    """Whatever each gets: the bytes are a line in its rows, which the engine's whole pairs per token are points of.

    That the exchange is right shows in losses and gradients, which are those of the undivided network.
    """
    store = torch._C._distributed_c10d.FileStore(str(tmp_path / "store"), DEVICES)
    texts = [tokens() for _ in range(DEVICES)]

    # One after the other: threads share the seed of their weights.
    devices = [Device(rank, precision) for rank in range(DEVICES)]

    def trained(rank: int) -> tuple[Device, float, int]:
        device = devices[rank]
        device.group = dist.ProcessGroupGloo(store, rank, DEVICES, LIMIT)
        loss, kept = device.forward(texts[rank], precision)
        loss.backward()  # type: ignore[no-untyped-call]
        return device, loss.item(), kept

    with ThreadPoolExecutor(DEVICES) as pool:
        made = list(pool.map(trained, range(DEVICES)))

    tiny = from_config({"model_type": "qwen3_moe", **TINY})
    even, double = (counted(tiny, precision, imbalance) for imbalance in (1.0, 2.0))
    mean = BATCH * SEQUENCE * TINY["num_experts_per_tok"]
    for device, _, kept in made:
        assert len(device.received) == LAYERS
        more = sum(rows - mean for rows in device.received)
        assert kept == even + (double - even) * more // (LAYERS * mean)
    assert sum(sum(device.received) for device, _, _ in made) == DEVICES * LAYERS * mean

    if precision == "fp32":
        whole: Any = network("qwen3_moe", TINY, "flash", torch.float32)
        for (_, loss, _), text in zip(made, texts, strict=True):
            one = whole(input_ids=text, labels=text, use_cache=False).loss
            one.backward()
            assert loss == pytest.approx(one.item(), rel=1e-6)
        for number, layer in enumerate(whole.model.layers):
            shares = [device.net.model.layers[number].mlp.experts for device, _, _ in made]
            joined = torch.cat([share.gate_up_proj.grad for share in shares])
            torch.testing.assert_close(joined, layer.mlp.experts.gate_up_proj.grad, rtol=1e-4, atol=1e-6)


def counted(tiny: Transformer, precision: str, imbalance: float) -> int:
    words: dict[str, Any] = {"batch": BATCH, "sequence": SEQUENCE, "precision": precision, "backend": "cpu"}
    return int(training_memory(tiny, **words, dp=DEVICES, ep=DEVICES, imbalance=imbalance).saved_bytes)


def experts_bytes(c: Setup, component: str) -> int:
    tensors = static_tensors(c, c.stages[0])
    return sum(t.bytes for t in tensors if t.component == component and is_expert(t.name))


@given(MODELS, WORDS, st.sampled_from((2, 4, 8)), st.sampled_from((1, 2, 4)), st.integers(0, 3))
def test_devices_have_all_experts_between_them(
    name: str, words: dict[str, Any], ways: int, copies: int, zero: int
) -> None:
    """Undivided by ZeRO each has its share of them; divided, what it has of them is as without expert parallelism."""
    data = ways * copies
    c = setup(name, "h200", dp=data, ep=ways, zero=zero, **words)
    alone = setup(name, "h200", dp=data, zero=zero, **words)
    whole = setup(name, "h200", **words)
    for level, component in ((1, "optimizer"), (2, "gradients"), (3, "parameters")):
        if zero < level:
            assert experts_bytes(c, component) * ways == experts_bytes(whole, component)
        else:
            assert experts_bytes(c, component) == experts_bytes(alone, component)
    others = [
        [
            t
            for t in static_tensors(one, one.stages[0])
            if not is_expert(t.name) and t.component not in ("gathered", "buckets")
        ]
        for one in (c, alone)
    ]
    assert others[0] == others[1]


@given(MODELS, WORDS, st.sampled_from((2, 4, 8)))
def test_even_experts_compute_and_keep_what_one_device_does(name: str, words: dict[str, Any], ways: int) -> None:
    """As many pairs come as go: products are as large, of fewer and longer groups; kept are two orders a layer more."""
    c, alone = (setup(name, "h200", dp=ways, ep=each, **words) for each in (ways, 1))
    shared, own = (step_plan(one)(one.batch, one.sequence) for one in (c, alone))
    assert shared.model_flops == own.model_flops
    job, before = job_time(c), job_time(alone)
    assert job.mfu * job.total == pytest.approx(before.mfu * before.total)
    assert job.expert > 0 == before.expert
    assert job.communication == pytest.approx(job.data + job.expert)


@given(MODELS, WORDS, st.floats(1, 4), st.floats(1, 4))
def test_the_fuller_the_fullest_device_the_longer_and_the_larger(
    name: str, words: dict[str, Any], a: float, b: float
) -> None:
    less, more = (setup(name, "h200", dp=4, ep=4, imbalance=each, **words) for each in sorted((a, b)))
    assert job_time(less).total <= job_time(more).total
    assert estimate(less).memory_bytes.device_total <= estimate(more).memory_bytes.device_total
    part = next(layer.feed_forward for layer, _ in expert_shard(model(name), 4, a).runs if not layer.dense)
    assert part.taken == ceil(part.chosen * a)  # type: ignore[union-attr]


def test_an_exchange_takes_as_long_as_the_slower_of_links_and_network() -> None:
    """What stays in the node and what crosses the network is sent at once; a device sends itself nothing."""
    c = setup("Qwen/Qwen3-30B-A3B", "h100-sxm", dp=16, ep=16)
    assert c.cluster is not None
    within, across = (c.cluster.bandwidth(within_node=inside) for inside in (True, False))
    size = 10**9
    alone = all_to_all(size, 8, 8, c.cluster) - c.cluster.latency(within_node=True)
    assert alone == pytest.approx(size * 7 / 8 / within)
    two = all_to_all(size, 16, 8, c.cluster) - c.cluster.latency(within_node=False)
    assert two == pytest.approx(max(size * 7 / 16 / within, size * 8 / 16 / across)) == pytest.approx(size / 2 / across)
    assert all_to_all(size, 1, 1, c.cluster) == 0


@pytest.mark.parametrize(
    ("gpu", "nodes", "measured"), [("h100-sxm", 2, (90, 81)), ("h100-sxm", 4, (61, 61)), ("b200", 1, (726, 740))]
)
def test_exchanges_are_as_fast_as_published_ones(gpu: str, nodes: int, measured: tuple[int, int]) -> None:
    """Dispatch and combine of a device in GB/s of all that it gets, its own part among it: half crosses of two nodes.

    Source: deepseek-ai/DeepEP, README at commit 0297fc8, table "Performance" (SM90 and SM100, ConnectX-7, 8 a node;
    8,192 tokens of 7,168, 8 experts a token).
    """
    c = setup("Qwen/Qwen3-30B-A3B", gpu, dp=8 * nodes, ep=8 * nodes)
    assert c.cluster is not None
    size = 8192 * 7168 * 8 * 2
    reached = size / all_to_all(size, 8 * nodes, 8, c.cluster) / 1e9
    for one in measured:
        assert reached == pytest.approx(one, rel=0.15)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            {"model": "llama3-8b", "dp": 8, "ep": 8},
            "ep 8 is not allowed with model llama3-8b, which has no experts a layer; allowed: 1",
        ),
        ({"dp": 8, "ep": 3}, "ep 3 is not allowed with dp 8; allowed: 1, 2, 4, 8"),
        ({"dp": 12, "ep": 8}, "ep 8 is not allowed with dp 12; allowed: 1, 2, 3, 4, 6, 12"),
        ({"ep": 8}, "ep 8 is not allowed with dp 1; allowed: 1"),
        ({"dp": 8, "ep": 8, "imbalance": 9}, "imbalance 9 is not allowed with ep 8; it must be from 1 to 8"),
        ({"dp": 8, "imbalance": 1.5}, "imbalance 1.5 is not allowed with ep 1; it must be from 1 to 1"),
        ({"dp": 8, "ep": 8, "method": "lora"}, "ep 8 is not allowed, where parts of a model are trained; allowed: 1"),
        ({"dp": 8, "ep": 8, "reference": "16-bit"}, "reference 'bf16' is not allowed with ep 8; allowed: none"),
        (
            {"dp": 8, "ep": 8, "zero": 3, "offload": "optimizer"},
            "offload 'optimizer' is not allowed with ep 8; allowed: none",
        ),
    ],
)
def test_what_is_not_known_is_refused(words: dict[str, Any], says: str) -> None:
    with pytest.raises(EngineError) as refused:
        setup(**({"model": "Qwen/Qwen3-30B-A3B"} | words))
    assert says in str(refused.value)


def test_one_device_that_shares_with_nobody_is_as_without_the_word() -> None:
    c = setup("Qwen/Qwen3-30B-A3B", "h200", dp=8, zero=3)
    assert c == setup("Qwen/Qwen3-30B-A3B", "h200", dp=8, zero=3, ep=1, imbalance=1)
    assert expert_shard(c.model, 1) is c.model
    assert replace(c.layout, expert=8).expert_peers == 1


@pytest.mark.parametrize("name", ["mistralai/Mixtral-8x7B-v0.1", "openai/gpt-oss-20b", "deepseek-ai/DeepSeek-V2-Lite"])
def test_a_device_may_have_one_expert(name: str) -> None:
    """Its tokens go through one matrix, and not through a group of them."""
    most = max(getattr(layer.feed_forward, "count", 1) for layer, _ in model(name).kinds)
    few, one = (
        estimate(setup(name, "h100-sxm", dp=64, zero=3, sequence=4096, ep=ways)).time.step_s
        for ways in (most // 2, most)
    )
    assert one == pytest.approx(few, rel=0.15)
    assert advice(setup(name, "h100-sxm", dp=64, zero=3, sequence=4096))
