"""Measured beside expected: the engine's own figures lie inside, and a run with a difference is explained by it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironlaw import estimate, setup
from ironlaw.calibration.coefficients import content
from ironlaw.files import read
from ironlaw.files.facts import Observed
from ironlaw.files.failed import lines
from ironlaw.files.gap import Gap, compare, utilization
from ironlaw.files.words import words_of

WORDS: dict[str, Any] = {
    "model": "llama3-8b", "gpu": "h100-sxm", "dp": 8, "zero": 3, "sequence": 4096, "checkpointing": "full",
    "precision": "bf16", "execution": "compiled",
}  # fmt: skip


def seen(**words: Any) -> Observed:
    """A run that takes what is expected of these words."""
    found = estimate(setup(**{**WORDS, **words})).calibrated
    assert found is not None
    return Observed(program="ours", step_s=found.step_s.expected, allocated=round(found.allocated_peak.expected))


def test_what_is_expected_is_inside_and_needs_no_explanation() -> None:
    gap = compare(WORDS, seen())
    assert [one.name for one in gap.figures] == ["step_s", "allocated_peak"]
    assert [one.ratio for one in gap.figures] == pytest.approx([1, 1])
    assert gap.inside
    assert gap.differences == ()
    assert "nothing needs an explanation" in gap.sentence


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"attention": "standard"}, "Eager attention costs"),
        ({"checkpointing": "none"}, "No checkpointing saves"),
        ({"precision": "fp32"}, "Computing in FP32 costs"),
    ],
    ids=str,
)
def test_a_run_with_a_difference_is_explained_by_it_first(words: dict[str, Any], told: str) -> None:
    gap = compare(WORDS, seen(**words))
    first = gap.differences[0]
    assert first.left < 0.02
    assert first.sentence.startswith(told)
    assert "explain all of the" in first.sentence
    before, after = (estimate(setup(**{**WORDS, **changed})).calibrated for changed in ({}, words))
    assert before
    assert after
    assert first.words == words
    assert first.seconds == after.step_s.expected - before.step_s.expected
    assert first.bytes == round(after.device_total.expected - before.device_total.expected)


def test_a_run_that_is_faster_may_have_had_shorter_samples() -> None:
    """Ranked among the others by what it explains; a rate of tokens says nothing of their length."""
    quick = seen(sequence=2048)
    gap = compare(WORDS, quick)
    assert gap.differences[0].words == {"sequence": 2048}
    assert gap.differences[0].sentence.startswith("A mean sample half as long (padding is not computed) saves")
    tokens = 8 * 4096 / quick.step_s  # type: ignore[operator]
    rated = compare(WORDS, Observed(program="ours", tokens_per_s=tokens))
    assert not any(
        "sample" in one.title for one in (*rated.differences, *compare(WORDS, seen(precision="fp32")).differences)
    )


@given(st.floats(0.05, 20), st.one_of(st.none(), st.floats(0.3, 5)))
def test_a_difference_is_told_only_where_it_leads_towards_what_was_measured(time: float, memory: float | None) -> None:
    c = setup(**WORDS)
    now = estimate(c).calibrated
    assert now
    held = None if memory is None else round(now.device_total.expected * memory)
    step = now.step_s.expected * time
    gap = compare(c, Observed(program="any", step_s=step, process=held))
    for figure in gap.figures:
        assert (figure.place == "inside") == (figure.low <= figure.measured <= figure.high)
    if gap.inside:
        assert not gap.differences
    figures = {one.name: one for one in gap.figures}
    for one in gap.differences:
        then = estimate(setup(**{**WORDS, **one.words})).calibrated
        assert then
        nearer = {
            name: abs(getattr(then, name).expected - figure.measured) <= abs(figure.expected - figure.measured)
            for name, figure in figures.items()
        }
        assert any(nearer[name] for name, figure in figures.items() if figure.place != "inside"), one.sentence
        assert 0 <= one.left < 1
    assert [one.left for one in gap.differences] == sorted(one.left for one in gap.differences)


def test_tokens_of_one_device_count_for_all() -> None:
    c = setup(**WORDS)
    gap = compare(c, Observed(program="torchtitan", tokens_per_s_device=100.0))
    step, rate = gap.figures
    assert (step.name, rate.name) == ("step_s", "tokens_per_s")
    assert step.measured == pytest.approx(c.tokens / 800)
    assert (step.place, rate.place) == ("above", "below")
    assert "800 tokens/s" in rate.sentence
    assert compare(c, Observed(program="none")).sentence.startswith("Nothing was measured")


def test_a_rate_alone_outside_its_band_is_explained_by_shorter_samples() -> None:
    """A Trainer counts no padding: the time of a step is expected, and its tokens are fewer than the plan's."""
    c = setup(**WORDS)
    within = estimate(c).calibrated
    assert within is not None
    seen = Observed(program="transformers", step_s=within.step_s.expected, tokens_per_s=within.tokens_per_s.low / 5)
    gap = compare(c, seen)
    assert [(one.name, one.place) for one in gap.figures] == [("step_s", "inside"), ("tokens_per_s", "below")]


def test_a_log_and_a_file_together_are_compared() -> None:
    run = read(
        "torchrun --nproc-per-node 8 t.py --max_length 4096 --bf16 True --dtype bfloat16 --use_liger_kernel True"
    )
    log = read("  5/100 [01:00<20:00, 12.50s/it]\n  6/100 [01:12<20:00, 12.50s/it]\n")
    assert log.measured is not None
    found = words_of([run, log], {"model": "llama3-8b", "gpu": "h100-sxm", "zero": 3})
    gap = compare(found, log.measured)
    assert gap.figures[0].measured == 12.5
    assert gap.figures[0].place == "above"
    assert "above the band" in gap.figures[0].sentence


FAILED = (
    "OutOfMemoryError: CUDA out of memory. Tried to allocate 3.91 GiB. GPU 0 has a total capacity of 23.65 GiB of "
    "which 1.09 GiB is free. Process 2670 has 21.50 GiB memory in use. Of the allocated memory 19.36 GiB is allocated "
    "by PyTorch, and 2.02 GiB is reserved by PyTorch but unallocated."
)


def failed(batch: int, method: str, text: str = FAILED, sequence: int = 4096) -> tuple[Gap, dict[str, str]]:
    """The comparison of a message with a plan, and the lines that say what stands in it."""
    c = setup("llama3-8b", "rtx-4090", sequence=sequence, checkpointing="full", method=method, batch=batch)
    seen = read(text).measured
    assert seen is not None
    return compare(c, seen), dict(lines(c, seen))


def test_a_failed_run_needed_what_it_had_and_what_it_asked_for() -> None:
    gap, told = failed(2, "qlora")
    tensors, device = gap.figures
    assert tensors.measured == pytest.approx((19.36 + 3.91) * 2**30)
    # What was reserved and unused could have held a part of it.
    assert device.measured == pytest.approx((21.50 + 3.91 - 2.02) * 2**30)
    assert tensors.at_least
    assert (tensors.place, gap.inside) == ("below", True)
    assert tensors.sentence.startswith(
        "The run needed at least 24.99 GB of allocated memory: less so far than the band"
    )
    assert told["It asked for"] == "4.20 GB"
    assert told["Free on the card then"] == "1.17 GB"
    assert told["Other programs had"].startswith("1.14 GB")
    assert "backward, loss" in told["With what it asked for"]
    # B T words in FP32: 2 x 4,096 x 128,256 x 4 bytes.
    assert told["A tensor of that size in the plan"] == "logits: head loss.log_softmax (fp32)"
    shorter, _ = failed(2, "qlora", sequence=3840)
    assert (shorter.figures[0].place, shorter.inside) == ("inside", True)
    assert "allocated memory: inside the band" in shorter.figures[0].sentence


def test_a_failed_run_that_needed_more_than_the_plan_is_explained_by_more_and_one_before_its_peak_by_nothing() -> None:
    above, told = failed(1, "qlora")
    assert [one.place for one in above.figures] == ["above", "above"]
    assert "no moment of the plan's step has" in told["With what it asked for"]
    assert above.differences
    assert all(one.bytes > 0 for one in above.differences)
    assert any(one.words == {"sequence": 8192} for one in above.differences)
    below, _ = failed(8, "lora")
    assert [one.place for one in below.figures] == ["below", "below"]
    assert below.inside
    assert below.differences == ()


def test_memory_that_lies_in_pieces_is_told() -> None:
    _, told = failed(1, "qlora", FAILED.replace("2.02 GiB is reserved", "5.02 GiB is reserved"))
    assert "expandable_segments" in told["Reserved, not allocated"]
    _, told = failed(1, "qlora")
    assert "expandable_segments" not in told["Reserved, not allocated"]


def test_a_run_that_did_not_fail_has_no_message() -> None:
    assert lines(setup(**WORDS), seen()) == ()


def test_a_step_stands_among_published_ones_of_its_card_and_formats() -> None:
    """Whoever takes twice as long stands lower; what the survey does not have is not said."""
    words: dict[str, Any] = {
        "model": "llama3-8b",
        "gpu": "a100-80",
        "dp": 8,
        "zero": 3,
        "sequence": 4096,
        "precision": "mixed-bf16",
    }
    c = setup(**words)
    table = content()["utilization"]["A100 16-bit"]
    places = {}
    for share in (0.01, 0.25, 0.5, 0.99):
        step = 0.5 / share * utilization(c, 0.5)
        said = compare(words, Observed(program="ours", step_s=step)).standing
        found = re.fullmatch(
            r"Your MFU, (\d+) %, is at percentile (\d+) of (\d+) published runs of (\d+) publishers: full .*", said
        )
        assert found
        assert found[1] == f"{100 * share:.0f}"
        assert [int(found[3]), int(found[4])] == [sum(table["steps"]), table["publishers"]]
        assert said.endswith(": full training, A100 16-bit.")
        places[share] = int(found[2])
    steps = table["steps"]
    assert places[0.01] == 0
    assert places[0.99] == 100
    assert places[0.25] == round(100 * (sum(steps[:25]) + steps[25] / 2) / sum(steps))
    assert places[0.25] < places[0.5]


@pytest.mark.parametrize(
    "words", [{"gpu": "rtx-4090"}, {"method": "lora", "zero": 0, "execution": "eager"}, {"precision": "fp32"}], ids=str
)
def test_where_too_few_runs_are_like_it_no_place_is_said(words: dict[str, Any]) -> None:
    gap = compare({**WORDS, "gpu": "a100-80", **words}, Observed(program="ours", step_s=50.0))
    assert gap.figures
    assert gap.standing == ""


def test_beside_what_is_not_counted_no_setting_explains_a_share() -> None:
    measured = seen(checkpointing="none")
    gap = compare(WORDS, measured, uncounted=["lisa"])
    assert [one.title for one in gap.differences] == [one.title for one in compare(WORDS, measured).differences]
    assert not any("explain" in one.sentence for one in gap.differences)
    assert gap.sentence == "The run had what is not counted: lisa. How much that changes is not known."
    assert not compare(WORDS, seen(), uncounted=["lisa"]).uncounted
