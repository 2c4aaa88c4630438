"""A card of 16 GB: batches of its own, and a search on the card itself or on a larger GPU in its place."""

from __future__ import annotations

import pytest

from gpu_bench.cases.card import CARD, FIT, emulates
from gpu_bench.predict.prediction import predicted_batch


@pytest.mark.parametrize("case", CARD, ids=lambda case: case.name)
def test_batches_of_the_card_are_the_largest_that_the_engine_gives_it(case: object) -> None:
    size, _, policy = case.name.removeprefix("card-16gb-").partition("-")  # type: ignore[attr-defined]
    (fit,) = (one for one in FIT if one.name == f"fit-16gb-{size}")
    assert case.batch == predicted_batch(fit, policy, "cuda")  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("memory", "stands_in"),
    [(16_600_000_000, False), (17_179_869_184, False), (24 * 10**9, True), (150_100_000_000, True), (None, True)],
)
def test_a_gpu_of_the_cards_size_runs_as_it_is_and_any_other_device_stands_in(
    memory: int | None, stands_in: bool
) -> None:
    assert [emulates(fit, memory) for fit in FIT] == [stands_in] * len(FIT)
