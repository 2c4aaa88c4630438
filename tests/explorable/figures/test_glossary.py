"""Terms of the glossary in the text of a page."""

from __future__ import annotations

from markdown import Markdown
from markdown.extensions import Extension

from book.theme.mathml import MathmlExtension
from explorable.figures.glossary import FirstOnly, definitions


def test_a_definition_in_code_is_an_example() -> None:
    example = "```md\nNo term\n:   An example.\n```\n"
    assert definitions(f"# Glossary\n\n{example}\nA term\n:   What `it` is,\n    in words.\n") == {
        "A term": "What it is, in words."
    }


def test_a_term_is_explained_in_the_text_and_not_in_a_formula() -> None:
    extensions: list[str | Extension] = ["abbr", "pymdownx.arithmatex", MathmlExtension(), FirstOnly()]
    page = Markdown(extensions=extensions, extension_configs={"pymdownx.arithmatex": {"generic": True}})
    html = page.convert("$\\operatorname{ReLU}(x)$ is called ReLU, and ReLU again.\n\n*[ReLU]: A function.\n")
    formula, text = html.split("</math>")
    assert "<abbr" not in formula
    assert text.count("<abbr") == 1
