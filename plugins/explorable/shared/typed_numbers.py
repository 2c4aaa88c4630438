"""Finds numbers with a unit or a scale that an author typed: each should be computed, cited, or a definition."""

from __future__ import annotations

import re
from collections.abc import Iterator

from explorable.shared.scan import Span, scan

_UNITS = (
    r"(?:[kMGTPEZ]i?)?(?:B|bytes?)(?:/s|/FLOP)?|[kMGTPEZ]?FLOPs?(?:/s|/B|/byte|/token)?|[num]s|µs"
    r"|%|per\s?cent|×|x\b|times|fold|[kMGT]?Wh?|[kMG]Hz|USD|dollars?|cents?|tokens?(?:/s)?|parameters|operations"
    r"|seconds?|minutes?|hours?|days?|weeks?|months?|years?|thousand|million|billion|trillion|tonnes?|GPUs?"
)
_NUMBER = r"(?<![\w.,^/-])[$€]?\d[\d,.]*(?:[-–]\d[\d,.]*)?(?:\s?×\s?10\S+|e[+-]?\d+)?"
_TYPED = re.compile(rf"{_NUMBER}[\s\u00a0-]?(?:{_UNITS})(?![\w/])|[$€]\d[\d,.]*|{_NUMBER}[MBTk](?!\w)")
_HIDDEN = re.compile(
    r"<dfn>.*?</dfn>|\$\$.*?\$\$|(?<!\\)\$(?!\s)(?:\\.|[^\\$])+?(?<!\s)\$"
    r"|\]\([^)\s]*\)|<[^>\n]+>|\{[.#][^}\n]*\}",
    re.DOTALL,
)
"""Matches everything that is not prose: definitions, formulas, addresses, tags."""
_WHOLE = re.compile(r"(?:100|0)\s?%")
_SIZE, _NAME = re.compile(r"\d[\d.]*[BM]"), re.compile(r"\b[A-Z][\w.-]*(?:\s\d[\d.]*)?\s$")
"""The size in the name of a model, `Llama 2 70B`, and what stands before it."""
_EVIDENCE = re.compile(r"\{(?:cite|claim|checked)\}")
_CITED, _OTHER = "\ufffc", "\ufffd"
_SENTENCE = re.compile(
    rf"(?:[^.!?\n]|[.!?](?!{_CITED}?(?:\s|$))|\n(?!\s*\n|[-*#|/+]|\d+\.))+[.!?]?{_CITED}?", re.MULTILINE
)
"""A sentence. The mark of a checked claim stands after its full stop and belongs to it."""


def typed_numbers(markdown: str) -> Iterator[tuple[int, str]]:
    """Line and text of each number with a unit or scale in a sentence that cites neither a work nor a claim.

    Numbers within inline expressions, formulas, code, addresses and `<dfn>` are no findings, nor are
    0 % and 100 %, or the size in the name of a model. A definition is marked
    as one: `<dfn>1 GB is 10⁹ bytes</dfn>`.
    """
    text = _HIDDEN.sub(_mark, scan(markdown).without_code(_marked))
    for sentence in _SENTENCE.finditer(text):
        if _CITED in sentence[0]:
            continue
        for found in _TYPED.finditer(sentence[0]):
            if _WHOLE.fullmatch(found[0]) or (_SIZE.fullmatch(found[0]) and _NAME.search(sentence[0][: found.start()])):
                continue
            yield text.count("\n", 0, sentence.start() + found.start()) + 1, " ".join(found[0].split())


def _mark(hidden: re.Match[str]) -> str:
    """A placeholder for hidden text that keeps its line ends, so that line numbers stay right."""
    return (_CITED if _CITED in hidden[0] else _OTHER) + "\n" * hidden[0].count("\n")


def _marked(span: Span) -> str:
    return _CITED if _EVIDENCE.match(span.code.strip()) else _OTHER
