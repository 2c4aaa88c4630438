"""Claims with their verdicts: every check of every claim evaluated in one request, and judged."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from explorable.book import current
from explorable.measured.claims import notes
from explorable.measured.claims.data import Check, Claim, ClaimFiles
from explorable.measured.claims.notes import NoteNumber
from explorable.measured.claims.verdict import VERDICTS, Verdict, judge
from explorable.measured.errors import HeldBackError, MeasuredError
from explorable.measured.values.computed import Computed, Outcomes, outcome
from explorable.measured.values.expressions import Outcome
from explorable.measured.values.quantities import Format, convert, quantity
from explorable.measured.values.recorded import Record, Records, command, plan
from explorable.shared.errors import Defect, nearest

ENGINE = ("engine", "pytorch")
"""Kinds of evidence that are expressions of the engine."""


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


class Claims:
    """All claims of the site. They are evaluated when a verdict is first asked for.

    Args:
        files: The claims as they were read.
        computed: Evaluates expressions.
        records: What is measured.
    """

    def __init__(self, files: ClaimFiles, computed: Computed, records: Records) -> None:
        self.files = files
        self._computed = computed
        self._records = records

    @cached_property
    def _results(self) -> tuple[tuple[Judged, ...], tuple[Defect, ...], frozenset[str]]:
        """What was judged, the defects of the rest, and the rest's ids."""
        claims = self.files.claims
        outcomes = self._computed.values(_expressions(claims, from_engine=True))
        # Apart from the engine's: the same text may be a value of the one and a mistake in the other.
        arithmetic = self._computed.values(_expressions(claims, from_engine=False), from_engine=False)
        said = notes.quoted(claims)
        judged: list[Judged] = []
        defects: list[Defect] = []
        for claim in claims:
            try:
                notes.refuse_typed(claim, said[claim.source])
                judged.append(self._judge(claim, outcomes, arithmetic))
            except MeasuredError as error:
                defects.append(claim.defect(error.what, error.fix))
        return tuple(judged), tuple(defects), frozenset(claim.id for claim in claims) - {one.claim.id for one in judged}

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
        if name in self.files.broken or name in self._results[2]:
            raise HeldBackError(f"claim '{name}' could not be read", "mend it in its file")
        if name not in self.by_id:
            raise MeasuredError(f"there is no claim '{name}'", nearest(name, self.by_id))
        return self.by_id[name]

    def counts(self) -> dict[Verdict, int]:
        """How many claims have each verdict, in the order in which verdicts are shown."""
        found = Counter(item.verdict for item in self.judged)
        return {verdict: found[verdict] for verdict in VERDICTS}

    def _judge(self, claim: Claim, outcomes: Outcomes, arithmetic: Outcomes) -> Judged:
        check = claim.check
        outcomes = {**outcomes, **{text: arithmetic[text] for text in _expressions([claim], from_engine=False)}}
        if check.evidence == "none":
            return Judged(claim, "open", reason=check.text, note=notes.computed(claim, outcomes))
        answer = self._given(check, claim.format, outcomes)
        if isinstance(answer, str):
            told = () if "{check}" in claim.note else notes.computed(claim, outcomes)
            return Judged(claim, "open", reason=answer, note=told)
        if check.accounting and answer.origin not in current().accountings[check.accounting].origins:
            allowed = ", ".join(current().accountings[check.accounting].origins)
            raise MeasuredError(
                f"the value comes from {answer.origin}, which '{check.accounting}' does not count",
                f"use one of {allowed}",
            )
        also = self._given(claim.also.check, claim.format, outcomes) if claim.also else None
        if isinstance(also, str):
            return Judged(claim, "open", reason=also)
        for one, asked in ((answer, check), *([(also, claim.also.check)] if also and claim.also else [])):
            if asked.evidence in ("record", "survey"):
                outcomes = {**outcomes, asked.asked: Outcome(one.value, claim.format.unit, "")}
        assert claim.tolerance is not None
        verdict = judge(claim.stated, claim.tolerance, answer.value, also.value if also else None)
        if verdict == "confirmed":
            notes.refuse_counter_cases(claim, outcomes)
            if check.evidence == "arithmetic" or (check.evidence in ENGINE and only_given(check.text)):
                verdict = "agrees"  # a source that agrees with itself is not yet right
        note = notes.computed(claim, outcomes, answer.record)
        if verdict == "contradicted" and not any(isinstance(part, NoteNumber) for part in note):
            raise MeasuredError(
                "the source is contradicted without an explanation",
                "add a 'note' of two sentences that gives the right value as an inline number",
            )
        return Judged(claim, verdict, answer, also, note=note)

    def _given(self, check: Check, form: Format, outcomes: Outcomes) -> Answer | str:
        """What a check gives, or why it gives nothing yet."""
        if check.evidence == "record":
            return self._measured(check, form)
        if check.evidence == "survey":
            return self._published(check, form)
        if check.evidence == "cited":
            return Answer(float(check.text), f"{check.work[0]}, {check.work[2]}")
        found = outcome(check.text, outcomes)
        return Answer(convert(found.quantity, form.unit), f"{check.text} = {found.exact}", found.origin)

    def _published(self, check: Check, form: Format) -> Answer:
        """A quantile of what published runs reach."""
        survey = current().survey
        if survey is None:
            raise MeasuredError("this book has no survey of published results", "check the claim in another way")
        value = convert(quantity(survey.at(float(check.text)), "1"), form.unit)
        return Answer(value, f"{check.asked}: {survey.population()}")

    def _measured(self, check: Check, form: Format) -> Answer | str:
        """The value in the records, or why there is none yet."""
        found: list[Record] = []
        for name in filter(None, (check.text, check.over)):
            suite, _, stem = name.partition("/")
            case, here = stem.partition("--")[0], self._records.select(suite)
            if case in plan().get(suite, ()) and not any(stem in (one.case, one.file.stem) for one in here):
                return f"Not measured yet. This command measures it: {command(suite, case)}"
            found.append(self._records.one(name))
        value, *over = (record.number(check.path).quantity() for record in found)
        exact = f"{check.path} of {check.text}" + (f" over {check.over}" if over else "")
        return Answer(convert(value / over[0] if over else value, form.unit), exact, record=found[0].file.as_posix())


def _expressions(claims: Sequence[Claim], *, from_engine: bool) -> Iterator[str]:
    """What checks and notes ask: of the engine, or of a source's own figures."""
    for claim in claims:
        for check in [claim.check, *([claim.also.check] if claim.also else [])]:
            if check.evidence in (ENGINE if from_engine else ("arithmetic",)):
                yield check.text
        yield from notes.expressions(claim, from_engine=from_engine)


def only_given(expression: str) -> bool:
    """Whether an expression gives the engine nothing but numbers that somebody wrote down, so those of the source.

    What the library knows by itself has a name: a string, as in `device("one")`, or a name that takes no number, as
    `usual()` and `LIMIT`. Strings of `quantity` are units, those in brackets choose a part of the answer.
    """
    nodes = list(ast.walk(ast.parse(expression, mode="eval")))
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    words = {id(part) for call in calls if _called(call) == "quantity" for part in call.args}
    words |= {id(node.slice) for node in nodes if isinstance(node, ast.Subscript)}
    asked = any(
        isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in words for node in nodes
    )
    with_numbers = {id(call.func) for call in calls if call.args or call.keywords}
    known = any(isinstance(node, ast.Name) and id(node) not in with_numbers for node in nodes)
    return bool(calls) and not asked and not known


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""
