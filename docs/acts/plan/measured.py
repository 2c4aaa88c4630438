"""What a reader has measured, beside what the plan says, and what would explain the rest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from explorable import live
from ironlaw import GB, Setup
from ironlaw.answers.changes import allowed
from ironlaw.answers.estimate import prepare
from ironlaw.config.changed import changed
from ironlaw.files.facts import Observed
from ironlaw.files.failed import lines
from ironlaw.files.gap import NAMES, NOTICED, Gap, Placed, compare

from .choices import BESIDES, KNOWABLE, KNOWN, READ_AT, UNCOUNTABLE, UNCOUNTED, mark_of, named_by
from .left import left

CHANGED = (
    "Settings were moved since this was read. What follows holds if they are now those of the run that was measured."
)
"""Said where the controls have moved: of another plan than the one that ran, a comparison says nothing."""
NO_NUMBERS = "This plan has no numbers to stand beside it: make it the one that ran, and they stand here."
NOT_YOURS = "The plan's numbers stand beside it, with what would explain the rest, once its model is yours: choose it."
"""Said of the page's own model: beside a run of another one its numbers say nothing."""
MOST = 6
"""Differences that are told."""
READ = {
    "step_s": (NAMES["step_s"], "s", 1.0),
    "tokens_per_s": (NAMES["tokens_per_s"], "", 1.0),
    "tokens_per_s_device": (f"{NAMES['tokens_per_s']} of one card", "", 1.0),
    "mfu": ("utilization (MFU) as the log counts it", "%", 0.01),
    "allocated": (NAMES["allocated_peak"], "GB", GB),
    "reserved": ("reserved memory", "GB", GB),
    "needed": (NAMES["needed"], "GB", GB),
    "process": (NAMES["device_total"], "GB", GB),
    "asked": ("memory that was asked for", "GB", GB),
    "free": ("free memory", "GB", GB),
    "in_use": ("memory of all programs", "GB", GB),
}
"""What texts say was measured: what it is called, the unit in which it is told, and how much that is."""
UNSEEN = (
    "usual causes that this page cannot see are waiting for data, samples padded to more tokens than the plan has, and "
    "a card that others use too or that slows down when hot"
)
"""What is said of time that no setting explains."""
_MAY_EXPLAIN = "First what is not counted, then settings that would lead towards what was measured"
_OPEN = "It changes what was measured; by how much is not known, nor what it leaves to other settings."
_OF_THE_PLAN = {"allocated_peak": "allocated", "device_total": "process"}
_UNCOMPARED = ("mfu",)
"""What is told and not compared: programs count utilization in their own ways."""


def told(measured: Mapping[str, float]) -> str:
    """What was measured, in a sentence."""
    return f"Read: {', '.join(f'{name} {size} {unit}'.strip() for name, size, unit in _figures(measured))}."


def has_failed(state: live.State) -> bool:
    """Whether a message that was read with this very plan says that its memory was not enough."""
    found = json.loads(str(state.controls["measured"]) or "{}")
    return "asked" in found and "model" not in left(state) and found.get(READ_AT) == mark_of(state)


def _figures(measured: Mapping[str, float]) -> list[tuple[str, str, str]]:
    """What was measured, how much of which unit."""
    return [(name, _digits(measured[one] / size), unit) for one, (name, unit, size) in READ.items() if one in measured]


def _digits(value: float) -> str:
    """A number with four digits that count, and all of a whole one."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def _named(name: str, unit: str) -> str:
    return f"{name}, {unit}" if unit else name


def read_tables(state: live.State, why: str = NO_NUMBERS) -> dict[str, live.Table]:
    """What was read, where the plan has no numbers to stand beside it; none without any.

    Args:
        state: Where the controls stand.
        why: A sentence on what is missing.
    """
    text = str(state.controls["measured"])
    if not text:
        return {}
    caption = f"What was read. {why}"
    rows = [live.row(_named(name, unit), size) for name, size, unit in _figures(json.loads(text))]
    return {"measured": live.Table(caption, live.columns("Yours", "Measured"), rows)}


def measured_tables(state: live.State, asked: Setup) -> dict[str, live.Table]:
    """What a message says, the measured figures, and what would explain those outside their bands; none without any."""
    text = str(state.controls["measured"])
    if not text:
        return {}
    if "model" in left(state):
        return read_tables(state, NOT_YOURS)
    gap, message, known = _gap(asked, text, besides=BESIDES in left(state))
    numbers = json.loads(text)
    mark = numbers.get(READ_AT)
    since = f"{CHANGED} " if mark is not None and mark != mark_of(state) else ""
    tables = {}
    since += _samples(asked, numbers.get("samples_per_step"))
    if message:
        rows = [live.row(what, said) for what, said in message]
        tables["message"] = live.Table(
            f"{since}Your out-of-memory message beside the plan (1 GiB of it is 1.074 GB)",
            _words_last(live.columns("", "What it says")),
            rows,
        )
        since = ""  # it stands above the first table
    others = {} if message else {name: numbers[name] for name in _UNCOMPARED if name in numbers}
    compared = [_compared(one) for one in gap.figures]
    placed = "the percentile above is of this page's count" if "percentile" in gap.standing else ""
    compared += [
        live.row(_named(name, unit), size, "–", "–", (name == READ["mfu"][0] and placed) or "not compared")
        for name, size, unit in _figures(others)
    ]
    tables["measured"] = live.Table(
        f"{since}What you measured beside the plan. {' '.join(filter(None, (gap.sentence, known, gap.standing)))}",
        _words_last(live.columns("Yours", "Measured", "Expected", "Band", "")),
        compared,
    )
    if gap.differences or gap.uncounted:
        rows = [live.row(f"Not counted: {name}", _OPEN) for name in gap.uncounted]
        rows += [live.row(one.title, one.sentence) for one in gap.differences[:MOST]]
        caption = _MAY_EXPLAIN if gap.uncounted else "What would explain it, what explains most first"
        tables["differences"] = live.Table(caption, _words_last(live.columns("If", "Then")), rows)
    return tables


def _samples(asked: Setup, measured: int | None) -> str:
    """A sentence where the steps of a log are of other sizes than the plan's; nothing where they are not."""
    planned = asked.tokens // asked.sequence
    if measured is None or measured == planned:
        return ""
    return (
        f"The log's steps have {measured:,} sample{'s' * (measured > 1)} each and the plan's {planned:,}: "
        "set sequences, passes and cards as that run had them. "
    )


def _words_last(columns: tuple[live.Column, ...]) -> tuple[live.Column, ...]:
    """The same columns, the last of which holds words: read from its left edge, and broken where they are long."""
    return (*columns[:-1], replace(columns[-1], numeric=False))


def _compared(one: Placed) -> dict[str, str]:
    name, word, unit = READ[_OF_THE_PLAN.get(one.name, one.name)]
    less = "less so far; the peak was still to come" if one.at_least and one.place == "below" else one.place
    return live.row(
        _named(name, word),
        f"{'at least ' * one.at_least}{_digits(one.measured / unit)}",
        _digits(one.expected / unit),
        f"{_digits(one.low / unit)} to {_digits(one.high / unit)}",
        less,
    )


@lru_cache(maxsize=8)
def _gap(asked: Setup, text: str, *, besides: bool) -> tuple[Gap, tuple[tuple[str, str], ...], str]:
    numbers: dict[str, Any] = json.loads(text)
    numbers.pop(READ_AT, None)
    known, uncounted = named_by(numbers.pop(KNOWN, 0), KNOWABLE), named_by(numbers.pop(UNCOUNTED, 0), UNCOUNTABLE)
    seen = Observed(program="", **numbers)
    gap = compare(asked, seen, known, uncounted if besides else ())
    return gap, lines(asked, seen), _known(asked, gap)


def _known(asked: Setup, gap: Gap) -> str:
    """How much of a step's time above its band known causes explain together, and what may be behind the rest.

    Nothing where something that is not counted has its share.
    """
    step = next((one for one in gap.figures if one.name == "step_s"), None)
    if step is None or step.place != "above" or gap.uncounted:
        return ""
    titles: list[str] = []
    words: dict[str, Any] = {}
    explained, missing = 0.0, step.measured - step.expected
    for one in gap.differences:
        # Of what sets the same once, and only as far as it does not take more time than was measured.
        if one.seconds <= 0 or words.keys() & one.words.keys():
            continue
        slower = changed(asked, {**words, **one.words})
        found = prepare(slower)().calibrated if allowed(slower) else None
        took = found.step_s.expected - step.expected if found else 0.0
        if explained < took <= missing * (1 + NOTICED):
            titles.append(one.title)
            words |= one.words
            explained = took
    left = missing - explained
    if not titles:
        return f"All {missing:.3g} s more than expected stay unexplained: {UNSEEN}."
    causes = ", ".join((titles[0], *(f"{title[:1].lower()}{title[1:]}" for title in titles[1:])))
    joint = " together" if len(titles) > 1 else ""
    said = f"Of the {missing:.3g} s more than expected they would explain {explained:.3g} s{joint}: {causes}."
    return f"{said} The other {left:.3g} s stay unexplained: {UNSEEN}." if left > NOTICED * missing else said
