"""The formulas for ZeRO's bytes in the book's table and on its cheat sheet, against the engine's ledger."""

from __future__ import annotations

from pathlib import Path

import pytest

from ironlaw import model, training_memory

CHAPTER = Path(__file__).parents[2] / "docs/chapter"
BYTES = {0: ("18", 18, 0), 1: ("6 + 12/n", 6, 12), 2: ("2 + 16/n", 2, 16), 3: ("16/n", 0, 16)}
"""With FP32 gradients: the formula, what is whole in it and what is divided. The last is FSDP, with FP32 weights."""


@pytest.mark.parametrize("stage", BYTES)
def test_the_ledger_holds_what_the_table_says_for_fp32_gradients(stage: int) -> None:
    mode, n = "mixed" if stage == 3 else "megatron", 8
    ledger = training_memory("gpt2-xl", precision=mode, dp=n, zero=stage)
    parts = ("parameters", "gradients", "master", "optimizer")
    held = sum(ledger.component(part) for part in parts) / model("gpt2-xl").parameters
    formula, whole, divided = BYTES[stage]
    assert held == pytest.approx(whole + divided / n, rel=1e-3)
    assert f"${formula}$" in (CHAPTER / "parallelism.md").read_text("utf-8")


def test_the_cheat_sheet_says_the_same() -> None:
    text = (CHAPTER / "cheat-sheet.md").read_text("utf-8")
    assert "(FP32 gradients: " + ", ".join(f"${BYTES[stage][0]}$" for stage in (1, 2, 3)) + ")" in text
