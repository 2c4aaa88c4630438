"""All cases that there are, by suite, and how to find one. Nothing here imports PyTorch, so `list` is instant."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, get_args, get_type_hints

from gpu_bench.cases import card, first_hour, ladder, techniques
from gpu_bench.cases.case import Case
from gpu_bench.cases.first_hour import HOURS
from gpu_bench.cases.kinds import case_from_dict
from gpu_bench.cases.tiny import tiny
from gpu_bench.experiments.failures.case import FAILURE_SUITE
from gpu_bench.experiments.hybrid.case import HYBRID_SUITE
from ironlaw.core.errors import closest

__all__ = ["SUITES", "TINY", "Case", "case_from_dict", "find_cases"]

SUITES: dict[str, tuple[Case, ...]] = {
    "first-hour": first_hour.FIRST_HOUR,
    "smoke": techniques.SMOKE,
    "ladder": ladder.LADDER,
    "checkpointing": techniques.CHECKPOINTING,
    "attention": techniques.ATTENTION,
    "pipeline": techniques.PIPELINE,
    "roofline": techniques.ROOFLINE,
    "fit": card.FIT,
    "card": card.CARD,
    "scaling": techniques.SCALING,
    "validation": card.VALIDATION,
    "failures": FAILURE_SUITE,
    "hybrid": HYBRID_SUITE,
}
"""Suite name -> its cases, in the order of the page of measurements; `value` says which are run first."""

TINY: dict[str, tuple[Case, ...]] = {f"{suite}-tiny": tiny(cases) for suite, cases in SUITES.items()}
"""The same suites in shapes that two CPU cores train in seconds: for trying everything out, by the same code."""


def find_cases(suite: str | None, names: tuple[str, ...]) -> tuple[tuple[str, Case], ...]:
    """Pairs of suite name and case for what was asked: a suite, single cases by name, or the named cases of a suite.

    `all` is every suite, its cases by value, the most valuable first. An hour has cases of several suites in its own
    order; by name also the other cases of the suite `first-hour` are found in it. Tiny cases are found by their suite
    only.

    Raises:
        ValueError: When a name does not exist; the message says what exists.
    """
    known_suites = {**SUITES, **dict.fromkeys(HOURS), **TINY, **{f"{hour}-tiny": None for hour in HOURS}}
    if suite not in (None, "all", *known_suites):
        allowed = ", ".join(dict.fromkeys((*HOURS, *SUITES)))
        raise ValueError(f"suite {suite!r} does not exist{closest(suite or '', SUITES)}; allowed: all, {allowed}")
    hour = _hour(suite or "")
    groups = {suite: TINY[suite]} if suite in TINY else SUITES
    pool = [(key, case) for key, cases in groups.items() if suite in (key, None, "all") for case in cases]
    # Sorting keeps the order of equals, which is that of the section.
    pool.sort(key=lambda pair: -pair[1].value)
    found = {(key, case.name): case for key, case in (*hour, *pool)}
    known = {name for _, name in found}
    for name in names:
        if name not in known:
            raise ValueError(
                f"case {name!r} does not exist{closest(name, known)}; 'python -m gpu_bench list' prints all"
            )
    if hour and not names:
        return hour
    return tuple((key, case) for (key, name), case in found.items() if not names or name in names)


def _hour(name: str) -> tuple[tuple[str, Case], ...]:
    """Pairs of suite and case of an hour, or of its tiny form, in its order; none for another name."""
    tail = "-tiny" if name.endswith("-tiny") else ""
    suites = TINY if tail else SUITES
    return tuple(
        (suite + tail, next(case for case in suites[suite + tail] if case.name == wanted))
        for suite, wanted in HOURS.get(name.removesuffix("-tiny"), ())
    )


def with_fields(cases: Sequence[tuple[str, Case]], changes: Sequence[str]) -> tuple[tuple[str, Case], ...]:
    """The cases with fields changed, e.g. `batch=33`, under names that say so; `batch=24,33` is a case for each.

    Raises:
        ValueError: For a change that is not `FIELD=VALUE`, a field that a case does not have, or a value it refuses.
    """
    asked = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals:
            raise ValueError(f"--set {change!r} says nothing; allowed: FIELD=VALUE, e.g. batch=33")
        asked[name] = text
    changed = tuple((suite, changed) for suite, case in cases for changed in _variants(case, asked))
    names = [(suite, case.name) for suite, case in changed]
    if twice := next((name for suite, name in names if asked and names.count((suite, name)) > 1), None):
        raise ValueError(f"--set makes {twice} more than once; allowed: each value of a field once")
    return changed


def _variants(case: Case, asked: Mapping[str, str]) -> Iterator[Case]:
    """The case for every combination of values; those of a field that holds several numbers belong together."""
    values = [
        [text] if isinstance(getattr(case, name, None), tuple) else text.split(",") for name, text in asked.items()
    ]
    for chosen in itertools.product(*values):
        yield _changed(case, dict(zip(asked, chosen, strict=True)))


_FIXED = ("name", "kind", "value", "reason", "against", "check")


def _changed(case: Case, asked: Mapping[str, str]) -> Case:
    """A case with all changes made at once, because one value may be allowed only together with another."""
    known, kinds = [one.name for one in fields(case) if one.name not in _FIXED], get_type_hints(type(case))
    values: dict[str, Any] = {}
    for name, text in asked.items():
        if name not in known:
            raise ValueError(f"{case.name} has no field {name!r}{closest(name, known)}; allowed: {', '.join(known)}")
        try:
            values[name] = _value(text, getattr(case, name), kinds[name])
        except ValueError:
            was = getattr(case, name)
            raise ValueError(f"--set {name}={text!r} is not like {was!r}, which {case.name} has") from None
    said = {name: text.lower().replace("e+", "e") for name, text in asked.items()}
    tails = [re.sub(r"[^a-z0-9]+", "-", f"{name}-{text}".lower()).strip("-") for name, text in said.items()]
    return replace(case, name="-".join((case.name, *tails)), **values)


def _value(text: str, now: Any, kind: Any) -> Any:
    """A value of a field's kind from text; `none` where the field may be None."""
    if text == "none" and type(None) in get_args(kind):
        return None
    # Digits of other scripts are numbers to Python, and would be lost from the case's name.
    if not text.isascii():
        raise ValueError(text)
    if isinstance(now, bool):
        if text not in ("true", "false"):
            raise ValueError(text)
        return text == "true"
    if isinstance(now, tuple):
        like = now[0] if now else ""
        return tuple(_value(one, like, type(like)) for one in text.split(","))
    if isinstance(now, int):
        return int(text)
    return float(text) if isinstance(now, float) or now is None else text
