"""A frozen reference model beside the one that is trained, as DPO has it: its weights, and one more forward pass."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
import torch

from ironlaw import EngineError, Setup, explain, job_time, setup, step_time, training_memory
from ironlaw.answers.peak import peak
from ironlaw.graph.operations import count_operations
from ironlaw.memory.tensors import REFERENCE
from tests.engine.memory.adapted import FORMATS, autocasting, forward, llama, trained
from tests.engine.memory.test_peak_of_adapters import SHAPE, Storages

BATCH, SEQUENCE = 4, 128


def _peak_of_a_step(network: Any, frozen: Any, without: Any) -> int:
    """Bytes at the fullest moment of a step in which the model and then its reference answer the same sequences.

    Each forward pass has an autocast of its own, as accelerate wraps both.

    Args:
        network: What is trained.
        frozen: The reference.
        without: The context in which it answers.
    """
    there = {*network.parameters(), *network.buffers(), *frozen.parameters()}
    update = torch.optim.AdamW([p for p in network.parameters() if p.requires_grad], fused=True)
    with Storages(there) as storages:
        for _step in range(2):
            storages.peak = storages.now
            with autocasting():
                loss = forward(network, BATCH, SEQUENCE)
            with torch.no_grad(), without(), autocasting():
                against = forward(frozen, BATCH, SEQUENCE)
            loss = loss - against
            del against
            loss.backward()  # type: ignore[no-untyped-call]
            del loss
            update.step()
            update.zero_grad(set_to_none=True)
    found: int = storages.peak
    return found


@pytest.mark.sampled(2)
@pytest.mark.filterwarnings("ignore:.*use_cache")
@pytest.mark.parametrize("checkpointing", ["none", "full"])
@pytest.mark.parametrize("vocab", [97, 2000])
@pytest.mark.parametrize(("method", "reference"), [("full", "16-bit"), ("full", "fp32"), ("lora", "fp32")])
def test_the_peak_is_that_of_both_models(method: str, reference: str, vocab: int, checkpointing: str) -> None:
    """But for positions and targets: the reference alone has 1.5 MB and more, its pass half a megabyte and more."""
    shape = replace(SHAPE, vocab=vocab)
    network, words = trained(shape, "fp32", method)
    if checkpointing != "none":
        network.gradient_checkpointing_enable({"use_reentrant": False})
        network.enable_input_require_grads()
    frozen = network if method == "lora" else llama(shape, FORMATS[reference]).requires_grad_(False)
    taken = _peak_of_a_step(network, frozen, network.disable_adapter if method == "lora" else nullcontext)
    ledger = training_memory(
        shape, batch=BATCH, sequence=SEQUENCE, backend="cpu", precision="amp-bf16", update="fused",
        checkpointing=checkpointing, reference=reference, **words,
    )  # fmt: skip
    assert 0 <= taken - ledger.allocated_peak < 2**16


def _setup(**words: Any) -> Setup:
    return setup("llama3-8b", "h100-sxm", 2, 1024, **{"precision": "mixed-bf16", **words})


def test_zero_3_alone_divides_it() -> None:
    whole = 2 * _setup().model.parameters
    for zero in range(4):
        held = [training_memory(_setup(dp=8, zero=zero, reference=one)) for one in ("none", "16-bit")]
        more = held[1].component("parameters") - held[0].component("parameters")
        assert more == pytest.approx(whole / 8 if zero == 3 else whole, rel=1e-3)


@pytest.mark.parametrize("words", [{}, {"method": "lora", "precision": None}])
def test_it_takes_a_forward_pass(words: dict[str, Any]) -> None:
    """Which is nothing that is updated, whatever its format."""
    without, short, wide = (step_time(_setup(**words, reference=one)) for one in ("none", "16-bit", "fp32"))
    assert short == wide
    assert short.forward == pytest.approx(2 * without.forward)
    assert (short.backward, short.update) == (without.backward, without.update)


def test_further_passes_take_as_long_each_and_count_as_what_nothing_is_learnt_from() -> None:
    """KTO: the reference answers two texts, and the model one of them without learning from it."""
    without, one, three = (job_time(_setup(reference=each)) for each in ("none", "16-bit", "16-bit:3"))
    forward = one.compute - without.compute
    assert three.compute - without.compute == pytest.approx(3 * forward)
    counted = count_operations(_setup().model, _setup().batch, _setup().sequence).forward
    again = [each.recomputed_flops - without.recomputed_flops for each in (one, three)]
    assert again == [counted, 3 * counted]
    assert without.convention_flops == three.convention_flops
    memory = [training_memory(_setup(reference=each)).allocated_peak for each in ("16-bit", "16-bit:3")]
    assert memory[0] == memory[1]


def test_what_is_divided_is_gathered_once_more() -> None:
    without, with_one = (job_time(_setup(dp=64, zero=3, overlap=False, reference=one)) for one in ("none", "16-bit"))
    gathered = without.data < with_one.data < 1.5 * without.data
    assert gathered
    assert with_one.compute > without.compute


@pytest.mark.parametrize("vocab", [1000, 300_000])
@pytest.mark.parametrize("words", [{}, {"dp": 8, "zero": 3}, {"accumulate": 4, "loss": "chunked:8"}])
def test_its_moments_are_explained_to_the_byte(words: dict[str, Any], vocab: int) -> None:
    c = setup(replace(SHAPE, vocab=vocab), "h100-sxm", 4, 256, reference="16-bit", precision="mixed-bf16", **words)
    ledger, fullest = training_memory(c), peak(c)
    assert any(moment.name.startswith(REFERENCE) for moment in ledger.moments)
    told = sum(fullest.components.values()) + sum(part.bytes for part in fullest.parts) + ledger.workspace_bytes
    assert told == ledger.allocated_peak
    assert any(line.name == "parameters reference" for line in explain(c).static)


def test_what_it_cannot_be_is_said() -> None:
    with pytest.raises(EngineError, match=r"reference 'bf16' is unknown; allowed: none, 16-bit, fp32"):
        _setup(reference="bf16")
    for wrong in ("none:2", "16-bit:", "16-bit:0", "fp32:12"):
        with pytest.raises(EngineError, match="reference"):
            _setup(reference=wrong)
    with pytest.raises(EngineError, match="reference 'fp32' is not allowed with tp 2; allowed: none"):
        _setup(reference="fp32", tp=2)
