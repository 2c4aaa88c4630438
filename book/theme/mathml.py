"""Formulas as MathML, made while the site is built: no JavaScript, nothing to load, readable by screen readers.

`pymdownx.arithmatex` in generic mode finds the formulas and wraps each in an element of class `arithmatex`; this
Markdown extension replaces its content with MathML by latex2mathml. That library lets some mistakes through as
visible backslashes or incomplete fractions, so its result is checked too. A broken formula is a warning with file
and line, which fails a strict build.
"""

from __future__ import annotations

import html
import re
from typing import Any
from xml.etree import ElementTree

from latex2mathml.converter import convert
from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

from explorable.shared.locate import located
from explorable.shared.log import logger

log = logger("theme")

_ARITY = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}
"""How many children each MathML layout element must have."""


class FormulaError(ValueError):
    """A formula that cannot be set. The message says why."""


def to_mathml(latex: str, *, display: bool) -> ElementTree.Element:
    """The `<math>` element of a formula. Raises `FormulaError` for LaTeX that latex2mathml cannot set."""
    _check_braces(latex)
    try:
        text = convert(latex, display="block" if display else "inline")
    except Exception as error:  # latex2mathml's exceptions share no base class of their own
        raise FormulaError(_words(type(error).__name__) + (f": {error}" if str(error) else "")) from error
    try:
        math = ElementTree.fromstring(text.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "", 1))
    except ElementTree.ParseError as error:
        raise FormulaError("'&' outside a matrix or an unescaped '<'") from error
    _check(math)
    math.set("alttext", latex.strip())
    return math


def _check_braces(latex: str) -> None:
    depth = 0
    for brace in re.findall(r"(?<!\\)(?:\\\\)*([{}])", latex):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            break
    if depth:
        raise FormulaError("a '{' is not closed" if depth > 0 else "a '}' closes nothing")


def _check(math: ElementTree.Element) -> None:
    for element in math.iter():
        text = element.text or ""
        if text.startswith("\\") and len(text) > 1:
            raise FormulaError(f"unknown command {text}")
        wanted = _ARITY.get(element.tag)
        if wanted is not None and len(element) != wanted:
            raise FormulaError(f"incomplete formula: {element.tag} has {len(element)} of {wanted} parts")


def _words(name: str) -> str:
    """`NoAvailableTokensError` as `no available tokens`."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name.removesuffix("Error"))
    return spaced.strip()


class _MathmlTreeprocessor(Treeprocessor):
    def run(self, root: ElementTree.Element) -> None:
        for element in root.iter():
            if "arithmatex" in element.get("class", "").split() and element.text:
                self._convert(element)

    def _convert(self, element: ElementTree.Element) -> None:
        display = element.tag == "div"
        # Arithmatex escapes a block formula as HTML and leaves an inline one alone.
        latex = (html.unescape(element.text) if display else element.text)[2:-2] if element.text else ""
        try:
            math = to_mathml(latex, display=display)
        except FormulaError as error:
            place = self._place(latex.strip())
            log.warning("%s: formula: %s in %s", place, error, " ".join(latex.split()))
            return
        element.text = None
        element.append(math)

    def _place(self, formula: str) -> str:
        """`file:line` of the first occurrence of the formula, or the file alone."""
        at = located(self.md)
        offset = at.page.written.find(formula)
        return at.file if offset < 0 else f"{at.file}:{at.page.written.count(chr(10), 0, offset) + 1}"


class MathmlExtension(Extension):
    """Replaces what `pymdownx.arithmatex` found with MathML."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (Python-Markdown's name)
        """Run after inline patterns (20) have found the formulas."""
        md.treeprocessors.register(_MathmlTreeprocessor(md), "il-mathml", 15)


def makeExtension(**options: Any) -> MathmlExtension:  # noqa: N802 (Python-Markdown's name)
    """Entry point for `markdown_extensions`."""
    return MathmlExtension(**options)
