"""What `fit` says: its suggestions fit, it finds one where a plain search does, and it answers soon."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import pytest

from ironlaw import fit, fits, list_models, setup
from ironlaw.answers.changes import allowed, changes
from ironlaw.answers.cheapest import MOST_TRIED, Search
from ironlaw.config.resolved import Setup
from ironlaw.core.errors import EngineError
from ironlaw.memory.ledger import training_memory


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"model": "llama2-13b", "dp": 8}, ["--zero 3", "--checkpointing full"]),
        ({"model": "llama2-7b", "dp": 8}, ["--zero 1"]),
        ({"model": "gpt2", "batch": 999, "gpu": "rtx-4060"}, ["--batch 3 --accumulate 333"]),
        ({"model": "qwen2.5-0.5b", "sequence": 262144}, ["--loss chunked:16", "--checkpointing full"]),
        ({"model": "llama2-7b", "tp": 4, "batch": 6, "optimizer": "sgd"}, ["--sequence-parallel"]),
    ],
    ids=lambda value: "" if isinstance(value, list) else "-".join(map(str, value.values())),
)
def test_fit_finds_the_change_that_a_person_would(words: dict[str, Any], expected: list[str]) -> None:
    assert [one.option for one in fit(**words).cheapest] == expected


def random_setups(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Random setups: many do not fit, and many of these fit after some changes."""
    choose = random.Random(seed)
    while count:
        words: dict[str, Any] = {
            "model": choose.choice([name for name in list_models() if "175b" not in name]),
            "gpu": choose.choice(["rtx-4060", "rtx-4090", "a100-40", "h100-sxm", "v100-16"]),
            "batch": choose.choice([1, 2, 7, 9, 12, 48]),
            "sequence": choose.choice([512, 1024]),
            "dp": (dp := choose.choice([1, 1, 2, 8])),
            "zero": choose.choice([0, 0, 1, 3]) if dp > 1 else 0,
            "precision": choose.choice([None, None, "fp32", "mixed"]),
            "attention": choose.choice(["flash", "standard"]),
            "framework": choose.choice(["torch", "torch", "megatron"]),
        }
        try:
            setup(**words)
        except EngineError:
            continue
        count -= 1
        yield words


def plain_search(words: dict[str, Any]) -> dict[str, Any] | None:
    """The first of many changed setups that fits."""
    batch, dp = words["batch"], words["dp"]
    divisors = [batch // times for times in range(1, batch + 1) if batch % times == 0]
    for zero, checkpointing, loss, micro, offload, in_backward in product(
        range(words["zero"], 4 if dp > 1 else 1),
        ("none", "selective", "full", "every:2"),
        ("full", "chunked:8", "chunked:64"),
        {divisors[0], divisors[-1]},
        ("none", "optimizer", "gradients"),
        (False, True),
    ):
        changed = words | {
            "zero": zero,
            "checkpointing": checkpointing,
            "loss": loss,
            "batch": micro,
            "accumulate": batch // micro,
            "offload": offload,
            "optimizer_in_backward": in_backward,
        }
        try:
            if fits(**changed):
                return changed
        except EngineError:
            continue
    return None


@pytest.mark.parametrize("seed", [11, 12, 13])
@pytest.mark.sampled(3)
def test_where_fit_finds_nothing_a_plain_search_finds_nothing(seed: int) -> None:
    seen = 0
    for words in random_setups(seed, 60):
        answer = fit(**words)
        if not (answer.fits or answer.cheapest):
            seen += 1
            assert plain_search(words) is None
        if seen == 2:
            return
    raise AssertionError("too few setups that nothing makes fit")


@pytest.mark.parametrize(
    "words",
    [
        {"model": "qwen2.5-7b", "batch": 524288},
        {"model": "llama3-8b", "batch": 720720, "sequence": 1024, "gpu": "rtx-4060"},
        {"model": "llama2-70b", "dp": 8, "tp": 2, "attention": "standard", "precision": "fp32", "gpu": "a100-40"},
    ],
    ids=lambda words: words["model"],
)
@pytest.mark.sampled(3)
def test_the_search_has_an_end(words: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    tried = made = 0
    total, init = Search._total, Setup.__init__

    def counted(search: Search, taken: Any) -> float:
        nonlocal tried
        tried += 1
        return total(search, taken)

    def counted_init(self: Setup, *args: Any, **named: Any) -> None:
        nonlocal made
        made += 1
        init(self, *args, **named)

    monkeypatch.setattr(Search, "_total", counted)
    monkeypatch.setattr(Setup, "__init__", counted_init)
    fit(**words)
    # Two searches, with and without changes that may harm training, with and without memory to spare; a set that is
    # begun is finished, and those that exclude each other cost nothing.
    assert tried < 12 * MOST_TRIED
    # Each configuration that the search looks at is a new `Setup`; making them takes most of the time of a long search.
    assert made < 30 * MOST_TRIED


def test_the_search_counts_the_memory_that_the_engine_counts() -> None:
    for words in (
        {"model": "gpt2", "batch": 12},
        {"model": "gpt2", "batch": 12, "pp": 2, "micro_batches": 2},
        {"model": "llama2-7b", "batch": 6, "dp": 8, "sequence": 1024},
    ):
        c = setup(**words)  # type: ignore[arg-type]
        search = Search(c)
        for one, other in combinations(changes(c), 2):
            if one.knob == other.knob or {one.knob, other.knob} == {"offload", "optimizer-in-backward"}:
                continue
            if allowed(changed := other.apply(one.apply(c))):
                assert search._total((one, other)) == training_memory(changed).device_total
