"""One reading of a page's Markdown finds its constructs wherever they stand, and none in code or comments."""

from __future__ import annotations

import markdown
import pytest

from explorable.figures.contents import chapters
from explorable.figures.labels import Labels
from explorable.measured.claims.listing import Mention
from explorable.measured.claims.mentions import mentions
from explorable.shared.scan import Heading, Include, Link, scan, sections, selected


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


def test_a_page_has_its_front_matter_and_its_headings() -> None:
    text = "---\ntitle: 'Short'\n# no heading\n---\n\n# `{a} b` *Long* { #top .x } #\n\n    # code\n\n## Two ##\n#no\n"
    page = scan(text)
    assert (page.title, page.front, page.body) == ("Short", "title: 'Short'\n# no heading", 4)
    assert page.headings == [Heading(6, 1, "`{a} b` *Long*", "top"), Heading(10, 2, "Two")]
    assert scan(text, whole=False).heading == "no heading"
    for none in ("---\ntitle: A\n", "text\n---\ntitle: A\n---\n", "---\n[\n---\n", "---\n- a\n---\n", "---\n---\n"):
        assert scan(none).title == ""


def test_code_within_a_paragraph_hides_links_and_roles() -> None:
    page = scan("a `[b](c)` ``d `{e} f` g`` \\`x` [h\ni](<j.md> 'k')\n\n`l\n\nm` ![n](o.png)\n\n[p]\n(q) `r\ns` t")
    assert [span.code for span in page.spans] == ["[b](c)", "d `{e} f` g", "r\ns"]
    assert page.links == [Link(2, "j.md"), Link(6, "o.png")]
    assert page.roles == []
    assert page.without_code(lambda span: span.ticks).endswith("(q) `\n t")


IN_CODE = """```sh
# a comment in code
See [a claim](claims/index.md#ch-in-a-fence).
```

# The title

See [a claim](claims/index.md#ch-seen), and write `` `{claim} ch-in-code` `` or `[so](claims/index.md#ch-in-code)`.
"""


def test_a_comment_in_code_is_no_title_of_a_page() -> None:
    assert [chapter.title for chapter in chapters([("a.md", IN_CODE)])] == ["The title"]


def test_a_link_in_code_mentions_no_claim() -> None:
    assert mentions([("a.md", IN_CODE)], "claims/index.md") == {"ch-seen": [Mention("a.md", "The title")]}


INCLUDING = [
    '--8<-- "a.md"', "  -8<- 'a.md'", '--8<-- "a.md" ', ';--8<-- "a.md"', '--8<-- ";a.md"', '--8<-- "a.md:1:3"',
    '--8<-- "a.md:2"', '--8<-- "a.md:-2:,1:1"', '--8<-- "a.md:part"', '--8<-- "a:b.md:part"', '--8<-- "a.md\r',
    '--8<-- "a \\" b.md"', "x --8<-- 'a.md'", "--8<--\na.md\n--8<--",
    "--8<--\r\n a.md:2:2\r\n\n;b.md\nc.md\n--8<--\nd.md",
    '--8<--\n--8<-- "a.md"\nb.md\n--8<--\n--8<-- "c.md"', "--8<-- \na.md", "--8<--\na.md", "> --8<--\n> a.md",
    '--8<-- "https://x.example/a.md"', '--8<-- "a.md:Part-1_x"', '--8<-- "a.md:1x"', '--8<-- ":1"', '--8<-- "  a.md  "',
]  # fmt: skip


@pytest.mark.parametrize("text", INCLUDING)
def test_the_lines_that_include_are_those_of_the_extension(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[tuple[str, str]] = []
    snippets = pytest.importorskip("pymdownx.snippets")
    extension = markdown.Markdown(extensions=["pymdownx.snippets"]).preprocessors["snippet"]
    if not hasattr(snippets.SnippetPreprocessor, "parse_snippet_target"):
        pytest.skip("before 13 the extension has no step that could be watched; Python before 3.11.5 has that")
    parse = snippets.SnippetPreprocessor.parse_snippet_target

    def parsed(self: object, path: str) -> object:
        target = parse(self, path)
        found.append((target["path"], target["section"] or "") if target else ("", ""))
        return target

    monkeypatch.setattr(snippets.SnippetPreprocessor, "parse_snippet_target", parsed)
    extension.run(text.split("\n"))
    assert [(one.file, one.section) for one in scan(text).included] == found


FILE = ["one", "--8<-- [start:part]", "two", ";--8<-- [end:part]", "--8<-- [end:part]", "six", "--8<-- [end:late]"]


@pytest.mark.parametrize(
    ("of", "numbers"),
    [
        ("", [1, 2, 3, 4, 5, 6, 7]), (":part", [3, 4]), (":late", None), (":none", None), (":2:3", [2, 3]),
        (":6", [6, 7]),
        ("::2", [1, 2]), (":-2", [6, 7]), (":-3:-2", [5, 6]), (":1:1,3:3", [1, 3]), (":9:12", []), (":-", None),
    ],
)  # fmt: skip
def test_the_lines_of_a_file_that_are_included_have_their_numbers(of: str, numbers: list[int] | None) -> None:
    [included] = scan(f'--8<-- "a.md{of}"').included
    chosen = selected(FILE, included)
    assert (None if chosen is None else [number for number, _ in chosen]) == numbers
    assert sections(FILE) == ["part"]


def test_a_numbered_block_keeps_its_number_within_another() -> None:
    text = "# One\n\n!!! note\n\n    /// table | inner\n    Words.\n    ///\n\n/// table | outer\nWords.\n///\n"
    targets = Labels.of([("one.md", text)]).targets
    assert [(name, at.number, at.line) for name, at in targets.items()] == [
        ("tab-inner", "1.1", 5),
        ("tab-outer", "1.2", 9),
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "text",
    [
        "](" * 20_000,
        "](a " * 10_000,
        "](<" * 12_000,
        "](a \n" * 8_000,
        f"# a{' ' * 40_000}{{bbb",
        f"# a{' ' * 900}{{bbb",
        f"``` {'a-' * 40_000}\n```",
        "/// x | y\n" * 20_000 + "///\n" * 20_000,
        "/// x | y\n" * 20_000 + "////\n" * 20_000,
    ],
    ids=lambda text: text[:12],
)
def test_a_hostile_page_is_read_in_time_that_grows_with_its_length(text: str) -> None:
    """Where it does not, this takes minutes."""
    page = scan(text)
    assert not page.links
    assert not any(fence.options for fence in page.fences)


def test_front_matter_that_is_nested_without_end_gives_no_title() -> None:
    assert scan(f"---\ntitle: {'[' * 40_000}\n---\n").title == ""
