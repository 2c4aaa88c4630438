"""Checkpointing policies: names, and Chen's square root."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.checkpointing import checkpointing, sqrt_placement
from engine.errors import EngineError


@pytest.mark.parametrize("name", ["none", "selective", "full", "every:2", "every:12"])
def test_names_survive_a_round_trip(name: str) -> None:
    assert checkpointing(name).name == name


@given(layers=st.integers(1, 2000))
def test_best_segment_is_within_a_block_of_the_square_root(layers: int) -> None:
    every = sqrt_placement(layers)
    alive = math.ceil(layers / every) + every
    assert alive <= 2 * math.sqrt(layers) + 1
    assert alive == min(math.ceil(layers / k) + k for k in range(1, layers + 1))


@pytest.mark.parametrize("name", ["some", "every", "every:0", "every:-1", "every:two", "every:²"])
def test_bad_policies_are_refused_in_one_line(name: str) -> None:
    with pytest.raises(EngineError, match=r"allowed: none, selective, full, every:K with K at least 1$"):
        checkpointing(name)
