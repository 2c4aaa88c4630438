"""What a page's Markdown consists of, for all parts: nothing else looks for these in a page's source.

Front matter, headings, fences, blocks, code spans, roles, links and includes, and the text around them. Nothing is
rendered. Lines are counted from 1 and keep their numbers, so that messages can name them: Python-Markdown's own parser
has no lines, and one of CommonMark knows neither the blocks nor what a page indents.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import yaml

from explorable.shared import yaml_text

_FENCE = re.compile(r"(?P<prefix>[> \t]*)(?P<signs>`{3,}|~{3,})(?P<info>[^`]*)$")
_LANGUAGE = re.compile(r"\s*(?:\{\s*)?\.?(?P<name>\w[\w-]*)")
_OPTION = re.compile(r"(?<![\w-])([\w-]+)=([\"'])(.*?)\2")
_BLOCK = re.compile(r"[> \t]*(?P<slashes>/{3,})[ ]*(?P<name>[A-Za-z][\w-]*)?[ ]*(?P<argument>.*)$")
_HEADING = re.compile(r"(?P<signs>#{1,6})[ \t]+(?P<text>.+?)(?:[ ]+\{:?(?P<attributes>[^{}]*)\})?(?:[ ]*#+)?")
_LONGEST_HEADING = 1000
_DEEPEST = 100
_ANCHOR = re.compile(r"(?:^|\s)#([\w.-]+)")
_ROLE = re.compile(r"\{(?P<name>[\w-]+)\}(?P<text>.*)", re.DOTALL)
_LINK = re.compile(r"\]\(<?(?P<target>[^)\s>]{1,1000})>?(?:\s[^)]{0,500})?\)")
# As `pymdownx.snippets` reads them: a file in quotes behind a mark, or files in lines of their own between two marks.
_MARK = r"-+8<-+"
_INCLUDED = re.compile(
    rf"""[ \t]*(?P<escape>;*){_MARK}(?:[ \t]+(?P<path>"(?:\\"|[^"\n\r])+?"|'(?:\\'|[^'\n\r])+?'))?\r?$"""
)
_TARGET = re.compile(
    r"(?P<file>.*?)(?:(?P<lines>(?::-?[0-9]*){1,2}(?:,(?=[-0-9:])-?[0-9]*(?::-?[0-9]*)?)*)|:(?P<section>[a-z][-_0-9a-z]*))?$",
    re.IGNORECASE,
)
_LONGEST_TARGET = 1000
"""Characters of what is included; more is no file's name."""
_SECTION = re.compile(
    rf"(?<!;)(?!(?<=-)-)(;*){_MARK}[ \t]+\[[ \t]*(start|end)[ \t]*:[ \t]*([a-z][-_0-9a-z]*)[ \t]*\]", re.IGNORECASE
)
_IN_PARAGRAPH = r"(?:(?!\n[> \t]*\n).)"
_SPAN = re.compile(rf"(?<![\\`])(?P<ticks>`+)(?!`)(?P<code>{_IN_PARAGRAPH}+?)(?<!`)(?P=ticks)(?!`)", re.DOTALL)
_SPAN_OR_COMMENT = re.compile(rf"{_SPAN.pattern}|(?P<comment><!--)")


@dataclass(frozen=True)
class Fence:
    """Fenced code.

    Attributes:
        line: Where it begins.
        last: Its last line; that of the closing signs, if it has such.
        prefix: What stands before its signs: indentation, marks of a quotation.
        signs: The backticks or tildes.
        info: What stands behind them.
        closed: Whether it ends with the same signs, and not with the page or its indentation.
    """

    line: int
    last: int
    prefix: str
    signs: str
    info: str
    closed: bool

    @property
    def language(self) -> str:
        """The word behind its signs, also as the class in braces."""
        found = _LANGUAGE.match(self.info)
        return found["name"] if found else ""

    @property
    def options(self) -> dict[str, str]:
        """What its first line says as `name="value"`."""
        return {name: value for name, _, value in _OPTION.findall(self.info)}


@dataclass(frozen=True)
class Block:
    """A block, `/// name | argument` … `///`.

    Attributes:
        line: Where it begins.
        last: The line of its closing slashes; None for one that is left open.
        slashes: Its slashes.
        name, argument: As written; the argument without its bar.
        barred: Whether a bar stands before the argument. Without one it may be a sentence, and Markdown sees no block.
        content: Its lines, without comments.
    """

    line: int
    last: int | None
    slashes: str
    name: str
    argument: str
    barred: bool
    content: str = ""


@dataclass(frozen=True)
class Heading:
    """A heading, by signs `#` at the start of a line: its text as it is written, and the anchor it is given."""

    line: int
    level: int
    text: str
    anchor: str = ""


@dataclass(frozen=True)
class Span:
    """Code within a paragraph: what stands between its backticks, and its place in the prose."""

    line: int
    ticks: str
    code: str
    start: int
    end: int


@dataclass(frozen=True)
class Role:
    """A code span with a name in braces at its start, the rest of it, and its place in the prose."""

    line: int
    name: str
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class Link:
    """The target of a link within the text, or of a picture."""

    line: int
    target: str


@dataclass(frozen=True)
class Include:
    """A line that puts a file, its section, or some of its lines, in its place. It counts in code too."""

    line: int
    file: str
    section: str
    lines: str = ""


@dataclass(frozen=True)
class Scan:
    """A page.

    Attributes:
        lines: As they are written.
        body: How many of them are its front matter, with the marks around it.
        prose: The same without front matter, without the lines of fences and without comments.
        fences, blocks, headings, spans, links, included: What is in it, in the order of its lines.
        strays: Slashes that close nothing, and their lines.
    """

    lines: Sequence[str]
    body: int
    prose: Sequence[str]
    fences: Sequence[Fence]
    blocks: Sequence[Block]
    headings: Sequence[Heading]
    spans: Sequence[Span]
    links: Sequence[Link]
    included: Sequence[Include]
    strays: Sequence[tuple[int, str]]

    @property
    def text(self) -> str:
        """The prose as one text."""
        return "\n".join(self.prose)

    @property
    def front(self) -> str:
        """The front matter, without the marks around it."""
        return "\n".join(self.lines[1 : max(1, self.body - 1)])

    @cached_property
    def title(self) -> str:
        """The title that the front matter gives. What is wrong with that is said where the page is checked."""
        try:
            meta = yaml_text.load(self.front)
        except yaml.YAMLError:
            return ""
        return str(meta.get("title") or "") if isinstance(meta, dict) else ""

    @property
    def heading(self) -> str:
        """Its first heading of the first level; "" for a page without one."""
        return next((one.text for one in self.headings if one.level == 1), "")

    @cached_property
    def roles(self) -> Sequence[Role]:
        """The code spans, in single backticks, that name a role."""
        read = ((span, _ROLE.fullmatch(span.code)) for span in self.spans if span.ticks == "`")
        return [
            Role(span.line, role["name"], role["text"].strip(), span.start, span.end) for span, role in read if role
        ]

    def without_code(self, instead: Callable[[Span], str] = lambda _: "") -> str:
        """The prose with something else in the place of each code span, whose line ends stay."""
        return _without(self.text, self.spans, instead)

    def named(self, *names: str) -> list[str]:
        """The arguments of the blocks with one of the names, each once."""
        shown = (block.argument for block in self.blocks if block.barred and block.name in names)
        return list(dict.fromkeys(shown))


@lru_cache(maxsize=4096)
def scan(text: str, *, whole: bool = True) -> Scan:
    """Read a page, or a part of one. One that is not `whole` has no front matter: it begins below that."""
    lines = text.split("\n")
    body = _front(lines) if whole else 0
    below = [""] * body + lines[body:]
    prose, fences = _outside(below)
    blocks, strays = _blocks(prose)
    outside = "\n".join(prose)
    spans = [
        Span(_line(outside, span), span["ticks"], span["code"], span.start(), span.end())
        for span in _SPAN.finditer(outside)
    ]
    bare = _without(outside, spans)
    links = [Link(_line(bare, link), link["target"]) for link in _LINK.finditer(bare)]
    return Scan(lines, body, prose, fences, blocks, _headings(prose), spans, links, includes(below), strays)


def _front(lines: Sequence[str]) -> int:
    """The number of lines of front matter."""
    if lines[0].rstrip() != "---":
        return 0
    return next((number for number, line in enumerate(lines[1:], 2) if line.rstrip() in ("---", "...")), 0)


def _headings(prose: Sequence[str]) -> list[Heading]:
    signed = ((number, line.rstrip(" ")) for number, line in enumerate(prose, 1) if line.startswith("#"))
    read = ((number, _HEADING.fullmatch(line)) for number, line in signed if len(line) <= _LONGEST_HEADING)
    found = ((number, heading, _ANCHOR.search(heading["attributes"] or "")) for number, heading in read if heading)
    return [Heading(line, len(one["signs"]), one["text"], anchor[1] if anchor else "") for line, one, anchor in found]


def _line(text: str, found: re.Match[str]) -> int:
    return text.count("\n", 0, found.start()) + 1


def _without(text: str, spans: Sequence[Span], instead: Callable[[Span], str] = lambda _: "") -> str:
    parts, position = [], 0
    for span in spans:
        parts += [text[position : span.start], instead(span), "\n" * span.code.count("\n")]
        position = span.end
    return "".join([*parts, text[position:]])


def includes(lines: Sequence[str]) -> list[Include]:
    """The files that lines include."""
    found: list[Include] = []
    block = False
    for number, line in enumerate(lines, 1):
        mark = _INCLUDED.match(line) if "8<" in line else None
        if mark and mark["escape"]:
            continue
        if mark and not mark["path"]:
            block = not block
        elif mark and not block:
            found.append(_include(number, mark["path"][1:-1].strip()))
        elif not mark and block and line.strip():
            found.append(_include(number, line.strip()))
    # A file whose name begins with a semicolon is left out.
    return [one for one in found if not one.file.startswith(";")]


def _include(number: int, written: str) -> Include:
    found = _TARGET.match(written) if len(written) <= _LONGEST_TARGET else None
    if found is None:
        return Include(number, written, "")
    return Include(number, found["file"].strip(), found["section"] or "", found["lines"] or "")


def sections(lines: Sequence[str]) -> list[str]:
    """The names of the sections of a file."""
    marks = (_SECTION.search(line) for line in lines if "8<" in line)
    return [mark[3] for mark in marks if mark and mark[2].lower() == "start" and not mark[1]]


def selected(lines: Sequence[str], included: Include) -> list[tuple[int, str]] | None:
    """Those lines of a file that are included, each with its number; None where there are no such."""
    numbered = list(enumerate(lines, 1))
    if included.lines:
        try:
            spans = [_span(one, len(lines)) for one in included.lines[1:].split(",")]
        except ValueError:
            return None
        return [one for span in spans for one in numbered[span]]
    return _section(numbered, included.section) if included.section else numbered


def _span(written: str, total: int) -> slice:
    """Lines from one number to another, both counted from 1, or from the end where they are negative."""
    first, _, last = written.partition(":")
    start, end = int(first or 1), int(last or total)
    start = max(0, total + start if start < 0 else start - 1)
    return slice(start, max(0, total + 1 + end) if end < 0 else end)


def _section(numbered: Sequence[tuple[int, str]], name: str) -> list[tuple[int, str]] | None:
    found: list[tuple[int, str]] | None = None
    for number, line in numbered:
        mark = _SECTION.search(line) if "8<" in line else None
        if mark and not mark[1]:
            if mark[3] == name and mark[2].lower() == "end":
                break
            found = [] if found is None and mark[3] == name else found
        elif found is not None:
            # Of an escaped mark the first semicolon goes.
            found.append((number, line[: mark.start()] + line[mark.start() + 1 :] if mark else line))
    return found


def _outside(lines: Sequence[str]) -> tuple[list[str], list[Fence]]:
    """The lines outside of fences and comments, the others empty; and the fences."""
    prose: list[str] = []
    fences: list[Fence] = []
    last_end = max((number for number, line in enumerate(lines, 1) if "-->" in line), default=0)
    within: Fence | None = None
    hidden = False
    for number, line in enumerate(lines, 1):
        if within and _indented(line, within.prefix):
            closed = line[len(within.prefix) :].rstrip() == within.signs
            fences[-1] = replace(within, last=number, closed=closed)
            within = None if closed else within
            prose.append("")
        elif not hidden and (begins := _FENCE.match(line)):
            within = Fence(number, number, begins["prefix"], begins["signs"], begins["info"], closed=False)
            fences.append(within)
            prose.append("")
        else:
            within = None
            seen, hidden = _visible(line, hidden, ends_later=number < last_end)
            prose.append(seen)
    return prose, fences


def _indented(line: str, prefix: str) -> bool:
    """Whether a line can belong to a fence. One that is indented less shows that there was no fence."""
    content = line.lstrip("> \t")
    return not content or len(line) - len(content) >= len(prefix)


def _visible(line: str, hidden: bool, *, ends_later: bool) -> tuple[str, bool]:
    """A line without comments, and whether one goes on below it. `hidden` says whether one began above."""
    seen = ""
    while True:
        if hidden:
            _, ends, line = line.partition("-->")
            if not ends:
                return seen, True
        begins = next((one.start() for one in _SPAN_OR_COMMENT.finditer(line) if one["comment"]), None)
        if begins is None or not (ends_later or "-->" in line[begins:]):
            return seen + line, False
        seen, line, hidden = seen + line[:begins], line[begins + 4 :], True


def _blocks(prose: Sequence[str]) -> tuple[list[Block], list[tuple[int, str]]]:
    """The blocks, and the slashes that close none."""
    found: list[Block] = []
    opened: list[int] = []
    strays: list[tuple[int, str]] = []
    for number, line in enumerate(prose, 1):
        match = _BLOCK.match(line)
        if match is None:
            continue
        slashes, name, argument = match["slashes"], match["name"], match["argument"].rstrip()
        if name is None:
            if not argument and (closes := _closed_by(slashes, opened, found)) is not None:
                block = found[closes]
                content = "\n".join(prose[block.line : number - 1])
                found[closes] = replace(block, last=number, content=content)
                del opened[opened.index(closes) :]
            elif not argument:
                strays.append((number, slashes))
            continue
        opened.append(len(found))
        # What is open further out is left so: nobody nests blocks so deep.
        del opened[:-_DEEPEST]
        barred = argument[:1] in ("", "|")
        found.append(Block(number, None, slashes, name, argument.removeprefix("|").strip(), barred))
    return found, strays


def _closed_by(slashes: str, opened: Sequence[int], found: Sequence[Block]) -> int | None:
    """Which of the open blocks some slashes close: the innermost with as many; rather one with a bar."""
    fitting = [place for place in reversed(opened) if found[place].slashes == slashes]
    return next((place for place in fitting if found[place].barred), fitting[0] if fitting else None)
