"""Mistakes in a page's text that Markdown silently ignores.

A block or a fence left open, front matter that is not read, a role that does not exist, a picture without words.
All checks look at the text only, so they are fast and find the line where the author made the mistake.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

import yaml

from explorable.shared import yaml_text
from explorable.shared.errors import nearest
from explorable.shared.locate import Constructs
from explorable.shared.scan import Scan, scan

PYMDOWN = ("caption", "figure-caption", "table-caption", "admonition", "details", "tab", "html", "definition")
"""The blocks of PyMdown Extensions, which a page may use besides those of our plugins."""
FRONT_MATTER = ("title", "description", "hide", "search", "social", "status", "subtitle", "icon", "tags", "template")
"""Keys that MkDocs, the theme or we read."""

NO_YAML = "the front matter is no YAML"
_KINDS: dict[str, tuple[type, str]] = {"search": (dict, "mapping"), "hide": (list, "list"), "tags": (list, "list")}
"""Keys whose values MkDocs or its theme take apart, and what they are."""

_WORDS = ("title", "subtitle", "description", "status", "icon")
"""Keys whose values stand in pages."""
_MARKUP = re.compile(r"<[a-z!/?]", re.IGNORECASE)
_MOST_BOOST = 1000

Found = tuple[int, str, str]
"""Line, what is wrong, what to do."""

_ROLE = re.compile(r"\{([a-z_-]+)\}\s*\S")
_NEARLY_ROLE = re.compile(r"(#!\w+\s+)?\{\s*([A-Za-z_-]+)\s*\}\s*\S")
_BARE_ROLE = re.compile(r"(?<![\\{$\w`])\{([a-z_-]+)\}(?=\s)")
_WORD = re.compile(r"[\w-]+")
_NOTE = re.compile(r"\[\^([^\]\s]+)\](:?)")
_ADMONITIONS = (
    "note",
    "abstract",
    "info",
    "tip",
    "success",
    "question",
    "warning",
    "failure",
    "danger",
    "bug",
    "example",
    "quote",
)
_PICTURE = re.compile(r"!\[\s*\](?:\(|\[)|<img\b(?![^>]*\balt\s*=)[^>]*>", re.IGNORECASE)


def mistakes(text: str, known: Constructs) -> list[Found]:
    """All such mistakes in one source file, in the order of its lines. `known` is what the plugins registered."""
    page = scan(text)
    return sorted(
        [
            *_front_matter(page),
            *_fences(page, known.fences),
            *_blocks(page, (*known.blocks, *PYMDOWN)),
            *_roles(page, known.roles),
            *_beside_code(page, known.roles),
        ]
    )


def _front_matter(page: Scan) -> list[Found]:
    """What is wrong with the front matter."""
    if not page.body:
        left_open = page.lines[0].rstrip() == "---"
        return [(1, "the front matter has no end", "close it with a line ---")] if left_open else []
    try:
        meta = yaml_text.load(page.front) or {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark else 1
        return [(line, f"{NO_YAML}: {getattr(error, 'problem', error)}", "write key: value")]
    if not isinstance(meta, dict):
        return [(1, "the front matter is no mapping", "write key: value")]
    for key, (kind, name) in _KINDS.items():
        if meta.get(key) is not None and not isinstance(meta[key], kind):
            return [(1, f"{NO_YAML} that is read: '{key}' is no {name}", f"make it a {name}")]
    if fault := _odd(meta):
        return [(1, f"{NO_YAML} that is read: {fault[0]}", fault[1])]
    unknown = [str(key) for key in meta if key not in FRONT_MATTER]
    lines = page.front.split("\n")
    places = {key: next((n for n, line in enumerate(lines, 2) if line.startswith(f"{key}:")), 1) for key in unknown}
    return [
        (places[key], f"the front matter's '{key}' is read by nobody", nearest(key, FRONT_MATTER)) for key in unknown
    ]


def _odd(meta: Mapping[str, object]) -> tuple[str, str] | None:
    """What the theme takes as it stands, and cannot: markup in words, and what its search does not read."""
    for key in _WORDS:
        if _MARKUP.search(str(meta.get(key) or "")):
            return f"'{key}' holds markup", "write plain words"
    search = meta.get("search")
    found = search if isinstance(search, dict) else {}
    boost, exclude = found.get("boost", 1), found.get("exclude", False)
    if isinstance(boost, bool) or not isinstance(boost, int | float) or not 0 < boost <= _MOST_BOOST:
        return f"search: boost is {boost!r}", f"write a number above 0, at most {_MOST_BOOST}"
    if not isinstance(exclude, bool):
        return f"search: exclude is {exclude!r}", "write true or false"
    return None


def _fences(page: Scan, known: Sequence[str]) -> Iterator[Found]:
    """Fences of ours that are not read, or left open."""
    for fence in page.fences:
        named = f"the fence '{fence.signs}{fence.info.strip()}'"
        if name := _unread(fence.info, known):
            yield fence.line, f"{named} is not run", f"write {fence.signs}{name} and its options behind it"
        if not fence.closed and fence.last == len(page.lines):
            yield fence.line, f"{named} is left open", "close it with the same signs"


def _unread(info: str, known: Sequence[str]) -> str | None:
    """The language of a plugin that a fence names in the wrong place or spelling, so that Markdown does not see it."""
    before_options = info.split("=")[0].split()
    # What stands right before the sign `=` is the first option's name.
    words = before_options[:-1] if "=" in info else before_options
    if not words or words[0].lstrip("{.") in known:
        return None
    return next((name for name in known for word in words if _WORD.findall(word.lower()) == [name]), None)


def _blocks(page: Scan, known: Sequence[str]) -> Iterator[Found]:
    """Blocks that are left open, and unknown blocks."""
    for line, slashes in page.strays:
        yield line, f"'{slashes}' closes nothing", "remove it, or open a block above it"
    for block in page.blocks:
        written, name = f"{block.slashes} {block.name}", block.name
        if not block.barred:
            # Slashes at the start of a sentence are not ours.
            if name.casefold() not in known:
                continue
            yield block.line, f"'{written}' lacks a bar", f"write {written.casefold()} | {block.argument}"
        elif name not in known:
            admonition = f"write '!!! {name}', and indent what belongs to it by four spaces"
            fix = admonition if name in _ADMONITIONS else nearest(name, known)
            yield block.line, f"there is no block '{name}'", fix
        if block.last is None:
            yield block.line, f"the block '{written}' is left open", f"close it with a line {block.slashes}"


def _roles(page: Scan, known: Sequence[str]) -> Iterator[Found]:
    """Misspelled roles."""
    for span in page.spans:
        role = _ROLE.match(span.code) if span.ticks == "`" else None
        if role and role[1] not in known and difflib.get_close_matches(role[1], known, cutoff=0.7):
            yield span.line, f"there is no role '{{{role[1]}}}'", nearest(role[1], known)
        elif not role and (nearly := _NEARLY_ROLE.match(span.code)) and (name := nearly[2].casefold()) in known:
            written = span.code[: nearly.end() - 1].strip()
            yield span.line, f"'{written}' is not computed", f"write `{{{name}}} …` in single backticks"


def _beside_code(page: Scan, roles: Sequence[str]) -> Iterator[Found]:
    """Roles that are no code, pictures without words, and marks of footnotes that are not there."""
    marks: list[tuple[int, str]] = []
    defined = set()
    for number, line in enumerate(page.without_code().split("\n"), 1):
        yield from (
            (number, f"'{{{bare[1]}}}' stands in the text", f"write `{{{bare[1]}}} …` in backticks")
            for bare in _BARE_ROLE.finditer(line)
            if bare[1] in roles
        )
        if _PICTURE.search(line):
            yield number, "a picture has no words", "write what it shows: ![words](file)"
        for mark in _NOTE.finditer(line):
            marks.append((number, mark[1]))
            if mark[2] and not line[: mark.start()].strip():
                defined.add(mark[1])
    # A file that the page includes may define them.
    for number, name in [] if page.included else marks:
        if name not in defined:
            yield number, f"there is no footnote '[^{name}]'", f"write it in a line of its own: [^{name}]: words"
