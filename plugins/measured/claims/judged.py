"""Claims with their verdicts: every check of every claim evaluated in one request, and judged."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pint

from plugins.measured.claims.accounting import ACCOUNTINGS
from plugins.measured.claims.data import Claim, ClaimFiles
from plugins.measured.claims.verdict import VERDICTS, Verdict, judge
from plugins.measured.errors import MeasuredError
from plugins.measured.values.computed import Computed
from plugins.measured.values.evidence import number_at
from plugins.measured.values.expressions import Outcome
from plugins.measured.values.quantities import Format, convert, format_number, quantity, unit_text
from plugins.measured.values.recorded import Records
from plugins.shared.errors import Defect, nearest

NUMBER = re.compile(r"`\{(engine|check|also)\}([^`]*)`")
"""A number in a note: `{engine} expression | unit format`, or `{check} unit format` for the claim's own check."""


@dataclass(frozen=True)
class Answer:
    """What a check gave: the value in the claim's unit, and the part of the engine or the record it comes from."""

    value: float
    exact: str
    origin: str = ""
    record: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim and its verdict.

    Attributes:
        claim: The claim.
        verdict: Computed, never read from a file.
        answer: What the check gave; None when there is none yet.
        also: What the qualification gave, or None.
        reason: Why the claim is not yet checkable; empty when it is checked.
        note: The explanation, its numbers computed: text and numbers in turn.
    """

    claim: Claim
    verdict: Verdict
    answer: Answer | None = None
    also: Answer | None = None
    reason: str = ""
    note: tuple[str | NoteNumber, ...] = ()


@dataclass(frozen=True)
class NoteNumber:
    """A number in a note: computed, or that of the claim's own check where a record answers it."""

    text: str
    expression: str
    outcome: Outcome
    record: str = ""


class Claims:
    """All claims of the site. They are evaluated when a verdict is first asked for.

    Args:
        files: The claims as they were read.
        computed: Evaluates expressions.
        records: What is measured.
        plan: Suite -> its cases, as the benchmark defines them.
    """

    def __init__(
        self, files: ClaimFiles, computed: Computed, records: Records, plan: Mapping[str, Sequence[str]]
    ) -> None:
        self.files = files
        self._computed = computed
        self._records = records
        self._plan = plan

    @cached_property
    def _results(self) -> tuple[tuple[Judged, ...], tuple[Defect, ...]]:
        claims = self.files.claims
        outcomes = self._computed.values(_expressions(claims))
        # Apart from the engine's: the same text may be a value of the one and a mistake in the other.
        arithmetic = self._computed.values(
            [claim.check.text for claim in claims if claim.check.evidence == "arithmetic"]
            + [claim.also.text for claim in claims if claim.also and not claim.also.from_engine],
            from_engine=False,
        )
        judged: list[Judged] = []
        defects: list[Defect] = []
        for claim in claims:
            try:
                judged.append(self._judge(claim, outcomes, arithmetic))
            except MeasuredError as error:
                defects.append(claim.defect(error.what, error.fix))
        return tuple(judged), tuple(defects)

    @property
    def judged(self) -> tuple[Judged, ...]:
        """Every claim that could be judged, in the order of the files."""
        return self._results[0]

    @property
    def defects(self) -> tuple[Defect, ...]:
        """What is wrong with checks and notes."""
        return self._results[1]

    @cached_property
    def by_id(self) -> Mapping[str, Judged]:
        """Claims by their id."""
        return {item.claim.id: item for item in self.judged}

    def one(self, name: str) -> Judged:
        """The claim called `name`. Raises `MeasuredError` when there is none."""
        if name not in self.by_id:
            raise MeasuredError(f"there is no claim '{name}'", nearest(name, self.by_id))
        return self.by_id[name]

    def counts(self) -> dict[Verdict, int]:
        """How many claims have each verdict, in the order in which verdicts are shown."""
        found = Counter(item.verdict for item in self.judged)
        return {verdict: found[verdict] for verdict in VERDICTS}

    def _judge(
        self,
        claim: Claim,
        outcomes: Mapping[str, Outcome | MeasuredError],
        arithmetic: Mapping[str, Outcome | MeasuredError],
    ) -> Judged:
        check, also_asked = claim.check, claim.also
        own = {check.text} if check.evidence == "arithmetic" else set()
        own |= {also_asked.text} if also_asked and not also_asked.from_engine else set()
        outcomes = {**outcomes, **{text: arithmetic[text] for text in own}}
        if check.evidence == "none":
            return Judged(claim, "open", reason=check.text, note=_note(claim, outcomes))
        if check.evidence == "record":
            answer = self._measured(claim)
            if isinstance(answer, str):
                told = () if "{check}" in claim.note else _note(claim, outcomes)
                return Judged(claim, "open", reason=answer, note=told)
            outcomes = {**outcomes, check.text: Outcome(answer.value, claim.format.unit, "")}
        elif check.evidence == "cited":
            answer = Answer(float(check.text), f"{check.work[0]}, {check.work[2]}")
        else:
            answer = _answer(check.text, _outcome(check.text, outcomes), claim.format)
            if check.accounting and answer.origin not in ACCOUNTINGS[check.accounting].origins:
                allowed = ", ".join(ACCOUNTINGS[check.accounting].origins)
                raise MeasuredError(
                    f"the value comes from {answer.origin}, which '{check.accounting}' does not count",
                    f"use one of {allowed}",
                )
        also = _answer(claim.also.text, _outcome(claim.also.text, outcomes), claim.format) if claim.also else None
        assert claim.tolerance is not None
        verdict = judge(claim.stated, claim.tolerance, answer.value, also.value if also else None)
        if verdict == "confirmed" and check.evidence == "arithmetic":
            verdict = "agrees"  # a source that agrees with itself is not yet right
        note = _note(claim, outcomes, answer.record)
        if verdict == "contradicted" and not any(isinstance(part, NoteNumber) for part in note):
            raise MeasuredError(
                "the source is contradicted without an explanation",
                "add a 'note' of two sentences that gives the right value as an inline number",
            )
        return Judged(claim, verdict, answer, also, note=note)

    def _measured(self, claim: Claim) -> Answer | str:
        """The value in the records, or why there is none yet."""
        check = claim.check
        value: pint.Quantity[Any] | None = None
        for name in filter(None, (check.text, check.over)):
            suite, _, case = name.partition("/")
            if case.partition("--")[0] in self._plan.get(suite, ()) and not self._has(suite, case):
                command = f"python -m gpu_bench run --suite {suite} --case {case.partition('--')[0]}"
                return f"Not measured yet. This command measures it: {command}"
            found = number_at(self._records.one(name), check.path).quantity()
            value = found if value is None else value / found
        assert value is not None
        exact = f"{check.path} of {check.text}" + (f" over {check.over}" if check.over else "")
        return Answer(convert(value, claim.format.unit), exact, record=self._records.one(check.text).file.as_posix())

    def _has(self, suite: str, case: str) -> bool:
        return any(case in (record.case, record.file.stem) for record in self._records.select(suite))


def shown(value: float, form: Format) -> str:
    """A computed value with its unit, in the format of the claim; very large and small ones with an exponent."""
    plain = ",d" if form.unit == "count" else ""
    spec = form.spec or plain or (".4g" if value and not 1e-3 <= abs(value) < 1e7 else "")
    unit = unit_text(form.unit)
    text = format_number(value, spec)
    if not re.search("[1-9]", text):
        text = text.lstrip("\N{MINUS SIGN}-")  # what rounds to zero has no sign
    return text + (unit if unit in ("", "×") else f"\u00a0{unit}")


def _expressions(claims: Sequence[Claim]) -> Iterator[str]:
    for claim in claims:
        if claim.check.evidence in ("engine", "pytorch"):
            yield claim.check.text
        if claim.also and claim.also.from_engine:
            yield claim.also.text
        for kind, text in NUMBER.findall(claim.note):
            if kind == "engine":
                yield text.rpartition("|")[0].strip()


def _outcome(text: str, outcomes: Mapping[str, Outcome | MeasuredError]) -> Outcome:
    found = outcomes[text]
    if isinstance(found, MeasuredError):
        raise found
    return found


def _answer(text: str, outcome: Outcome, form: Format) -> Answer:
    unit = "" if outcome.unit == "1" else f" {outcome.unit}"
    exact = f"{outcome.magnitude:,}" if isinstance(outcome.magnitude, int) else f"{outcome.magnitude:,.10g}"
    value = convert(quantity(outcome.magnitude, outcome.unit), form.unit)
    return Answer(value, f"{text} = {exact}{unit}", outcome.origin)


def _note(
    claim: Claim, outcomes: Mapping[str, Outcome | MeasuredError], record: str = ""
) -> tuple[str | NoteNumber, ...]:
    """The note with its numbers; `record` is what answers the check. Raises `MeasuredError` for code that is none."""
    parts: list[str | NoteNumber] = []
    position = 0
    for match in NUMBER.finditer(claim.note):
        parts += [claim.note[position : match.start()], _note_number(claim, match[1], match[2], outcomes, record)]
        position = match.end()
    parts.append(claim.note[position:])
    for part in parts:
        if isinstance(part, str) and "`" in part:
            raise MeasuredError(
                f"'{part.strip()}' has code that is not a number",
                "allowed in a note: `{engine} expression | unit format`, `{check} unit format`, `{also} unit format`",
            )
    return tuple(part for part in parts if part)


def _note_number(
    claim: Claim, kind: str, text: str, outcomes: Mapping[str, Outcome | MeasuredError], record: str
) -> NoteNumber:
    if kind == "engine":
        expression, _, form = text.rpartition("|")
    else:
        expression, form = (claim.also.text if claim.also else "") if kind == "also" else claim.check.text, text
    expression = expression.strip()
    if kind == "check" and claim.check.evidence == "cited":
        raise MeasuredError(f"'{{check}}{text}' in the note is nothing computed", "the value is cited; leave it out")
    if expression not in outcomes:
        raise MeasuredError(f"'{{{kind}}}{text}' in the note is nothing computed", f"the claim has no '{kind}'")
    outcome = _outcome(expression, outcomes)
    unit, _, spec = form.strip().partition(" ")
    parsed = Format(unit, spec.strip())
    value = convert(quantity(outcome.magnitude, outcome.unit), parsed.unit)
    return NoteNumber(shown(value, parsed), expression, outcome, record if kind == "check" else "")
