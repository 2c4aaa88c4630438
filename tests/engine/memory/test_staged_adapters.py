"""Adapters and frozen parts over a pipeline: the engine against the stages of a real network, each run by itself.

A stage is what a pipeline makes of transformers' Llama with peft's adapters: its own layers, the embedding on the first
and norm, head and loss on the last. It does what 1F1B gives it: micro-batches in flight forward, then one backward and
one forward by turns. Its output is let go once it is sent, as Megatron-LM does, and position tables are buffers behind
the first stage, as in torchtitan.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
import torch

from ironlaw import EngineError, estimate, job_time, setup
from ironlaw.memory.ledger import memory_plans
from ironlaw.memory.static import stage_held, stored_bytes
from ironlaw.memory.tensors import MemoryLedger, MemoryPlan
from tests.engine.memory.adapted import FORMATS, LLAMA, autocasting, in_four_bits, kept_by, llama, with_adapters
from tests.engine.memory.test_peak_of_adapters import Storages

pytestmark = pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing", "ignore:.*_check_is_size")
SHAPE = replace(LLAMA, layers=7, hidden=128, head_size=32, ffn=320, max_seq=256)
STAGES, MICRO_BATCHES = 3, 6
LAYERS = ((0, 3), (3, 5), (5, 7))
BATCH, SEQUENCE = 2, 64
CASES = [
    (method, precision, checkpointing)
    for method, precision in (("lora", "fp32"), ("lora", "amp-bf16"), ("qlora", "amp-bf16"), ("frozen", "fp32"))
    for checkpointing in ("none", "full")
]
FROZEN = "wte,blocks.0,blocks.3.mlp"


class Stage(torch.nn.Module):
    """One stage of a network: of all its modules only those it runs."""

    def __init__(self, network: Any, index: int) -> None:
        super().__init__()
        inner = network.model
        self.cosine: torch.Tensor
        self.sine: torch.Tensor
        self.layers = torch.nn.ModuleList(inner.layers[slice(*LAYERS[index])])
        self.embedding = inner.embed_tokens if index == 0 else None
        self.head = torch.nn.Sequential(inner.norm, network.lm_head) if index == STAGES - 1 else None
        self.rotary, self.positions = inner.rotary_emb, torch.arange(SEQUENCE)[None]
        self.tokens = torch.arange(BATCH * SEQUENCE).reshape(BATCH, SEQUENCE) % 97
        self.loss_function = network.loss_function
        like = next(p for p in network.parameters() if p.is_floating_point())
        self.received = torch.empty(BATCH, SEQUENCE, SHAPE.hidden, dtype=like.dtype)
        for name, table in zip(("cosine", "sine"), self.rotary(self.received, self.positions), strict=True):
            self.register_buffer(name, table)

    def run(self, *, autocast: bool) -> torch.Tensor:
        """A micro-batch forward: the loss, or what is sent on."""
        with autocasting(enabled=autocast):
            out: torch.Tensor = self()
        torch.clear_autocast_cache()  # as where the outermost autocast ends, which is here that of `kept_by`
        return out

    def forward(self) -> torch.Tensor:
        if self.embedding is not None:
            x = self.embedding(self.tokens)
            tables = self.rotary(x, self.positions)
        else:
            x, tables = torch.empty_like(self.received).normal_().requires_grad_(), (self.cosine, self.sine)
        for layer in self.layers:
            x = layer(x, attention_mask=None, position_ids=self.positions, position_embeddings=tables)
        out: torch.Tensor = x if self.head is None else self.loss_function(self.head(x), self.tokens, SHAPE.vocab)
        return out


def network_of(method: str, precision: str, checkpointing: str) -> Any:
    network = llama(SHAPE, FORMATS["16-bit" if (method, precision) == ("lora", "amp-bf16") else "fp32"])
    if method == "frozen":
        for name, parameter in network.named_parameters():
            parameter.requires_grad_(not name.startswith(("model.embed", "model.layers.0.", "model.layers.3.mlp")))
    else:
        if method == "qlora":
            network = in_four_bits(network, torch.bfloat16)
        network = with_adapters(network, "all-linear").base_model.model
    if checkpointing == "full":
        network.gradient_checkpointing_enable({"use_reentrant": False})
    return network


def plans_of(method: str, precision: str, checkpointing: str) -> tuple[MemoryPlan, ...]:
    words: dict[str, Any] = {"frozen": FROZEN} if method == "frozen" else {"method": method, "lora_rank": 4}
    return memory_plans(setup(
        SHAPE, batch=BATCH, sequence=SEQUENCE, backend="cpu", precision=precision, checkpointing=checkpointing,
        pp=STAGES, micro_batches=MICRO_BATCHES, optimizer="sgd", update="fused", **words,
    ))  # fmt: skip


def bytes_of(tensors: Iterable[torch.Tensor]) -> int:
    return sum(tensor.untyped_storage().nbytes() for tensor in tensors)


def quantized_bytes(stage: Any) -> int:
    """Bytes of the scales and codes beside 4-bit matrices."""
    states = [module.weight.quant_state for module in stage.modules() if hasattr(module, "quant_state")]
    return sum(bytes_of((s.absmax, s.code, s.state2.absmax, s.state2.code, s.offset)) for s in states)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("method", "precision", "checkpointing"), CASES)
def test_every_stage_keeps_what_a_real_one_keeps(method: str, precision: str, checkpointing: str) -> None:
    network = network_of(method, precision, checkpointing)
    for index, plan in enumerate(plans_of(method, precision, checkpointing)):
        stage, ledger, in_flight = Stage(network, index), MemoryLedger(plan, BATCH, SEQUENCE), STAGES - index

        def run(stage: Stage = stage, in_flight: int = in_flight) -> torch.Tensor:
            return torch.stack([stage.run(autocast=precision != "fp32").sum() for _ in range(in_flight)]).sum()

        kept = kept_by(stage, run, autocast=False)
        if checkpointing == "full" and index == 0:  # tables reach a checkpoint by name, and no hook sees those
            kept += in_flight * bytes_of((stage.cosine, stage.sine))
        trained = [parameter for parameter in stage.parameters() if parameter.requires_grad]
        assert ledger.saved_bytes == kept
        assert ledger.component("parameters") == bytes_of(stage.parameters()) + quantized_bytes(stage)
        assert ledger.component("gradients") == bytes_of(trained)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("method", "checkpointing"), [(m, c) for m, p, c in CASES if p == "fp32"])
def test_the_peak_of_every_stage_is_that_of_its_storages(method: str, checkpointing: str) -> None:
    network = network_of(method, "fp32", checkpointing)
    for index, plan in enumerate(plans_of(method, "fp32", checkpointing)):
        stage = Stage(network, index)
        peak = peak_of(stage, STAGES - index) - bytes_of(stage.buffers())
        # Numbers of positions and tokens, and a few scalars.
        assert abs(MemoryLedger(plan, BATCH, SEQUENCE).allocated_peak - peak) <= 8 * (BATCH + 1) * SEQUENCE + 1000


def peak_of(stage: Stage, in_flight: int) -> int:
    """Bytes at most while a stage does its part of 1F1B, in its second step."""
    with Storages([*stage.parameters(), *stage.buffers()]) as storages:
        for _step in range(2):
            storages.peak = storages.now
            waiting: deque[Any] = deque()
            for done in range(MICRO_BATCHES):
                waiting.append(_sent(stage))
                if done >= in_flight - 1:
                    _backward(*waiting.popleft())
            while waiting:
                _backward(*waiting.popleft())
    return int(storages.peak)


def _sent(stage: Stage) -> tuple[Any, tuple[int, ...]]:
    out = stage()
    return torch.autograd.graph.get_gradient_edge(out), tuple(out.shape)


def _backward(edge: Any, shape: tuple[int, ...]) -> None:
    torch.autograd.backward(edge, torch.ones(shape))


@pytest.mark.parametrize("method", ["lora", "qlora"])
def test_stages_add_up_to_the_model(method: str) -> None:
    """Parameters of all stages are the model's, and so is what utilization counts."""
    words: dict[str, Any] = {"method": method, "batch": 1, "sequence": 512}
    one, four = (setup("llama3-8b", "a100-80", pp=pp, micro_batches=8, **words) for pp in (1, 4))
    whole, parts = (sum(stored_bytes(c, stage_held(c, stage)) for stage in c.stages) for c in (one, four))
    assert whole == parts
    assert job_time(four).convention_flops == pytest.approx(job_time(one).convention_flops)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"frozen": "blocks.0,blocks.1"}, "with which a stage has no block to train"),
        ({"method": "lora", "interleave": 2}, "interleave"),
    ],
)
def test_stages_without_anything_to_train_are_refused(words: dict[str, Any], said: str) -> None:
    shape = replace(SHAPE, layers=8)
    with pytest.raises(EngineError, match=said):
        setup(shape, pp=4, micro_batches=8, **words)


def test_seventy_billion_in_four_bits_over_eight_cards() -> None:
    """Each card has its own stage; no card has the pool's memory."""
    words: dict[str, Any] = {"batch": 1, "sequence": 1024, "method": "qlora", "checkpointing": "full"}
    found = estimate("llama3-70b", "t4", pp=8, micro_batches=8, **words)
    alone = estimate("llama3-70b", "t4", **words)
    assert not alone.fits
    assert found.fits
    assert found.memory_bytes.parameters > alone.memory_bytes.parameters / 8
