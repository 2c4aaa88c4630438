"""Source lines survive whatever Markdown does to a construct."""

from __future__ import annotations

import re
from typing import Any

import markdown
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymdownx.superfences import SuperFencesCodeExtension  # type: ignore[import-untyped]

from explorable.shared.locate import Constructs, LocateExtension, stamp, unclaimed, unstamp

KNOWN = Constructs(fences=("live",), blocks=("act", "measured"), roles=("engine", "record"))
PRIVATE = re.compile("[\ue000-\uf8ff]")


def lines_of_fences(text: str, first_line: int = 1) -> list[int | None]:
    """The lines that a live fence's renderer sees, after the real Markdown extensions have had their way."""
    seen: list[int | None] = []

    def render(src: str, **_: Any) -> str:
        seen.append(unstamp(src)[1])
        return "<div>fence</div>"

    fences = SuperFencesCodeExtension()
    extensions: list[Any] = [fences, "admonition", "pymdownx.details", "pymdownx.tabbed", "pymdownx.blocks.admonition"]
    md = markdown.Markdown(extensions=extensions)
    fences.extend_super_fences("live", render, lambda language, inputs, options, attrs, md: True, None)
    md.convert("\n".join(stamp(text.split("\n"), KNOWN, first_line)))
    return seen


FENCE = '```live name="x"\nprint(1)\n```'


def indented(text: str, prefix: str) -> str:
    return "\n".join(prefix + line for line in text.split("\n"))


def test_a_fence_knows_its_line() -> None:
    assert lines_of_fences(f"# Title\n\n{FENCE}") == [3]


def test_front_matter_counts() -> None:
    assert lines_of_fences(f"# Title\n\n{FENCE}", first_line=5) == [7]


@pytest.mark.parametrize(
    ("before", "prefix"),
    [
        ("!!! note", "    "),
        ("??? tip", "    "),
        ('=== "Tab"', "    "),
        ('!!! note\n\n    === "Tab"', "        "),
        ("- item", "    "),
        ("1. item\n\n    - nested", "        "),
    ],
)
def test_a_nested_fence_knows_its_line(before: str, prefix: str) -> None:
    text = f"{before}\n\n{indented(FENCE, prefix)}\n\n{FENCE}\n"
    first = before.count("\n") + 3
    assert lines_of_fences(text) == [first, first + 4]


def test_a_quoted_fence_knows_its_line() -> None:
    assert lines_of_fences(f"text\n\n{indented(FENCE, '> ')}") == [3]


def test_an_empty_fence_knows_its_line() -> None:
    assert lines_of_fences('\n```live name="x"\n```') == [2]


def test_a_fence_that_starts_with_an_empty_line_knows_its_line() -> None:
    assert lines_of_fences('```live name="x"\n\n\nprint(1)\n```') == [1]


def test_a_live_fence_inside_another_fence_is_left_alone() -> None:
    sample = f"````markdown\n{FENCE}\n````".split("\n")
    assert stamp(sample, KNOWN) == sample


def test_a_fence_ends_where_the_indentation_does() -> None:
    text = "    ```python\n    x\nno longer code\n\n" + FENCE
    assert lines_of_fences(text) == [5]


def test_code_comes_back_as_it_was_written() -> None:
    code = ["x = 1", "", "    y = 2"]
    stamped = stamp(['```live name="x"', *code, "```"], KNOWN)
    assert unstamp("\n".join(stamped[1:-1])) == ("\n".join(code), 1)


@pytest.mark.parametrize("written", ["/// act | tax", "    /// measured | smoke", "> /// act |tax", "//// act | tax"])
def test_a_block_knows_its_line(written: str) -> None:
    stamped = stamp(["", written], KNOWN)
    text, line = unstamp(stamped[1])
    assert (text.rstrip(), line) == (written, 2)


def test_an_inline_number_knows_its_line() -> None:
    stamped = stamp(["", "It has `{engine} model()` and `{record} x: y | ms`."], KNOWN)
    assert [unstamp(part)[1] for part in stamped[1].split("and")] == [2, 2]


def test_other_braces_are_left_alone() -> None:
    text = ["`{python} x`", "`{}`", "{engine}"]
    assert stamp(text, KNOWN) == text


def test_what_nobody_renders_is_named_with_its_line() -> None:
    html = "\n".join(stamp(["<p>", "/// act | x", "a `{engine} open", "</p>"], KNOWN))
    assert unclaimed(html) == [("block", 2), ("inline", 3)]


def test_a_code_sample_is_no_defect() -> None:
    html = "<pre>{}</pre><code>{}</code>".format(*stamp(["/// act | x", "`{engine} x`"], KNOWN))
    assert unclaimed(html) == []


def test_no_stamp_reaches_the_reader() -> None:
    extension = LocateExtension()
    extension.known = KNOWN
    md = markdown.Markdown(extensions=[extension])
    html = md.convert("    /// act | x\n\n``` `{engine} model()` ```\n\nopen `{record} here")
    assert not PRIVATE.search(html)
    assert "/// act | x" in html


@given(
    st.lists(
        st.sampled_from(["", "text", "> quote", "    code", "```", "~~~~", "```live", "/// act | a", "`{engine} x`"])
    )
)
def test_stamping_changes_nothing_that_shows(lines: list[str]) -> None:
    kept = [line.rstrip() for line in (unstamp(text)[0] for text in stamp(lines, KNOWN)) if line.strip()]
    assert kept == [line for line in lines if line]
