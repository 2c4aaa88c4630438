"""A long run: validation text is never trained on, recording changes nothing, and the numbers agree."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from gpu_bench.measure.course import split
from gpu_bench.measure.data import read_corpus
from gpu_bench.measure.repeat import run_repeat
from gpu_bench.record.derive import divergences
from gpu_bench.record.load import faults
from tests.gpu_bench.tiny import recorded, tiny_case

CPU = torch.device("cpu")


def test_text_is_divided_without_overlap() -> None:
    corpus = read_corpus(2**16)
    train, held_back = split(corpus)
    assert torch.equal(torch.cat([train.tokens, held_back.tokens]), corpus.tokens)
    assert len(held_back.tokens) == int(0.05 * len(corpus.tokens))


def test_a_course_records_validation_losses_and_gradients_and_changes_neither_training_nor_times() -> None:
    case = tiny_case(steps=4, dropout=0.1, validate_every=2, repeats=2)
    part, again = run_repeat(case, CPU, 1), run_repeat(case, CPU, 1)
    course, timing = part["course"], part["timing"]
    assert len(timing["step_s"]) == 4, "validation is no step"
    assert len(course["points"]) == 2
    assert again["course"] == course
    losses = [point["validation_loss"] for point in course["points"]]
    assert losses[1] < losses[0] < timing["losses"][0]
    assert len(course["gradient_norms"]) == 4
    assert min(course["gradient_norms"]) > 0
    # Every training step draws random numbers for dropout. Validation draws none, so it does not change training.
    assert run_repeat(tiny_case(steps=4, dropout=0.1), CPU, 1)["course"] is None


@pytest.mark.parametrize(("losses", "count"), [([5.0, 4.0, 5.1], 1), ([5.0, None, 4.0], 1), ([5.0, 4.9], 0)])
def test_a_step_without_a_finite_loss_or_above_the_first_one_diverges(losses: list[float | None], count: int) -> None:
    assert divergences(losses) == count


@pytest.mark.parametrize(
    ("forge", "told"),
    [
        (lambda course: course["points"].pop(), "not one for every 2 of 4 steps"),
        (lambda course: course["gradient_norms"].pop(), "gradient_norms are not those of the timed steps"),
        (lambda course: course.update(gradient_norms=[None] * 4), "are there where gradients are clipped"),
        (lambda course: course["points"][0].update(validation_loss=0.01), "far from what text costs"),
        (lambda course: course["points"][1].update(validation_loss=1.0), "the last validation loss is 1"),
        (lambda course: course["points"][0].update(allocated=5), "the memory of a GPU, and only of a GPU"),
    ],
)
def test_a_forged_course_is_refused(record_of_a_course: dict[str, Any], forge: Any, told: str) -> None:
    forged = copy.deepcopy(record_of_a_course)
    assert faults(forged) == []
    forge(forged["course"])
    assert any(told in fault for fault in faults(forged)), faults(forged)


@pytest.fixture(scope="module")
def record_of_a_course() -> dict[str, Any]:
    return recorded("trial", tiny_case(steps=4, validate_every=2))
