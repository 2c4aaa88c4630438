"""Mistakes in a page's text that Markdown silently ignores.

A block or a fence left open, front matter that is not read, a role that does not exist, a picture without words.
All checks look at the text only, so they are fast and find the line where the author made the mistake.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

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

Found = tuple[int, str, str]
"""Line, what is wrong, what to do."""

_SPAN = re.compile(r"(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)")
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
    first, found = _front_matter(text)
    page = scan("\n".join(text.split("\n")[first:]))
    below = [
        *_fences(page, known.fences),
        *_blocks(page, (*known.blocks, *PYMDOWN)),
        *_spans(page.prose, known.roles),
        *_notes(page),
    ]
    return sorted([*found, *((first + line, what, fix) for line, what, fix in below)])


def _front_matter(text: str) -> tuple[int, list[Found]]:
    """The first line behind the front matter, counted from 0, and what is wrong with it."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != "---":
        return 0, []
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), None)
    if end is None:
        return 0, [(1, "the front matter has no end", "close it with a line ---")]
    try:
        meta = yaml_text.load("\n".join(lines[1:end])) or {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 2 if mark else 1
        return end + 1, [(line, f"{NO_YAML}: {getattr(error, 'problem', error)}", "write key: value")]
    if not isinstance(meta, dict):
        return end + 1, [(1, "the front matter is no mapping", "write key: value")]
    for key, (kind, name) in _KINDS.items():
        if meta.get(key) is not None and not isinstance(meta[key], kind):
            return end + 1, [(1, f"{NO_YAML} that is read: '{key}' is no {name}", f"make it a {name}")]
    unknown = [str(key) for key in meta if key not in FRONT_MATTER]
    places = {
        key: next((n for n, line in enumerate(lines[1:end], 2) if line.startswith(f"{key}:")), 1) for key in unknown
    }
    return end + 1, [
        (places[key], f"the front matter's '{key}' is read by nobody", nearest(key, FRONT_MATTER)) for key in unknown
    ]


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


def _notes(page: Scan) -> Iterator[Found]:
    """Marks of footnotes that are not there. Where a page includes a file, that may define them."""
    marks = [
        (number, mark[1], line[: mark.start()].strip() == "" and bool(mark[2]))
        for number, line in enumerate(page.prose, 1)
        for mark in _NOTE.finditer(_SPAN.sub("", line))
    ]
    defined = {name for _, name, defines in marks if defines}
    if page.included:
        return
    for number, name, _ in marks:
        if name not in defined:
            yield number, f"there is no footnote '[^{name}]'", f"write it in a line of its own: [^{name}]: words"


def _spans(prose: Sequence[str], roles: Sequence[str]) -> Iterator[Found]:
    """Misspelled roles, and pictures without words."""
    for number, line in enumerate(prose, 1):
        for span in _SPAN.finditer(line):
            role = _ROLE.match(span[2]) if span[1] == "`" else None
            if role and role[1] not in roles and difflib.get_close_matches(role[1], roles, cutoff=0.7):
                yield number, f"there is no role '{{{role[1]}}}'", nearest(role[1], roles)
            elif not role and (nearly := _NEARLY_ROLE.match(span[2])) and nearly[2].casefold() in roles:
                written = span[2][: nearly.end() - 1].strip()
                yield (
                    number,
                    f"'{written}' is not computed",
                    f"write `{{{nearly[2].casefold()}}} …` in single backticks",
                )
        without = _SPAN.sub("", line)
        yield from (
            (number, f"'{{{bare[1]}}}' stands in the text", f"write `{{{bare[1]}}} …` in backticks")
            for bare in _BARE_ROLE.finditer(without)
            if bare[1] in roles
        )
        if _PICTURE.search(without):
            yield number, "a picture has no words", "write what it shows: ![words](file)"
