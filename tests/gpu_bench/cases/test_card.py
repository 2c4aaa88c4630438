"""A card of 16 GB: batches of its own, and a search on the card itself and nowhere else."""

from __future__ import annotations

import pytest
import torch

from gpu_bench.cases.card import CARD, FIT
from gpu_bench.measure.fit import run_repeat
from gpu_bench.measure.unsupported import UnsupportedError
from gpu_bench.predict.prediction import predicted_batch


@pytest.mark.parametrize("case", CARD, ids=lambda case: case.name)
def test_batches_of_the_card_are_the_largest_that_the_engine_gives_it(case: object) -> None:
    size, _, policy = case.name.removeprefix("card-16gb-").partition("-")  # type: ignore[attr-defined]
    (fit,) = (one for one in FIT if one.name == f"fit-16gb-{size}")
    assert case.batch == predicted_batch(fit, policy, "cuda")  # type: ignore[attr-defined]


def test_a_search_on_the_card_itself_refuses_what_is_not_that_card() -> None:
    (fit,) = (one for one in FIT if one.name == "fit-native-16gb-124m")
    with pytest.raises(UnsupportedError, match=r"the case is for a card of 16\.\d GB itself; this device is cpu"):
        run_repeat(fit, torch.device("cpu"), 0)
