"""The allocator's segments by its published rules, and memory over the phases of a training."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw import EngineError, Transformer, setup, training_memory
from ironlaw.cli import main
from ironlaw.memory import requests
from ironlaw.memory.allocator import Block, CachingAllocator
from ironlaw.memory.phases import memory_phases
from ironlaw.memory.requests import Player

MIB = 2**20
GPT = Transformer("gpt", layers=4, hidden=512, heads=8, vocab=8000, max_seq=512)
LLAMA = Transformer(
    "llama", layers=4, hidden=512, heads=8, vocab=8000, max_seq=512, kv_heads=2, ffn=1408, position="rope",
    norm="rmsnorm", mlp="swiglu", tied=False, bias=False,
)  # fmt: skip


@pytest.mark.parametrize(
    ("sizes", "reserved", "allocated"),
    [
        ([1], 2 * MIB, 512),
        ([513], 2 * MIB, 1024),
        ([MIB], 2 * MIB, MIB),
        ([MIB, MIB], 2 * MIB, 2 * MIB),
        ([MIB, MIB, 512], 4 * MIB, 2 * MIB + 512),
        ([MIB + 1], 20 * MIB, MIB + 512),
        ([9 * MIB, 9 * MIB], 20 * MIB, 18 * MIB),
        # The 2 MiB that are left of a 20 MiB segment serve a third request of that size, and nothing larger.
        ([9 * MIB, 9 * MIB, 2 * MIB], 20 * MIB, 20 * MIB),
        ([9 * MIB, 9 * MIB, 3 * MIB], 40 * MIB, 21 * MIB),
        ([10 * MIB], 10 * MIB, 10 * MIB),
        # What is left of a segment of its own, 1 MiB less, is not split off: the request takes the whole block.
        ([11 * MIB], 12 * MIB, 12 * MIB),
        ([512, 2 * MIB], 22 * MIB, 2 * MIB + 512),
    ],
)
def test_segments_are_those_of_the_published_rules(sizes: list[int], reserved: int, allocated: int) -> None:
    allocator = CachingAllocator()
    for size in sizes:
        allocator.allocate(size)
    assert (allocator.reserved, allocator.allocated) == (reserved, allocated)


def test_freed_neighbors_join_and_serve_a_larger_request() -> None:
    allocator = CachingAllocator()
    first, second, third = (allocator.allocate(6 * MIB) for _ in range(3))
    allocator.free(first)
    allocator.free(second)
    allocator.allocate(12 * MIB)
    assert allocator.reserved == 20 * MIB
    allocator.free(third)
    allocator.allocate(12 * MIB)  # only 8 MiB are free in one piece
    assert allocator.reserved == 32 * MIB


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 30 * MIB)), max_size=60))
def test_nothing_is_handed_out_twice_and_all_of_it_comes_back(requests: list[tuple[bool, int]]) -> None:
    allocator = CachingAllocator()
    held: list[Block] = []
    for give_back, size in requests:
        if give_back and held:
            allocator.free(held.pop(0))
        else:
            held.append(allocator.allocate(size))
        assert 0 <= allocator.allocated <= allocator.reserved
    for handle in held:
        allocator.free(handle)
    reserved = allocator.reserved
    assert allocator.allocated == 0
    if reserved:
        allocator.allocate(1)
        assert allocator.reserved in (reserved, reserved + 2 * MIB)


@pytest.mark.parametrize("model", [GPT, LLAMA], ids=["gpt", "llama"])
@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
@pytest.mark.parametrize("checkpointing", ["none", "full"])
@pytest.mark.parametrize("precision", ["bf16", "amp-bf16"])
def test_what_is_played_is_what_is_counted(model: Transformer, method: str, checkpointing: str, precision: str) -> None:
    """The step's peak, played tensor by tensor, is the ledger's; both know the same rules by different ways."""
    words: dict[str, Any] = {"batch": 4, "sequence": 512, "precision": precision, "checkpointing": checkpointing}
    c = setup(model, "h200", method=method, **words)
    allocator = CachingAllocator()
    for name, run in Player(c, allocator).phases():
        allocator.allocated_peak = allocator.allocated
        run()
        if name == "step":
            break
    assert allocator.allocated_peak == pytest.approx(training_memory(c).allocated_peak, rel=0.04)


@pytest.mark.parametrize("model", [GPT, LLAMA], ids=["gpt", "llama"])
@pytest.mark.parametrize("method", ["full", "lora", "qlora"])
@pytest.mark.parametrize("batch", [1, 3])
def test_more_passes_than_are_played_change_no_segment(
    model: Transformer, method: str, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = setup(model, gpu="h200", batch=batch, sequence=300, method=method, checkpointing="full", accumulate=9)
    played = memory_phases(asked)
    monkeypatch.setattr(requests, "MOST_PASSES", 9)
    assert memory_phases(asked) == played


@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "paged-adamw-8bit", "muon"])
def test_phases_of_a_training(optimizer: str) -> None:
    found = memory_phases(GPT, "h200", batch=4, sequence=512, optimizer=optimizer)
    by_name = {phase.name: phase for phase in found.phases}
    ledger = training_memory(GPT, "h200", batch=4, sequence=512, optimizer=optimizer)
    assert [phase.name for phase in found.phases] == ["load", "first step", "step", "evaluation", "save"]
    assert by_name["step"].allocated == ledger.allocated_peak
    assert by_name["load"].allocated < by_name["first step"].allocated <= by_name["step"].allocated
    assert by_name["evaluation"].allocated < by_name["step"].allocated
    assert found.host == ledger.host_bytes
    for phase in found.phases:
        assert phase.allocated <= phase.reserved < phase.process
    # What is there between steps is what the ledger keeps for good, in whole blocks of the allocator.
    kept = ledger.component("parameters") + ledger.component("optimizer") + ledger.workspace_bytes
    assert by_name["save"].allocated == pytest.approx(kept, rel=0.01)


def test_the_command_line_gives_phases_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["estimate", "--model", "gpt2", "--gpu", "h200", "--batch", "2", "--phases"]
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["peak_phase"] == "step"
    assert answer["phases"][2]["allocated"] == answer["memory_bytes"]["allocated_peak"]
    assert main(words) == 0
    assert "Memory over the phases" in capsys.readouterr().out
    assert main([*words, "--execution", "compiled"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    "word", [{"dp": 2}, {"execution": "compiled"}, {"loss": "chunked:4"}, {"checkpointing": "every:2"}]
)
def test_what_cannot_be_played_is_refused(word: dict[str, Any]) -> None:
    with pytest.raises(EngineError):
        memory_phases("gpt2", "h200", **word)
