"""The walk of a search for the largest batch that fits: which batch is tried next, by what came of those before.

Measuring takes it with trials, and a record is held against it: there is one rule, and it needs no PyTorch.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence

Walk = Generator[int, str, None]
"""Yields a batch and is sent what it came to, until the search is over."""


def walk(batches: Sequence[int], start: int | None) -> Walk:
    """Try batches, ascending, from `start` on (None is the smallest): up while they fit, or down while they do not.

    What a batch comes to is `fits`, `oom`, or how else it ended, which says nothing about memory and ends the search. A
    prediction that is right costs two attempts: it fits, and the next one does not. Whether a batch fits is taken to be
    monotonic. What the trials say is derived when the record is read.
    """
    index = batches.index(start) if start in batches else 0
    outcome = first = yield batches[index]
    step = {"fits": 1, "oom": -1}.get(first, 0)
    while step and outcome == first and 0 <= (index := index + step) < len(batches):
        outcome = yield batches[index]


def following(steps: Walk, outcome: str) -> int | None:
    """The batch that is tried after the last one came to `outcome`; None when the search is over."""
    try:
        return steps.send(outcome)
    except StopIteration:
        return None
