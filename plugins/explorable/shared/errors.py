"""A mistake in the site's sources, said so that its author can fix it: file, line, what is wrong, what to do."""

from __future__ import annotations

import difflib
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

import yaml


class UnbuildableError(Exception):
    """The book cannot be built. The message is one line: what is wrong, and the way out."""


class AuthorError(ValueError):
    """An author's mistake: `what` names the thing and the value, `fix` says what is allowed or what to do.

    offset: the lines between the first line of the block and the mistake in it.
    """

    def __init__(self, what: str, fix: str = "", offset: int = 0) -> None:
        super().__init__(what, fix)
        self.what, self.fix, self.offset = what, fix, offset

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}" if self.fix else self.what


class LineError(ValueError):
    """What is wrong with a file, and the line of it, or None."""

    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.line = line


def require_within(option: str, folder: str) -> None:
    """Raise `UnbuildableError` for an option that names no folder inside the docs folder."""
    path = PurePosixPath(folder)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\\" in folder:
        raise UnbuildableError(f"'{option}': {folder!r} is not allowed; it must be a folder inside the docs folder")


MOST_LISTED = 26
"""More names than these nobody reads to the end."""


@dataclass(frozen=True)
class Defect:
    """One mistake. As text it is one line, `docs/page.md:12: what. fix`.

    file: the source file, relative to the project.
    line: its 1-based line, front matter counted, or None where the whole file is meant.
    what: what is wrong, with the value.
    fix: what is allowed, or what to do.
    """

    file: str
    line: int | None
    what: str
    fix: str = ""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        parts = (part.rstrip(".") for part in (self.what, self.fix) if part)
        # Python's own messages may end in a question: "Did you mean: 'bool'?"
        return f"{place}: {' '.join(part if part.endswith('?') else f'{part}.' for part in parts)}"


def nearest(name: str, known: Iterable[str]) -> str:
    """What the author may have meant: the known name written nearly like `name`, or else what is allowed."""
    names = sorted(set(known))
    folded = {one.casefold(): one for one in reversed(names)}
    if close := difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6):
        return f"perhaps '{folded[close[0]]}' is meant"
    if not names:
        return "there is nothing to choose from"
    return f"allowed: {', '.join(names)}" if len(names) <= MOST_LISTED else f"{len(names)} are known"


def in_a_line(error: BaseException) -> str:
    """What the machine refuses, with the file; "" for an error of another kind, which deserves its traceback."""
    if isinstance(error, OSError):
        name = error.filename2 or error.filename
        file = f"{name}: " if name else ""
        return f"{file}{error.strerror or error or type(error).__name__}"
    if isinstance(error, UnicodeError):
        return f"a file is not UTF-8 ({error})"
    if isinstance(error, MemoryError):
        return "there is not enough memory"
    if isinstance(error, RecursionError):
        return "something is nested too deeply"
    if isinstance(error, yaml.YAMLError):
        return " ".join(str(error).split())
    if isinstance(error, subprocess.SubprocessError):
        return f"another program failed: {' '.join(str(error).split())}"
    return ""
