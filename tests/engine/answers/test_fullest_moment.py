"""The peak's parts add up to the peak, to the byte, and what is whole for a moment only is named."""

from __future__ import annotations

import re
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


def test_what_is_gathered_of_adapters_and_frozen_weights_is_told_format_by_format() -> None:
    """The first gather has the embedding and the head twice, and the copies that autocast makes are not there yet."""
    words: dict[str, Any] = {
        "method": "qlora",
        "lora_rank": 8,
        "dp": 8,
        "zero": 3,
        "accumulate": 4,
        "checkpointing": "full",
    }
    found = peak(setup("llama3-70b", "t4", sequence=512, precision="amp-fp16", base_format="16-bit", **words))
    assert found.moment == "forward, first gather"
    told = [(part.name, part.dtype, part.formula) for part in found.parts if part.kind == "weights"]
    root = 2 * 128_256 * 8192 + 8192
    assert told[0] == ("gathered: embedding, last norm and head", "fp16", f"2 x {root:,} x 2 B (fp16)")
    assert {name for name, *_ in told[1:]} == {"gathered: a layer"}
    assert {dtype for _, dtype, _ in told[1:]} == {"fp16", "uint8", "fp32"}
    for part in found.parts:
        if part.kind == "weights":
            times, elements, width = re.findall(r"(?:(\d+) x )?([\d,]+) x (\d) B", part.formula)[0]
            assert part.bytes == int(times or 1) * int(elements.replace(",", "")) * int(width)


@pytest.mark.parametrize("checkpointing", ["full", "none"])
def test_copies_that_autocast_keeps_are_weights(checkpointing: str) -> None:
    c = setup("llama3-8b", "h100-sxm", dp=8, zero=3, precision="amp-bf16", checkpointing=checkpointing, sequence=512)
    found = peak(c)
    copies = [part for part in found.parts if part.name.startswith("16-bit copies")]
    # Where nothing is computed again they are kept to the backward pass, and the ledger names them.
    assert bool(copies) == (checkpointing == "full")
    assert sum(part.bytes for part in copies) + found.components["casts"] > 2 * 6.9e9
