"""The note of a claim: its numbers computed, and those that are typed held against what the source says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from explorable.book import current
from explorable.measured.claims.data import Claim, Source
from explorable.measured.claims.verdict import holds, shown
from explorable.measured.errors import MeasuredError
from explorable.measured.values.computed import Outcomes, outcome
from explorable.measured.values.expressions import Outcome
from explorable.measured.values.quantities import convert, parse_format, unit_text
from explorable.shared.scan import Role, scan
from explorable.shared.typed_numbers import typed_numbers

_NUMBERS = ("engine", "other", "arithmetic", "check", "also", "survey")
"""A number in a note: `{engine} expression | unit format`, or `{check} unit format` for the claim's own check.

`{other}` is an `{engine}` number that answers another question than the claim, though it has the claim's unit.
`{arithmetic}` puts the source's own figures together, without the engine. `{survey}` says how many results the
book's survey has.
"""
_FIGURE = re.compile(r"(?<![A-Za-z\d.,])\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
"""A number in an expression or a sentence; not the digits of a name such as `fp16`."""
_PRODUCT = re.compile(r"\d\s×$")
"""How `3 × 3` begins: a factor is written `3×`."""


@dataclass(frozen=True)
class NoteNumber:
    """A number in a note: computed, or that of the claim's own check where a record answers it."""

    text: str
    expression: str
    outcome: Outcome
    record: str = ""


def expressions(claim: Claim, *, from_engine: bool) -> Iterator[str]:
    """The expressions of a claim's note: those over the engine, or those that only put figures together."""
    for number in _numbers(claim):
        if number.name in (("engine", "other") if from_engine else ("arithmetic",)):
            yield _split(number.text)[0]


def computed(claim: Claim, outcomes: Outcomes, record: str = "") -> tuple[str | NoteNumber, ...]:
    """The note with its numbers; `record` is what answers the check. Raises `MeasuredError` for code that is none."""
    parts: list[str | NoteNumber] = []
    prose, position = scan(claim.note).text, 0
    for number in _numbers(claim):
        parts.append(prose[position : number.start])
        survey = number.name == "survey"
        parts.append(_population() if survey else _number(claim, number.name, number.text, outcomes, record))
        position = number.end
    parts.append(prose[position:])
    for part in parts:
        if isinstance(part, str) and "`" in part:
            raise MeasuredError(
                f"'{part.strip()}' has code that is not a number",
                "allowed in a note: `{engine} expression | unit format`, the same with {other} or {arithmetic}, "
                "`{check} unit format`, `{also} unit format`, `{survey}`",
            )
    return tuple(part for part in parts if part)


def _numbers(claim: Claim) -> list[Role]:
    return [role for role in scan(claim.note).roles if role.name in _NUMBERS]


def _population() -> str:
    survey = current().survey
    if survey is None:
        raise MeasuredError("this book has no survey of published results", "leave `{survey}` out of the note")
    return survey.population()


def _split(text: str) -> tuple[str, str]:
    expression, _, form = text.rpartition("|")
    return expression.strip(), form


def _number(claim: Claim, kind: str, text: str, outcomes: Outcomes, record: str) -> NoteNumber:
    if kind in ("check", "also"):
        check = claim.check if kind == "check" else claim.also and claim.also.check
        expression, form = check.asked if check else "", text
    else:
        expression, form = _split(text)
    if kind == "check" and claim.check.evidence == "cited":
        raise MeasuredError(f"'{{check}} {text}' in the note is nothing computed", "the value is cited; leave it out")
    if expression not in outcomes:
        raise MeasuredError(f"'{{{kind}}} {text}' in the note is nothing computed", f"the claim has no '{kind}'")
    found, parsed = outcome(expression, outcomes), parse_format(form)
    value = shown(convert(found.quantity, parsed.unit), parsed)
    return NoteNumber(value, expression, found, record if kind == "check" else "")


def refuse_counter_cases(claim: Claim, outcomes: Outcomes) -> None:
    """A note must not hold what would refine a confirmed claim. Raises `MeasuredError` where it has such a number."""
    assert claim.tolerance is not None
    for number in _numbers(claim):
        if number.name != "engine":
            continue
        expression = _split(number.text)[0]
        found = outcome(expression, outcomes)
        try:
            value = convert(found.quantity, claim.format.unit)
        except MeasuredError:
            continue  # a number of another dimension answers another question
        if not holds(claim.stated, claim.tolerance, value):
            raise MeasuredError(
                f"it is confirmed, and its note gives a case in which it does not hold: {expression}",
                "make that case the claim's 'also', or write {other} for a number that answers another question",
            )


def quoted(claims: Iterable[Claim]) -> Mapping[Source, frozenset[str]]:
    """What each source says: the values of its claims, and the numbers with units in their gists."""
    found: dict[Source, set[str]] = {}
    for claim in claims:
        values = [f"{value} {unit_text(claim.format.unit)}" for value in (claim.stated.low, claim.stated.high)]
        texts = [*values, *(text for _, text in typed_numbers(claim.gist))]
        found.setdefault(claim.source, set()).update(map(_alike, texts))
    return {source: frozenset(texts) for source, texts in found.items()}


def refuse_typed(claim: Claim, said: frozenset[str]) -> None:
    """Raises `MeasuredError` for a number with a unit in the note that nobody says and nothing computes.

    A note may repeat what the source says, which its claims know (`said`), and what the claim's own text and
    expressions name: the batch or the card for which something is computed, in whatever unit.
    """
    checks = [claim.check.text, claim.also.check.text if claim.also else "", claim.gist]
    codes = [number.text for number in _numbers(claim)]
    stated = [value for value in (claim.stated.low, claim.stated.high) if value is not None]
    own = {float(value) for value in stated}.union(*map(_figures, (*checks, *codes)))
    for _, text in typed_numbers(claim.note):
        known = all(any(_same(figure * scale, own) for scale in _SCALES) for figure in _figures(text))
        if not known and _alike(text) not in said and not _PRODUCT.search(text):
            raise MeasuredError(
                f"'{text}' in the note is a typed number",
                "compute it with `{engine} …` or `{arithmetic} …`; what the source says is the value of a claim",
            )


_SCALES = (1, 0.01, 1e3, 1e6, 1e9, 1e12)
"""A percentage, or thousands to trillions, of what an expression has without them."""


def _same(value: float, known: Iterable[float]) -> bool:
    return any(abs(value - one) <= 1e-9 * abs(one) for one in known)


def _figures(text: str) -> set[float]:
    """The numbers in a text, each also without its power of ten: `40e9` is 40, of some unit."""
    found = [figure.replace(",", "").rstrip(".") for figure in _FIGURE.findall(text)]
    return {float(part) for figure in found for part in (figure, figure.partition("e")[0])}


def _alike(text: str) -> str:
    """A number with its unit, however its parts are set apart."""
    return re.sub(r"[\s\u00a0-]+", " ", text.replace(",", "")).strip()
