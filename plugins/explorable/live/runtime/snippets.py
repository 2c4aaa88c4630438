"""Runs a page's snippets in one namespace: what each prints, its last value, its figures, its trimmed error.

The namespaces of all pages live here, for the page's Python and for the build.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import inspect
import io
import json
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field
from types import CodeType
from typing import Any

from explorable.live.runtime import html_results
from explorable.live.runtime.figures import Figure, close_figures, of_value, open_figures, open_no_windows
from explorable.live.runtime.limits import plainly, sentence
from explorable.live.runtime.tracebacks import Trimmed, remember, trim

if sys.platform == "emscripten":
    open_no_windows()

OUTPUT_LIMIT = 100_000
"""Characters that one snippet may print: enough for any lesson, and a runaway `print` cannot freeze the page."""

Namespace = dict[str, Any]


@dataclass(frozen=True)
class Ran:
    """The outcome of a snippet.

    result: `repr` of its last expression; None if that has no value, is a figure, or is shown as HTML.
    error: what ended it, or None. figures: what it drew.
    html: the last value's own HTML, unchecked, or None.
    """

    result: str | None
    error: Trimmed | None
    figures: Sequence[Figure] = ()
    html: str | None = None


def new_namespace() -> Namespace:
    """A fresh namespace, as a script sees it."""
    return {"__name__": "__main__", "__builtins__": builtins}


@dataclass
class _Page:
    """What the snippets of one page share: their namespace, and the names that their tracebacks may show."""

    namespace: Namespace = field(default_factory=new_namespace)
    filenames: set[str] = field(default_factory=set)


_pages: dict[str, _Page] = {}


def run_snippet(page: str, name: str, source: str, write: Callable[[str], object]) -> str:
    """Run a snippet in its page's namespace.

    Returns:
        `{"result": text or null, "error": {"text": …, "line": number or null} or null, "figures": [{"svg": …,
        "name": …}], "html": text or null}`. What the snippet prints goes to `write` while it runs.
    """
    shared, filename = _page(page, name)
    return json.dumps(asdict(run(source, filename, shared.namespace, write, visible=shared.filenames)))


async def run_snippet_awaiting(page: str, name: str, source: str, write: Callable[[str], object]) -> str:
    """The same in the page, where an event loop runs and the snippet may await."""
    shared, filename = _page(page, name)
    return json.dumps(asdict(await run_awaiting(source, filename, shared.namespace, write, visible=shared.filenames)))


def _page(page: str, name: str) -> tuple[_Page, str]:
    shared, filename = _pages.setdefault(page, _Page()), f"<{name}>"
    shared.filenames.add(filename)
    return shared, filename


def namespace_of(page: str) -> Namespace:
    """What the page's snippets have defined so far."""
    return _pages[page].namespace if page in _pages else {}


def reset_page(page: str) -> None:
    """Forget everything the page's snippets have defined."""
    _pages.pop(page, None)


async def run_awaiting(
    source: str,
    filename: str,
    namespace: Namespace,
    write: Callable[[str], object],
    visible: Collection[str] = (),
) -> Ran:
    """Run `source` in `namespace` and send what it prints to `write` as it comes.

    Args:
        source: the reader's code.
        filename: the name under which tracebacks show the code.
        namespace: what earlier snippets of the page defined; changed in place.
        write: called with pieces of standard output and standard error, at most `OUTPUT_LIMIT` characters in all.
        visible: names of further snippets whose frames a traceback may show.

    Returns:
        The outcome. An exception of the snippet, `SystemExit` included, is part of it and never raised here.
    """
    remember(filename, source)
    output = Output(write)
    figures: list[Figure] = []
    streams = contextlib.ExitStack()
    with streams:
        streams.enter_context(contextlib.redirect_stdout(output))
        streams.enter_context(contextlib.redirect_stderr(output))
        streams.enter_context(plainly(source))
        try:
            (result, html), error = await _execute(source, filename, namespace, figures), None
        except KeyboardInterrupt:
            raise
        except BaseException as raised:
            trimmed, said = trim(raised, filename, {filename, *visible}), sentence(raised)
            result, html, error = None, None, Trimmed(said, trimmed.line) if said else trimmed
            close_figures()
    output.flush()
    return Ran(result, error, tuple(figures), html)


def run(
    source: str,
    filename: str,
    namespace: Namespace,
    write: Callable[[str], object],
    visible: Collection[str] = (),
) -> Ran:
    """As `run_awaiting`, outside of an event loop, as at build: a snippet that awaits gets a loop of its own."""
    running = run_awaiting(source, filename, namespace, write, visible)
    if _awaits(source):
        import asyncio

        return asyncio.run(running)
    try:
        running.send(None)
    except StopIteration as ended:
        ran: Ran = ended.value
        return ran
    raise RuntimeError("a snippet without await was suspended")


def _awaits(source: str) -> bool:
    with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
        return any(code is not None and code.co_flags & inspect.CO_COROUTINE for code in _split(source, "<asked>"))
    return False


async def _execute(
    source: str, filename: str, namespace: Namespace, figures: list[Figure]
) -> tuple[str | None, str | None]:
    """The last value, as text or as HTML."""
    body, last = _split(source, filename)
    await _run_code(body, namespace)
    value = None if last is None else await _run_code(last, namespace)
    figures.extend(open_figures())
    figure = of_value(value)
    if figure and figure not in figures:
        figures.append(figure)
    if value is None or figure:
        return None, None
    html = html_results.of_value(value)
    return (None, html) if html else (_cut(repr(value)), None)


async def _run_code(code: CodeType, namespace: Namespace) -> Any:
    """The code's value. Code with an `await` of its own is a coroutine."""
    value = eval(code, namespace)
    return await value if code.co_flags & inspect.CO_COROUTINE else value


def _split(source: str, filename: str) -> tuple[CodeType, CodeType | None]:
    """Compile the statements, and apart from them the last one if it is an expression whose value is to be shown."""
    tree = ast.parse(source, filename)
    if not tree.body or not isinstance(tree.body[-1], ast.Expr):
        return _compiled(tree, filename, "exec"), None
    last = ast.Expression(tree.body.pop().value)  # type: ignore[attr-defined]
    return _compiled(tree, filename, "exec"), _compiled(last, filename, "eval")


def _compiled(tree: ast.AST, filename: str, mode: str) -> CodeType:
    code: CodeType = compile(tree, filename, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)  # type: ignore[call-overload]
    return code


def _cut(text: str) -> str:
    return text if len(text) <= OUTPUT_LIMIT else text[:OUTPUT_LIMIT] + "…"


class Output(io.TextIOBase):
    """Passes text on line by line, so that a loop of small prints does not become a flood of messages."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self._write = write
        self._held = ""
        self._left = OUTPUT_LIMIT

    def writable(self) -> bool:
        """It is written to."""
        return True

    def write(self, text: str) -> int:
        """Take a text, and drop it once there was too much."""
        if self._left <= 0:
            return len(text)
        kept = text[: self._left]
        self._left -= len(kept)
        self._held += kept
        if self._left == 0:
            self._held += f"\n… output cut after {OUTPUT_LIMIT:,} characters\n"
        if "\n" in kept or self._left == 0:
            self.flush()
        return len(text)

    def flush(self) -> None:
        """Pass on what is held."""
        if self._held:
            held, self._held = self._held, ""
            self._write(held)
