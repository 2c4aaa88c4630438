"""What a reader sees of an exception: only their own code, with its line.

The text is the same in every Python version that the build and the browser may use. That is why it carries no `^^^^`
under single expressions: their extent differs between versions, and the editor marks the line anyway.
"""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Trimmed:
    """An exception as text, and the 1-based line of the file in question that it points at, if any."""

    text: str
    line: int | None


def remember(filename: str, source: str) -> None:
    """Make the lines of code that exists only in memory available to tracebacks under `filename`."""
    # A modification time of None tells linecache that there is no file to compare with.
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)


def trim(error: BaseException, filename: str, visible: Collection[str]) -> Trimmed:
    """Format `error` with only the frames of the files in `visible`, and find its line in `filename`."""
    report = traceback.TracebackException.from_exception(error)
    line = _line_in(report, filename)
    _keep(report, visible)
    return Trimmed("".join(_format(report)).rstrip("\n"), line)


def place(error: BaseException, filenames: Collection[str]) -> str:
    """Where in these files the error arose, as ` (act.py, line 4)`; nothing when it touched none of them."""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename in filenames]
    if frames:
        return f" ({frames[-1].filename}, line {frames[-1].lineno})"
    if isinstance(error, SyntaxError) and error.filename in filenames and error.lineno is not None:
        return f" ({error.filename}, line {error.lineno})"
    return ""


def _line_in(report: traceback.TracebackException, filename: str) -> int | None:
    lines = [frame.lineno for frame in report.stack if frame.filename == filename]
    if lines:
        return lines[-1]
    syntax_error_here = getattr(report, "filename", None) == filename
    return int(report.lineno) if syntax_error_here and report.lineno is not None else None


def _keep(report: traceback.TracebackException, visible: Collection[str]) -> None:
    frames = [
        traceback.FrameSummary(frame.filename, frame.lineno, frame.name, line=frame.line)
        for frame in report.stack
        if frame.filename in visible
    ]
    report.stack = traceback.StackSummary.from_list(frames)
    for linked in (report.__cause__, report.__context__, *(report.exceptions or ())):
        if linked is not None:
            _keep(linked, visible)


def _format(report: traceback.TracebackException) -> list[str]:
    # An error without frames of the reader, such as a SyntaxError of the snippet itself, needs no "Traceback" header.
    if not report.stack and not report.__cause__ and not report.__context__ and not report.exceptions:
        return list(report.format_exception_only())
    return list(report.format())
