"""The peak's parts add up to the peak, to the byte, and what is whole for a moment only is named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ironlaw import setup
from ironlaw.answers.peak import MOMENTARY, peak
from ironlaw.memory.ledger import training_memory
from tests.engine.answers.test_advice import asked


@given(asked())
def test_parts_and_components_add_up_to_the_peak(words: dict[str, Any]) -> None:
    c = setup(**words)
    found, ledger = peak(c), training_memory(c)
    parts = sum(part.bytes for part in found.parts)
    assert sum(found.components.values()) + ledger.workspace_bytes + parts == ledger.allocated_peak
    assert found.moment == ledger.peak.name
    assert all(part.formula and part.name and part.bytes for part in found.parts)
    assert sum(found.of(kind) for kind in ("weights", "gradients", "temporary")) == parts


def test_what_fsdp_gathers_and_reduces_is_named() -> None:
    c = setup("llama3-8b", "h100-sxm", dp=8, zero=3, precision="fp32", checkpointing="full", sequence=2048)
    found = peak(c)
    assert found.moment == "backward, embedding"
    assert not found.components.keys() & set(MOMENTARY)
    named = {part.name: part for part in found.parts}
    # The embedding and the head of 128,256 words, the last norm.
    root = 2 * 128_256 * 4096 + 4096
    assert named["gathered: embedding, last norm and head"].bytes == 4 * root
    assert named["gathered: embedding, last norm and head"].formula == f"{root:,} x 4 B (fp32)"
    assert named["gradient of the head, whole"].bytes == 4 * 128_256 * 4096


@pytest.mark.parametrize("checkpointing", ["full", "none"])
def test_copies_that_autocast_keeps_are_weights(checkpointing: str) -> None:
    c = setup("llama3-8b", "h100-sxm", dp=8, zero=3, precision="amp-bf16", checkpointing=checkpointing, sequence=512)
    found = peak(c)
    copies = [part for part in found.parts if part.name.startswith("16-bit copies")]
    # Where nothing is computed again they are kept to the backward pass, and the ledger names them.
    assert bool(copies) == (checkpointing == "full")
    assert sum(part.bytes for part in copies) + found.components["casts"] > 2 * 6.9e9
