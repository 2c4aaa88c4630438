"""Formulas become MathML at build, and a broken one is reported with file and line."""

from __future__ import annotations

import logging
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown import Markdown
from markdown.extensions import Extension

from book.theme.mathml import FormulaError, to_mathml
from explorable.shared.locate import LocateExtension
from explorable.site import Page

ROOT = Path(__file__).parents[2]
ARITHMATEX = {"pymdownx.arithmatex": {"generic": True}}


def render(text: str, page: str = "docs/page.md") -> str:
    located = LocateExtension(ROOT)
    located.enter(Page(page, ROOT / page, "", text), text)
    extensions: list[str | Extension] = ["pymdownx.arithmatex", "book.theme.mathml", located]
    return Markdown(extensions=extensions, extension_configs=ARITHMATEX).convert(text)


def test_an_inline_formula_is_mathml_in_the_sentence() -> None:
    html = render("Let $P < Q$ be so.")
    math = ElementTree.fromstring(html).find(".//math")
    assert math is not None
    assert math.get("display") == "inline"
    assert [element.text for element in math.iter() if element.tag in ("mi", "mo")] == ["P", "<", "Q"]
    assert "\\(" not in html


def test_a_block_formula_is_display_math() -> None:
    root = ElementTree.fromstring(render("$$\n\\frac{a}{b} > 1\n$$"))
    math = root.find("math")
    assert math is not None
    assert math.get("display") == "block"
    fraction = math.find(".//mfrac")
    assert fraction is not None
    assert len(fraction) == 2


def test_the_formula_stays_readable_as_text() -> None:
    assert to_mathml(r"\sum_l n_l", display=True).get("alttext") == r"\sum_l n_l"


@pytest.mark.parametrize(
    ("latex", "why"),
    [
        (r"\frac{a}{ x", "not closed"),
        (r"a}", "closes nothing"),
        (r"\nosuchthing{a}", "unknown command"),
        (r"\frac{a}", "incomplete"),
        (r"\left( a", "missing right"),
        (r"a_", "missing"),
        (r"a & b", "&"),
    ],
)
def test_broken_latex_is_an_error_that_says_why(latex: str, why: str) -> None:
    with pytest.raises(FormulaError, match=why):
        to_mathml(latex, display=False)


def test_escaped_braces_need_no_partner() -> None:
    assert to_mathml(r"\{ a", display=False) is not None


def test_a_broken_formula_is_a_warning_with_file_and_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        render("# Title\n\nFine: $a$.\n\n$$\n\\frac{a}{ x\n$$\n", page="docs/lab/act1.md")
    assert [record.getMessage() for record in caplog.records] == [
        r"theme: docs/lab/act1.md:6: formula: a '{' is not closed in \frac{a}{ x"
    ]
