"""Edits of single values in a text of YAML, JSON or a command: everything else of it stays as it was written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from ironlaw.files import command_line

Path = tuple[str, ...]
"""The keys that lead to a value."""


def in_yaml(text: str, path: Path, value: object) -> str | None:
    """A text with another value behind a key, in the block of its parent; None where that block is not there.

    A key that is missing is added: behind its parent's, or at the end.
    """
    lines = text.splitlines(keepends=True)
    ending = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    start, indent = 0, ""
    for parent in path[:-1]:
        if (at := _line(lines, start, indent, parent)) is None:
            return None
        start = at + 1
        inside = re.match(r"[ \t]*", lines[start])[0] if start < len(lines) else ""  # type: ignore[index]
        indent = inside if len(inside) > len(indent) else f"{indent}  "
    written = _yaml_value(value)
    if (at := _line(lines, start, indent, path[-1])) is not None:
        key, space, comment = re.match(r"([^:]*:)([ \t]*)[^\r\n]*?((?<![ \t])[ \t]+#.*)?\r?\n?$", lines[at]).groups()  # type: ignore[union-attr]
        lines[at] = f"{key}{space or ' '}{written}{comment or ''}{ending}"
    else:
        if len(path) == 1:
            start = len(lines)
            if lines and not lines[-1].endswith("\n"):
                lines[-1] += ending
        lines.insert(start, f"{indent}{path[-1]}: {written}{ending}")
    return "".join(lines)


def _line(lines: list[str], start: int, indent: str, key: str) -> int | None:
    """The line of a key in the block that begins at a line."""
    for at in range(start, len(lines)):
        line = lines[at]
        if re.match(rf"{indent}(['\"]?){re.escape(key)}\1[ \t]*:", line):
            return at
        if indent and line.strip() and not line.startswith((indent, f"{indent[:-1]}#")):
            return None
    return None


def _yaml_value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def in_json(text: str, path: Path, value: object) -> str | None:
    """A text with another value behind a key; a key that is missing is added. None where it is no such object."""
    start = text.find("{")
    for depth, key in enumerate(path):
        if start < 0 or text[start] != "{":
            return None
        spans = {name: (at, end) for name, at, end in _members(text, start)}
        if key not in spans:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            between = re.match(r"\s*", text[start + 1 :])[0]  # type: ignore[index]
            more = "," if spans else ""
            return f"{text[: start + 1]}{between}{json.dumps(key)}: {json.dumps(value)}{more}{text[start + 1 :]}"
        start, end = spans[key]
    return text[:start] + json.dumps(value) + text[end:]


def _members(text: str, start: int) -> Iterator[tuple[str, int, int]]:
    """Every key of an object with where its value begins and ends. The text is JSON."""
    read = json.JSONDecoder().raw_decode
    at = _past(text, start + 1)
    while text[at] != "}":
        key, at = read(text, at)
        at = _past(text, at)
        _, end = read(text, at)
        yield key, at, end
        at = _past(text, end)


def _past(text: str, at: int) -> int:
    """Where the next word begins: past blanks, a comma, a colon."""
    return re.compile(r"[\s,:]*").match(text, at).end()  # type: ignore[union-attr]


def in_command(text: str, path: Path, value: object) -> str | None:
    """A text whose command has another value of an option, or that option behind the others."""
    command = command_line.chosen(text)
    before, text, after = text[: command.start], text[command.start : command.end], text[command.end :]
    name = "[-_]".join(map(re.escape, re.split("[-_]", path[-1])))
    word = str(value)
    option = re.compile(rf"(?<!\S)(--?{name})(?:(=|\s+)(?![-\\])(\S+))?(?=\s|$)")
    parts = re.split(r"(`#[^`]*`)", text)  # what a comment within the command says stays
    if any(map(option.search, parts[::2])):
        parts[::2] = [option.sub(lambda found: f"{found[1]}{found[2] or ' '}{word}", part) for part in parts[::2]]
        return before + "".join(parts) + after
    return f"{before}{text} --{path[-1]} {word}{after}"


def set_value(kind: str, text: str, path: Path, value: object) -> str | None:
    """A text of a kind, `"command"` or a file, with another value behind a key; None where it cannot be written."""
    if kind == "command":
        return in_command(text, path, value)
    return in_json(text, path, value) if text.lstrip().startswith("{") else in_yaml(text, path, value)


def has(document: Mapping[str, object], *path: str) -> bool:
    """Whether a document has a value behind a path."""
    found: object = document
    for key in path:
        if not isinstance(found, Mapping) or key not in found:
            return False
        found = found[key]
    return True
