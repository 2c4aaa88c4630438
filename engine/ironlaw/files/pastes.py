"""A paste with several things in it, as the texts that it is made of: a message and a YAML, a YAML and a command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from ironlaw.files import command_line, documents
from ironlaw.files.documents import is_too_deep

_KEY = re.compile(r"[A-Za-z_][\w-]*:(\s|$)")
_BEGINS = re.compile(r"\s*[A-Za-z_]")
"""Lines with which a YAML or a command can begin."""
_FAILURE = re.compile(r"\w*(Error|Exception|Warning):|.*out of memory")
_WITHIN = re.compile(r"\s+\S|-\s|#|\s*$")
"""Lines that go on with a YAML: indented ones, items of a list, comments, empty ones."""
_SAYS = re.compile(r"\s*(?!#|```|---)\S")
"""A line with more than a fence, a separator, a comment."""
LEAST = 2
"""Lines with a key from which on they are a document."""
MOST_LINES = 5_000
"""Lines of a JSON."""
MOST_TRIED = 50
"""Lines with a brace from which on a JSON is looked for: a log may have more."""

MOST_PARTS = 1_000
"""Pieces; what follows them is the last one."""


def split(text: str, known: Callable[[str], bool]) -> tuple[str, ...]:
    """What stands around the documents and commands of a paste, if it has words, then each of those, as texts.

    A text that is one thing comes back as it is.

    Args:
        text: The paste.
        known: Whether a part is a document or a command of a kind that is read.
    """
    parts = _parts(text[-documents.LONGEST :].lstrip("\ufeff"))
    found = [part for part, whole in parts if whole and known(part)]
    read = set(found)
    around = "".join(part for part, whole in parts if not whole or part not in read)
    says = any(map(_SAYS.match, around.splitlines()))
    if not found or (len(found) == 1 and not says):
        return (text,)
    return (*([around] if says else []), *found)


def has_document(text: str) -> bool:
    """Whether a part of a text has the shape of a document or a command, of whatever kind."""
    return any(whole for _, whole in _parts(text))


def _parts(text: str) -> list[tuple[str, bool]]:
    """The text in pieces, each with whether it has the shape of a document or a command."""
    lines = text.splitlines(keepends=True)
    parts: list[tuple[str, bool]] = []
    at = after = tried = 0
    while at < len(lines) and len(parts) < MOST_PARTS:
        brace = lines[at].startswith("{")
        tried += brace
        end = at
        if brace and tried <= MOST_TRIED:
            end = _json_end(lines, at)
        elif not brace and _BEGINS.match(lines[at]):
            end = _end(lines, at)
        if end > at:
            parts += [("".join(lines[after:at]), False)] if at > after else []
            parts.append(("".join(lines[at:end]), True))
            after = end
        at = max(end, at + 1)
    return [*parts, ("".join(lines[after:]), False)] if after < len(lines) else parts


def _json_end(lines: list[str], at: int) -> int:
    """Behind the JSON that begins at a line; the line itself where none does."""
    text = "".join(lines[at : at + MOST_LINES])
    if is_too_deep(text):
        return at
    try:
        _, length = json.JSONDecoder().raw_decode(text)
    # A number of thousands of digits is a ValueError.
    except ValueError:
        return at
    return at + text[:length].count("\n") + 1 if text[length:].split("\n", 1)[0].strip() == "" else at


def _end(lines: list[str], at: int) -> int:
    """Behind the command or YAML that begins at a line; the line itself where none does."""
    end, keys = at, 0
    if command_line.is_command(lines[at]):
        while end < len(lines) - 1 and lines[end].rstrip().endswith("\\"):
            end += 1
        return end + 1
    while end < len(lines) and not _FAILURE.match(lines[end]) and not command_line.is_command(lines[end]):
        if _KEY.match(lines[end]):
            keys += 1
        elif end == at or not _WITHIN.match(lines[end]):
            break
        end += 1
    return end if keys >= LEAST else at
