"""A paste with several things in it, as the texts that it is made of: a message and a YAML, a YAML and a command."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from ironlaw.core.units import Count
from ironlaw.files import documents, starts, values
from ironlaw.files.documents import is_too_deep

_KEY = re.compile(r"[A-Za-z_][\w-]*:(\s|$)")
_BEGINS = re.compile(r"\s*[A-Za-z_(\[$>%!+|]")
"""Lines with which a YAML, a command or a table can begin."""
_FAILURE = re.compile(r"\w*(Error|Exception|Warning):|.*out of memory")
_WITHIN = re.compile(r"\s+(?!\d+%\|)\S|-\s|#|\s*$")
"""Lines that go on with a YAML: indented ones but a progress bar, items of a list, comments, empty ones."""
_RULE = re.compile(r"\+[-=]{9}|\| NVIDIA-SMI ")
"""The first line of a table of `nvidia-smi`."""
_ROW = re.compile(r"[+|]|\s*$")
_DATE = r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} "
_ASKED = re.compile(rf".*\bnvidia-smi\s*$|{_DATE}")
"""What stands above that table: the command, the date."""
_SAYS = re.compile(
    r"(?!#|```|---|(?!(?:export )?(?:NPROC_PER_NODE|NNODES)=)"
    r"[$!%+]?\s*+(?:(?:cd|set|export|unset|source|mkdir|conda|module|echo|ls|sleep|ulimit|date|wait"
    r"|hostname|nvidia-smi|(?:uv )?pip3?|git|apt|apt-get|wandb|huggingface-cli|hf|for|do|done|if|then|fi|\.)"
    rf"(?:\s[^:]*)?|\w+=\S*)\Z|{_DATE})\S"
)
"""A line, without the blanks around it, with more than a fence, a separator, a comment, or what a shell does before a
training."""
_SETS = re.compile(
    r"\s*(?:(?:export )?[\"']?\w[\w.-]*[\"']?\s*[:=]\s*(?:[\d\"'{[]|(?:true|false|null|none|yes|no)\b)|--?[A-Za-z]\w)",
    re.IGNORECASE,
)
"""A line that may set something."""
_OPTION = re.compile(r"\s*--?[A-Za-z]\w")
_DASHES = re.compile(r"(?<=^---\n)|(?<=^---\r\n)", re.MULTILINE)
"""Behind a line that separates documents."""
LEAST = 2
"""Lines with a key from which on they are a document."""
MOST_LINES = 5_000
"""Lines of a JSON."""
MOST_TRIED = 50
"""Lines with a brace from which on a JSON is looked for: a log may have more."""

MOST_PARTS = 1_000
"""Pieces; what follows them is the last one."""


@dataclass(frozen=True)
class Piece:
    """A stretch of a paste: a document or command of a kind that is read, or what stands between these.

    Attributes:
        line: The number of its first line in the paste.
        text: The stretch.
        known: Whether it is such a document or command.
    """

    line: Count
    text: str
    known: bool

    @property
    def says(self) -> bool:
        """Whether it has more than fences, separators and comments."""
        return any(_SAYS.match(line.strip()) for line in self.text.splitlines())

    @property
    def sets(self) -> bool:
        """Whether a line of it may set something."""
        return any(map(_SETS.match, self.text.splitlines()))


def pieces(text: str, known: Callable[[str], bool]) -> list[Piece]:
    """A paste in order. What stands between documents of known kinds is divided at lines of three dashes.

    Args:
        text: The paste, of which the last `documents.LONGEST` characters count.
        known: Whether a part is a document or a command of a kind that is read.
    """
    end = text[-documents.LONGEST :]
    line = 1 + text.count("\n", 0, len(text) - len(end))
    found: list[Piece] = []
    goes_on = False
    for part, whole in _parts(end.lstrip("\ufeff")):
        read = whole and known(part)
        for at, one in enumerate([part] if read else _DASHES.split(part, max(1, MOST_PARTS - len(found)))):
            goes_on &= not read and at == 0
            if one and goes_on:
                found[-1] = replace(found[-1], text=found[-1].text + one)
            elif one:
                found.append(Piece(line, one, read))
            line += one.count("\n")
            goes_on = bool(one) and not read
    return found


def has_document(text: str) -> bool:
    """Whether a part of a text has the shape of a document or a command, of whatever kind."""
    return any(whole for _, whole in _parts(text))


_CODE = re.compile(
    r"""^[ \t]*+(?:"[ \t]*+)?(?:--[A-Za-z][\w-]*(?=[\s=\\]|$)|[\w.]{1,60} ?= ?(?:True|False|None|\d|['"\[]|\\"))""",
    re.MULTILINE,
)
"""A line of options, or of a program that sets something."""


def has_settings(text: str) -> bool:
    """Whether a text that is no document has lines of options, or of a program that sets something."""
    return _CODE.search(text) is not None


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
            table = _RULE.match(lines[at])
            while after < at and table and _ASKED.match(lines[at - 1]):
                at -= 1
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
    """Behind the command, YAML, name or table that begins at a line; the line itself where none does."""
    end, keys = at, 0
    if starts.is_command("".join(lines[at : at + (3 if _goes_on(lines[at]) else 1)])):
        while end < len(lines) - 1 and _goes_on(lines[end]):
            end += 1
        # Options that a comment or a missing mark at the end of a line has cut off.
        beyond = end + 1
        while beyond < len(lines) and (lines[beyond].lstrip().startswith("#") or _OPTION.match(lines[beyond])):
            end = beyond if _OPTION.match(lines[beyond]) else end
            beyond += 1
        return end + 1
    if (name := values.hub_name(lines[at])) and values.model(name):
        return at + 1
    if _RULE.match(lines[at]):
        return next((after for after in range(at, len(lines)) if not _ROW.match(lines[after])), len(lines))
    while end < len(lines) and not _FAILURE.match(lines[end]) and not starts.is_command(lines[end]):
        if _KEY.match(lines[end]):
            keys += 1
        elif end == at or not _WITHIN.match(lines[end]):
            break
        end += 1
    return end if keys >= LEAST else at


def _goes_on(line: str) -> bool:
    """Whether a command goes on in the line that follows."""
    return line.rstrip().endswith(("\\", " `"))
