"""Evaluation's peak against PyTorch's own memory tracker, and what it does to the peak of a training."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker

from ironlaw import EngineError, Transformer, estimate, setup, training_memory
from ironlaw.answers.peak import moments, peak
from ironlaw.memory.phases import memory_phases
from tests.engine.memory.test_peak import SHAPES, _network, adamw

pytestmark = pytest.mark.filterwarnings("ignore:Module is None", "ignore:Expected a tensor")
LLAMA: dict[str, Any] = {"model": "llama3-8b", "gpu": "h200", "batch": 1, "sequence": 2048, "checkpointing": "full"}


def tracked(shape: Transformer, batch: int, sequence: int, precision: str, kept: int = 0) -> int:
    """Bytes at the peak of an evaluation after one step, in which Trainer's loop keeps so many batches' logits."""
    with FakeTensorMode():
        network = _network(shape, precision, "flash", 0.0)
        updater = adamw(network.parameters())
        tokens = torch.zeros(batch, sequence, dtype=torch.long)
        network(tokens, torch.zeros_like(tokens))[1].backward()
        updater.step()
        updater.zero_grad(set_to_none=True)
        tracker = MemTracker()
        tracker.track_external(network, updater, tokens)
        with tracker, torch.no_grad():
            joined = None
            for _ in range(max(kept, 1)):
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "amp-bf16"):
                    logits = network(tokens, torch.zeros_like(tokens))[0]
                if not kept:
                    break
                logits = logits.float() if precision == "amp-bf16" else logits  # accelerate's convert_outputs_to_fp32
                joined = logits if joined is None else torch.cat((joined, logits))
                del logits
                tracker.reset_mod_stats()
        (snapshot,) = tracker.get_tracker_snapshot("peak").values()
        return int(snapshot["Total"])


@pytest.mark.parametrize("precision", ["fp32", "bf16", "amp-bf16"])
@pytest.mark.parametrize("where", SHAPES)
def test_the_peak_of_evaluation_is_pytorchs(where: str, precision: str) -> None:
    shape, batch, sequence = SHAPES[where]
    ledger = training_memory(
        shape, precision=precision, batch=1, sequence=sequence, backend="cpu", update="foreach", eval_batch=batch
    )
    assert ledger.evaluation is not None
    assert ledger.evaluation.bytes == pytest.approx(tracked(shape, batch, sequence, precision), rel=0.01)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "amp-bf16"])
@pytest.mark.parametrize("kept", [2, 4])
def test_the_peak_of_evaluation_with_metrics_is_that_of_trainers_loop(kept: int, precision: str) -> None:
    shape, batch, sequence = SHAPES["loss"]
    ledger = training_memory(
        shape, precision=precision, batch=1, sequence=sequence, backend="cpu", eval_batch=batch, eval_kept=kept
    )
    assert ledger.evaluation is not None
    assert ledger.evaluation.bytes == pytest.approx(tracked(shape, batch, sequence, precision, kept), rel=0.01)


SETUPS: tuple[dict[str, Any], ...] = (
    {}, {"method": "lora"}, {"method": "qlora"}, {"dp": 4, "zero": 3, "precision": "mixed-bf16"}, {"dp": 4, "zero": 2},
    {"method": "qlora", "dp": 2, "zero": 3}, {"loss": "chunked:8"}, {"loss": "fused-linear"},
    {"execution": "compiled"}, {"tp": 4}, {"pp": 4, "micro_batches": 4}, {"offload": "parameters"},
)  # fmt: skip


@pytest.mark.parametrize("words", SETUPS, ids=str)
def test_evaluation_changes_nothing_but_a_peak_that_is_its_own(words: dict[str, Any]) -> None:
    """Nor does it depend on the training's batch, and it grows with its own; all parts of the peak add up."""
    plain = estimate(**LLAMA, **words)
    same, more = (estimate(**LLAMA, **words, eval_batch=batch) for batch in (1, 64))
    assert same.memory_bytes.allocated_peak == plain.memory_bytes.allocated_peak
    assert same.time == more.time == plain.time
    assert more.memory_bytes.host == plain.memory_bytes.host
    c = setup(**LLAMA, **words, eval_batch=64)
    ledger = training_memory(c)
    assert ledger.evaluation is not None
    assert ledger.step_peak.bytes == plain.memory_bytes.allocated_peak
    assert ledger.allocated_peak == max(ledger.step_peak.bytes, ledger.evaluation.bytes)
    assert training_memory(setup(**{**LLAMA, "batch": 2}, **words, eval_batch=64)).evaluation == ledger.evaluation
    for one in (peak(c), *moments(c)):
        counted = sum(one.components.values()) + ledger.workspace_bytes + sum(part.bytes for part in one.parts)
        assert counted == next(moment.bytes for moment in ledger.moments if moment.name == one.moment)


def test_a_large_batch_of_evaluation_is_the_fullest_phase() -> None:
    """On one card the phases say so, with what the allocator then holds; on several the ledger does."""
    few, many = (memory_phases(**LLAMA, method="lora", eval_batch=batch) for batch in (1, 16))
    assert (few.peak.name, many.peak.name) == ("step", "evaluation")
    ledger = training_memory(**LLAMA, method="lora", eval_batch=16)
    assert many.peak.allocated == ledger.allocated_peak
    assert all(phase.allocated <= phase.reserved for phase in (*few.phases, *many.phases))
    assert [phase.reserved for phase in many.phases] == sorted(phase.reserved for phase in many.phases)
    before = {phase.name: phase for phase in few.phases}
    assert list(many.phases[:3]) == [before[name] for name in ("load", "first step", "step")]
    assert training_memory(**LLAMA, method="lora", dp=4, eval_batch=16).peak.name.startswith("evaluation")


def test_logits_that_are_kept_are_those_of_all_replicas() -> None:
    words: dict[str, Any] = {**LLAMA, "method": "lora", "eval_batch": 2, "eval_kept": 3}
    one, four = (training_memory(**words, dp=dp).evaluation for dp in (1, 4))
    assert one is not None
    assert four is not None
    logits = 2 * 2048 * 128_256 * 4
    assert one.name == four.name == "evaluation, logits"
    buckets = training_memory(**words, dp=4).component("buckets")
    assert four.bytes - one.bytes == 2 * 3 * 3 * logits + buckets


def test_a_loss_in_pieces_has_whole_logits_in_evaluation_where_the_kernel_does() -> None:
    sizes = {}
    for words in ({}, {"eval_logits": True}, {"eval_kept": 1}):
        found = training_memory(**LLAMA, loss="chunked:8", eval_batch=8, **words).evaluation
        assert found is not None
        sizes[str(words)] = found.bytes
    pieces, whole, kept = sizes.values()
    assert pieces + 8 * 2048 * 128_256 * 4 < whole == kept


@pytest.mark.parametrize("words", [{"eval_batch": 0}, {"eval_kept": -1}, {"eval_logits": "yes"}])
def test_what_evaluation_cannot_be_is_refused_by_its_word(words: dict[str, Any]) -> None:
    with pytest.raises(EngineError, match=next(iter(words))):
        setup("gpt2", **words)
