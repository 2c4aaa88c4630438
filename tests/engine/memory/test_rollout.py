"""Texts that are generated between steps, as GRPO has them, beside a real generation by transformers."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import GenerationConfig

from ironlaw import EngineError, estimate, setup, training_memory
from ironlaw.answers.peak import peak
from ironlaw.memory.phases import memory_phases
from ironlaw.memory.tensors import ROLLOUT
from ironlaw.models import from_config
from tests.engine.graph.test_layer_kinds import PLAIN, TINY, network
from tests.engine.memory.test_peak_of_adapters import Storages

TEXTS, PROMPT, NEW = 6, 8, 200


def generated(kind: str, config: dict[str, Any]) -> tuple[int, int]:
    """Bytes of the keys and values of a real generation, and the most that it has beside the weights."""
    made: Any = network(kind, config, "flash", torch.bfloat16).eval()
    ask = torch.randint(3, TINY["vocab_size"], (TEXTS, PROMPT))
    how = GenerationConfig(  # type: ignore[no-untyped-call]
        max_new_tokens=NEW, min_new_tokens=NEW, do_sample=True, return_dict_in_generate=True, pad_token_id=0
    )
    watched = Storages([*made.parameters(), *made.buffers()])
    weights = watched.now
    with watched, torch.no_grad():
        cache = made.generate(ask, generation_config=how).past_key_values
    kept = sum(t.untyped_storage().nbytes() for layer in cache.layers for t in (layer.keys, layer.values))
    return kept, watched.peak - weights


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", ["grouped", "norms of heads", "experts", "latent", "gpt2", "merged, partly rotated"])
def test_the_cache_is_that_of_a_real_generation(name: str) -> None:
    """To the byte, but for the last token, of which no keys and values are asked; the rest is what one token takes."""
    kind, config = PLAIN[name]
    read = from_config({"model_type": kind, **config})
    kept, most = generated(kind, config)
    tokens = PROMPT + NEW
    each = 2 * sum(count * layer.attention.cached for layer, count in read.stack)
    assert kept == TEXTS * (tokens - 1) * each
    words: dict[str, Any] = {"batch": TEXTS, "sequence": tokens, "precision": "bf16", "backend": "cpu"}
    c = setup(read, **words, rollout="generate")
    ledger = training_memory(c)
    (moment,) = (one for one in ledger.moments if one.name.startswith(ROLLOUT))
    states = ledger.component("parameters") + ledger.component("optimizer")
    counted = moment.bytes - states
    unfolded = 2 * max(getattr(layer.attention, "unfolded", 0) for layer, _ in read.stack)
    assert counted == TEXTS * tokens * (each + unfolded) + TEXTS * read.vocab * (2 + 12)
    if unfolded:
        assert counted < most  # on the CPU the kernel makes more of them
        return
    # Of one layer the cache is there twice while a token is added to it.
    assert kept < most < counted + kept / read.layers


@pytest.mark.parametrize("words", [{}, {"accumulate": 4}, {"dp": 8, "zero": 3}])
def test_all_texts_of_a_step_are_generated_at_once_and_explained(words: dict[str, Any]) -> None:
    c = setup("llama3-8b", "h200", 8, 8192, precision="bf16", checkpointing="full", rollout="generate", **words)
    ledger, passes = training_memory(c), words.get("accumulate", 1)
    (moment,) = (one for one in ledger.moments if one.name.startswith(ROLLOUT))
    cache = 8 * 8192 * passes * 2 * c.model.kv_heads * c.model.head_size * 2 * c.model.layers
    weights = 2 * c.model.parameters if words.get("zero") else 0
    assert cache + weights < moment.bytes < cache + weights + ledger.static_bytes + 1e9
    fullest = peak(c)
    told = sum(fullest.components.values()) + sum(part.bytes for part in fullest.parts) + ledger.workspace_bytes
    assert told == ledger.allocated_peak


def test_another_program_holds_its_share_of_the_card() -> None:
    words: dict[str, Any] = {"batch": 1, "sequence": 1024, "precision": "bf16"}
    alone, beside, asleep = (
        estimate(setup("gpt2-xl", "h200", **words, rollout=rollout)).memory_bytes
        for rollout in ("none", "beside:0.3", "asleep:0.3")
    )
    share = int(0.3 * setup("gpt2", "h200").chip.memory_bytes)
    assert beside.device_total - alone.device_total == share
    assert alone.device_total < asleep.device_total < beside.device_total
    assert asleep.allocated_peak > share


@pytest.mark.parametrize("wrong", ["", "vllm", "beside", "beside:0", "beside:1.5", "beside:0.3x", "generate:0.3", 3])
def test_what_it_cannot_be_is_said(wrong: Any) -> None:
    with pytest.raises(EngineError, match="rollout"):
        setup("gpt2", rollout=wrong)
    with pytest.raises(EngineError, match="rollout 'generate' is not allowed with tp 2; allowed: none"):
        setup("gpt2", tp=2, rollout="generate")


def test_generation_is_a_phase_of_a_training() -> None:
    """Between steps: the segments that it needs are never given back."""
    words: dict[str, Any] = {"batch": 4, "sequence": 1024, "precision": "bf16"}
    alone, own, beside, asleep = (
        memory_phases("gpt2-xl", "h200", **words, rollout=rollout)
        for rollout in ("none", "generate", "beside:0.3", "asleep:0.3")
    )
    assert [phase.name for phase in own.phases] == ["load", "first step", "rollout", "step", "evaluation", "save"]
    ledger = training_memory("gpt2-xl", "h200", **words, rollout="asleep:0.3")
    assert ledger.rollout is not None
    assert asleep.peak.name == "rollout"
    assert asleep.peak.allocated == ledger.rollout.bytes
    assert ledger.step_peak.bytes < ledger.rollout.bytes
    assert {phase.reserved >= ledger.rollout.bytes for phase in asleep.phases[2:]} == {True}
    share = int(0.3 * setup("gpt2", "h200").chip.memory_bytes)
    assert [one.process - other.process for one, other in zip(beside.phases, alone.phases, strict=True)] == [share] * 5
