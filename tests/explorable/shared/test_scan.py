"""One reading of a page's Markdown finds its constructs wherever they stand, and none in code or comments."""

from __future__ import annotations

import pytest

from explorable.figures.labels import Labels
from explorable.shared.scan import Include, scan


@pytest.mark.parametrize("prefix", ["", "    ", "> "], ids=["plain", "in a tab", "quoted"])
def test_a_block_is_found_wherever_it_stands(prefix: str) -> None:
    page = scan(f"{prefix}//// table | sizes\n{prefix}/// act | one\n{prefix}title: A\n{prefix}///\n{prefix}////")
    outer, inner = page.blocks
    assert (outer.name, outer.argument, outer.line, outer.last) == ("table", "sizes", 1, 5)
    assert (inner.name, inner.argument, inner.line, inner.last) == ("act", "one", 2, 4)
    assert inner.content.strip("> ") == "title: A"
    assert page.named("act", "table") == ["sizes", "one"]


@pytest.mark.parametrize(
    "hidden",
    [
        "```md\n{}\n```",
        "````md\n```live\n```\n{}\n````",
        "<!--\n{}\n-->",
        "a <!-- b --> c <!-- d\n{}\n-->",
        "<!--\n```\n{}\n-->",
        "```html\n<!--\n```\n\n~~~\n{}\n-->\n~~~",
    ],
)
def test_code_and_comments_hide_what_looks_like_a_construct(hidden: str) -> None:
    text = hidden.format("/// act | hidden\n`{claim} hidden`\n///")
    page = scan(f"{text}\n/// act | seen\n///\n`{{claim}} seen`")
    assert page.named("act") == [role.text for role in page.roles] == ["seen"]
    assert page.blocks[-1].line == text.count("\n") + 2


@pytest.mark.parametrize("begins", ["`<!--` begins one.", "<!-- is never closed", "``` `{engine} x` ```"])
def test_what_only_looks_like_code_or_a_comment_hides_nothing(begins: str) -> None:
    assert scan(f"{begins}\n/// act | one\n///\n").named("act") == ["one"]


def test_a_fence_has_its_language_options_and_end() -> None:
    page = scan("```live name=\"a b\" files='c.csv'\n1\n```\n``` { .python }\n~~~\n```\n    ~~~js\nout\n```")
    assert [(fence.language, fence.line, fence.last, fence.closed) for fence in page.fences] == [
        ("live", 1, 3, True),
        ("python", 4, 6, True),
        ("js", 7, 7, False),
        ("", 9, 9, False),
    ]
    assert page.fences[0].options == {"name": "a b", "files": "c.csv"}


def test_slashes_that_begin_a_sentence_open_nothing_where_a_block_is_open() -> None:
    page = scan("/// act | one\n/// are slashes.\n///\n///")
    assert [(block.last, block.barred) for block in page.blocks] == [(3, True), (None, False)]
    assert page.strays == [(4, "///")]


def test_a_role_may_reach_over_the_end_of_a_line() -> None:
    assert [(role.line, role.text) for role in scan("a\n`{claim}\none, two`").roles] == [(2, "one, two")]


def test_lines_that_include_a_file_are_found_in_code_too() -> None:
    text = "```\n--8<-- \"a.py:part\"\n```\n  --8<-- 'b.md'"
    assert scan(text).included == [Include(2, "a.py", "part"), Include(4, "b.md", "")]


def test_a_numbered_block_keeps_its_number_within_another() -> None:
    text = "# One\n\n!!! note\n\n    /// table | inner\n    Words.\n    ///\n\n/// table | outer\nWords.\n///\n"
    targets = Labels.of([("one.md", text)]).targets
    assert [(name, at.number, at.line) for name, at in targets.items()] == [
        ("tab-inner", "1.1", 5),
        ("tab-outer", "1.2", 9),
    ]
