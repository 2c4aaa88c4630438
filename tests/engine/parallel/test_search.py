"""A search takes a setup or its words, like every other question."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ironlaw import EngineError, search, setup


def test_words_find_what_their_setup_finds() -> None:
    made = setup("gpt2", "h200", sequence=512, precision="bf16")
    by_setup = search(made, devices=4, global_batch=16)
    assert by_setup == search("gpt2", "h200", sequence=512, precision="bf16", devices=4, global_batch=16)
    assert len(by_setup) == 5
    assert search(made, devices=4, global_batch=16, keep=2) == by_setup[:2]
    whole: Any = np.int64
    assert search(made, devices=whole(4), global_batch=whole(16), keep=whole(2)) == by_setup[:2]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ({"devices": 0}, "devices 0 is not allowed; it must be a whole number of at least 1"),
        ({"devices": 10**7}, "devices 10000000 is not allowed; it must be a whole number of at most 1000000"),
        ({"global_batch": 1.5}, "global_batch 1.5 is not allowed"),
        ({"keep": 0}, "keep 0 is not allowed"),
        ({"dp": 8}, "dp 8 is not allowed, as a search finds it; it must be left out"),
        ({"gpu": "h100"}, "gpu 'h100' is unknown, did you mean h100-nvl?"),
        ({"sequence": np.arange(1, 9)}, "sequence array([1, 2, 3, 4, 5, 6, 7, 8]) is not allowed; it must be a"),
        ({"gpu": "tpu-v4"}, "gpu 'tpu-v4' is not allowed, as nobody published"),
    ],
)
def test_what_cannot_be_searched_is_refused_in_one_line(words: dict[str, Any], line: str) -> None:
    with pytest.raises(EngineError) as error:
        search("gpt2", **({"devices": 8, "global_batch": 64} | words))
    assert str(error.value).startswith(line)
    assert "\n" not in str(error.value)
