"""The chain of practice: its programs check an answer with the engine, and give nothing away before."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from ironlaw import accelerator, estimate, setup
from tools.accuracy.survey import utilization_at

PAGE = Path(__file__).parents[2] / "docs/chapter/plan.md"
PROGRAMS = dict(re.findall(r'```live name="(\w+)"\n(.*?)```', PAGE.read_text("utf-8"), re.DOTALL))
LAYERS, WIDTH, MLP, KEYS, WORDS = 32, 4096, 14336, 1024, 128_256
"""Llama 3 8B, as its configuration file has it."""
WEIGHTS = LAYERS * (2 * WIDTH**2 + 2 * WIDTH * KEYS + 3 * WIDTH * MLP + 2 * WIDTH) + 2 * WIDTH * WORDS + WIDTH
TOKENS = 20 * WEIGHTS
FLOPS = 6 * (WEIGHTS - WIDTH * WORDS) + 12 * LAYERS * WIDTH * 8192
PEAK = 989e12
"""FLOP/s of an H100 in BF16, by its data sheet."""
RENT = accelerator("h100-sxm").rent
PRICE = RENT.dollars if RENT else float("nan")
"""Dollars for a card and hour, by the engine."""
BY_HAND = {
    "weights": WEIGHTS / 1e9,
    "tokens": TOKENS / 1e9,
    "flops": FLOPS / 1e9,
    "days": TOKENS * FLOPS / (16 * PEAK) / 86_400,
    "static": 16 * WEIGHTS / 1e9,
    "zero": 16 / 16 * WEIGHTS / 1e9,
    "logits": 8192 * WORDS * 4 / 1e9,
    "batch": 1,
    "bill": TOKENS * FLOPS / (16 * PEAK * 0.55) / 3600 * 16 * PRICE / 1e3,
}
"""What a reader finds with a pencil; the bill at a utilization of 55 % and the engine's price of the card."""


def answered(answers: dict[str, float]) -> dict[str, str]:
    """What each program prints when the reader has written these answers."""
    names: dict[str, Any] = {}
    printed = {}
    for name, program in PROGRAMS.items():
        text = program.replace("check(None,", f"check({answers[name]!r},") if name in answers else program
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(text, names)
        printed[name] = out.getvalue()
    return printed


def test_there_are_ten_questions_and_each_has_a_folded_number() -> None:
    text = PAGE.read_text("utf-8")
    assert len(PROGRAMS) == 1 + 10
    assert re.findall(r"^\*\*(\d+)\.", text, re.MULTILINE) == [str(number) for number in range(1, 11)]
    assert text.count('??? question "The number"') == 10


def test_nothing_is_given_away_before_an_answer() -> None:
    for name, printed in list(answered({}).items())[1:]:
        assert not re.search(r"\d", printed), name


@pytest.mark.parametrize(("factor", "said"), [(1, "Right"), (2, "Too large"), (0.5, "Too small")])
def test_an_answer_by_hand_is_right_and_its_double_and_half_are_not(factor: float, said: str) -> None:
    printed = answered({name: factor * value for name, value in BY_HAND.items()})
    assert {name: said in printed[name] for name in BY_HAND} == dict.fromkeys(BY_HAND, True)


def test_a_bill_is_right_at_the_utilization_of_physics_of_experience_and_of_the_median_published_run() -> None:
    found = estimate(
        "llama3-8b", "h100-sxm", batch=1, sequence=8192, precision="mixed", execution="compiled", update="fused",
        dp=16, zero=3, network="infiniband-ndr", micro_batches=32,
    )  # fmt: skip
    assert found.time.mfu is not None
    assert found.calibrated is not None
    expected = found.time.mfu * found.time.step_s / found.calibrated.step_s.expected
    for mfu in (found.time.mfu, expected, utilization_at(0.5)):
        bill = TOKENS * FLOPS / (16 * PEAK * mfu) / 3600 * 16 * PRICE / 1e3
        assert "Right" in answered({**BY_HAND, "bill": bill})["bill"]


def test_the_three_questions_say_the_verdict_of_the_engine() -> None:
    text = (PAGE.parent / "summary.md").read_text("utf-8")
    [program] = re.findall(r'```live name="three-questions"\n(.*?)```', text, re.DOTALL)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(program, {})
    verdict = estimate("gpt2-xl", "h100-sxm", batch=16, precision="amp-bf16").verdict
    assert f"does it fit?         {verdict}, " in out.getvalue()


def test_the_bill_of_the_nearest_public_run_lies_outside_the_band_and_is_accepted_within_the_usual_tolerance() -> None:
    bill = TOKENS / 6667 / 3600 * PRICE / 1e3
    assert "6,667 tokens a second" in PAGE.read_text("utf-8")
    assert "outside the band" in PAGE.read_text("utf-8")
    accepted = answered(BY_HAND | {"hide": 1, "bill": 1.04 * bill})["bill"]
    assert "Right." in accepted
    assert 1.05 * float(accepted.split(" to ")[-1].strip(".\n")) < bill
    assert "Too large." in answered(BY_HAND | {"hide": 1, "bill": 1.06 * bill})["bill"]
    least = float(accepted.split(" says ")[-1].split(" to ")[0])
    assert "Too small." in answered(BY_HAND | {"hide": 1, "bill": 0.94 * least})["bill"]


def test_the_layout_of_the_plan_fits_by_few_runs_and_zero_1_would_not_be_sure() -> None:
    """Page: ZeRO-3 fits by four runs of one source, ZeRO-1 is uncertain, and too large with FP32 gradients."""
    settings: dict[str, Any] = {
        "batch": 1,
        "sequence": 8192,
        "execution": "compiled",
        "update": "fused",
        "dp": 16,
        "micro_batches": 32,
    }
    found = {
        (zero, mode): estimate(setup("llama3-8b", "h100-sxm", precision=mode, zero=zero, **settings))
        for zero, mode in ((3, "mixed"), (1, "mixed"), (1, "megatron"))
    }
    assert [one.verdict for one in found.values()] == ["fits", "uncertain", "not"]
    expected = found[3, "mixed"].calibrated
    assert expected is not None
    assert expected.needed.sources == 1
    assert expected.needed.high < accelerator("h100-sxm").usable_bytes
