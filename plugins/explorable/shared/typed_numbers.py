"""Finds numbers with a unit or a scale that an author typed: each should be computed, cited, or a definition."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from explorable.book import Units, current
from explorable.shared.scan import Span, scan

_UNITS = (
    r"(?:[kMGTPEZ]i?)?(?:B|bytes?)(?:/s)?|[num]s|µs|%|per\s?cent|×|x\b|times|fold|[kMGT]?Wh?|[kMG]Hz|USD|dollars?|cents?"
    r"|seconds?|minutes?|hours?|days?|weeks?|months?|years?|thousand|million|billion|trillion|tonnes?"
)
_NUMBER = r"(?<![\w.,^/-])[$€]?\d[\d,.]*(?:[-–]\d[\d,.]*)?(?:\s?×\s?10\S+|e[+-]?\d+)?"
_HIDDEN = re.compile(
    r"<dfn>.*?</dfn>|\$\$.*?\$\$|(?<!\\)\$(?!\s)(?:\\.|[^\\$])+?(?<!\s)\$"
    r"|\]\([^)\s]*\)|<[^>\n]+>|\{[.#][^}\n]*\}",
    re.DOTALL,
)
"""Matches everything that is not prose: definitions, formulas, addresses, tags."""
_WHOLE = re.compile(r"(?:100|0)\s?%")
_EVIDENCE = re.compile(r"\{(?:cite|claim|checked)\}")
_CITED, _OTHER = "\ufffc", "\ufffd"
_SENTENCE = re.compile(
    rf"(?:[^.!?\n]|[.!?](?!{_CITED}?(?:\s|$))|\n(?!\s*\n|[-*#|/+]|\d+\.))+[.!?]?{_CITED}?", re.MULTILINE
)
"""A sentence. The mark of a checked claim stands after its full stop and belongs to it."""


def typed_numbers(markdown: str) -> Iterator[tuple[int, str]]:
    """Line and text of each number with a unit or scale in a sentence that cites neither a work nor a claim.

    Numbers within inline expressions, formulas, code, addresses and `<dfn>` are no findings, nor are
    0 % and 100 %, or what the book says are names. A definition is marked as one: `<dfn>1 GB is 10⁹ bytes</dfn>`.
    """
    typed, name = _patterns(current().units)
    text = _HIDDEN.sub(_mark, scan(markdown).without_code(_marked))
    for sentence in _SENTENCE.finditer(text):
        if _CITED in sentence[0]:
            continue
        for found in typed.finditer(sentence[0]):
            if _WHOLE.fullmatch(found[0]) or name.search(sentence[0][: found.end()]):
                continue
            yield text.count("\n", 0, sentence.start() + found.start()) + 1, " ".join(found[0].split())


@cache
def _patterns(units: Units) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What finds a typed number, and a name at the end of a text."""
    words = "|".join(filter(None, (_UNITS, units.typed)))
    typed = rf"{_NUMBER}[\s\u00a0-]?(?:{words})(?![\w/])|[$€]\d[\d,.]*|{_NUMBER}[MBTk](?!\w)"
    return re.compile(typed), re.compile(rf"(?:{units.names or '(?!)'})$")


def _mark(hidden: re.Match[str]) -> str:
    """A placeholder for hidden text that keeps its line ends, so that line numbers stay right."""
    return (_CITED if _CITED in hidden[0] else _OTHER) + "\n" * hidden[0].count("\n")


def _marked(span: Span) -> str:
    return _CITED if _EVIDENCE.match(span.code.strip()) else _OTHER
