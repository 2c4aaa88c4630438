"""Checkpointing policies: names, and Chen's square root."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw import estimate, setup
from ironlaw.core.errors import EngineError
from ironlaw.graph.checkpointing import POLICIES, alive_tensors, checkpointing, sqrt_placement


@pytest.mark.parametrize("name", [*POLICIES[:-1], "every:2", "every:12"])
def test_names_survive_a_round_trip(name: str) -> None:
    assert checkpointing(name).name == name


@given(layers=st.integers(1, 2000))
def test_best_segment_is_within_a_block_of_the_square_root(layers: int) -> None:
    every = sqrt_placement(layers)
    alive = math.ceil(layers / every) + every
    assert alive <= 2 * math.sqrt(layers) + 1
    assert alive == min(math.ceil(layers / k) + k for k in range(1, layers + 1))


@given(layers=st.integers(1, 500), block_tensors=st.floats(1, 100))
def test_fatter_blocks_want_shorter_segments(layers: int, block_tensors: float) -> None:
    every = sqrt_placement(layers, block_tensors)
    assert every <= sqrt_placement(layers)
    assert every == 1 or every <= 2 * math.sqrt(layers / block_tensors)
    assert all(
        alive_tensors(layers, every, block_tensors) <= alive_tensors(layers, k, block_tensors)
        for k in range(1, layers + 1)
    )


def test_a_checkpoint_at_every_block_keeps_all_inputs_and_one_block() -> None:
    assert alive_tensors(48, 1, 9) == 48 + 9
    assert alive_tensors(48, 48, 9) == 1 + 48 * 9


@pytest.mark.parametrize(("layers", "every"), [(0, 1), (48, 0)])
def test_no_layers_and_no_segments_are_refused(layers: int, every: int) -> None:
    with pytest.raises(EngineError):
        alive_tensors(layers, every)


@pytest.mark.parametrize("name", ["some", "every", "every:0", "every:-1", "every:two", "every:²", "reentrant:2"])
def test_bad_policies_are_refused_in_one_line(name: str) -> None:
    with pytest.raises(
        EngineError,
        match=r"allowed: none, selective, full, full-offload, reentrant, reentrant-offload, every:K with K at least 1$",
    ):
        checkpointing(name)


def test_the_older_implementation_computes_all_of_every_block_again() -> None:
    """One more forward pass of the blocks: a third of their products of plain training, where attention is eager."""
    words = {"model": "gpt2-xl", "gpu": "h200", "sequence": 1024, "attention": "standard"}
    plain, newer, older = (estimate(checkpointing=name, **words) for name in ("none", "full", "reentrant"))  # type: ignore[arg-type]
    head = 2 * 50257 * 1600 * 1024
    forward = plain.flops.model_per_step / 3 - head
    again = older.flops.hardware_per_step - older.flops.model_per_step
    assert again == forward
    last = 48 * 2 * 1024 * 1600 * 6400  # the product at the end of each block
    assert again - (newer.flops.hardware_per_step - newer.flops.model_per_step) == last
    assert older.time.step_s > newer.time.step_s > plain.time.step_s
    assert older.memory_bytes.activations == newer.memory_bytes.activations


@pytest.mark.parametrize("words", [{"framework": "megatron"}, {"execution": "compiled"}])
def test_the_older_implementation_is_known_in_eager_pytorch_alone(words: dict[str, str]) -> None:
    with pytest.raises(EngineError, match="with checkpointing reentrant"):
        setup("gpt2", checkpointing="reentrant", **words)  # type: ignore[arg-type]
