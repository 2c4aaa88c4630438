"""What the browser's worker and the build's child process call: the same functions, JSON text in and out.

A page's snippets share one namespace, and an act is loaded once: this module is where that state lives, one per
interpreter. Act functions raise `ActError`, whose message is one line for the reader.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field

from plugins.live.runtime.acts import ActError, LoadedAct, load
from plugins.live.runtime.figures import open_no_windows
from plugins.live.runtime.plain import Plain
from plugins.live.runtime.program import Program
from plugins.live.runtime.snippets import Namespace, Ran, new_namespace, run, run_awaiting

if sys.platform == "emscripten":
    open_no_windows()


@dataclass
class _Page:
    """What the snippets of one page share: their namespace, and the names that their tracebacks may show."""

    namespace: Namespace = field(default_factory=new_namespace)
    filenames: set[str] = field(default_factory=set)


_pages: dict[str, _Page] = {}
_acts: dict[str, LoadedAct] = {}


def run_snippet(page: str, name: str, source: str, write: Callable[[str], object]) -> str:
    """Run a snippet in its page's namespace.

    Returns:
        `{"result": text or null, "error": {"text": …, "line": number or null} or null, "figures": [{"svg": …,
        "name": …}]}`. What the snippet prints goes to `write` while it runs.
    """
    shared, filename = _page(page, name)
    return _told(run(source, filename, shared.namespace, write, visible=shared.filenames))


async def run_snippet_awaiting(page: str, name: str, source: str, write: Callable[[str], object]) -> str:
    """The same in the page, where an event loop runs and the snippet may await."""
    shared, filename = _page(page, name)
    return _told(await run_awaiting(source, filename, shared.namespace, write, visible=shared.filenames))


def _page(page: str, name: str) -> tuple[_Page, str]:
    shared, filename = _pages.setdefault(page, _Page()), f"<{name}>"
    shared.filenames.add(filename)
    return shared, filename


def _told(ran: Ran) -> str:
    error = None if ran.error is None else {"text": ran.error.text, "line": ran.error.line}
    figures = [asdict(figure) for figure in ran.figures]
    return json.dumps({"result": ran.result, "error": error, "figures": figures})


def reset_page(page: str) -> None:
    """Forget everything the page's snippets have defined."""
    _pages.pop(page, None)


def load_act(name: str, program_json: str) -> str:
    """Load an act, or load it anew, and return its public description."""
    with _kept_for_good():
        _acts[name] = load(name, Program.from_json(program_json))
    return _json(_acts[name].describe())


@contextmanager
def _kept_for_good() -> Iterator[None]:
    """Exempt what is created meanwhile from garbage collection: it lives as long as the page; scanning it is slow."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def compute(name: str, state_json: str) -> str:
    """The view of a loaded act in a state: `View` in protocol.ts."""
    return _json(_loaded(name).compute(json.loads(state_json)))


def frame(name: str, state_json: str) -> str:
    """The same for a frame while a hand moves: tables, ledger and score, which nobody reads then, are empty."""
    return _json(_loaded(name).frame(json.loads(state_json)))


def reveal(name: str, state_json: str) -> str:
    """The verdict of a loaded act on the prediction in a state: `Verdict` in protocol.ts."""
    return _json(_loaded(name).reveal(json.loads(state_json)))


def check(name: str, reflection: str, answers_json: str, state_json: str) -> str:
    """The feedback on the answers to a reflection: `Feedback` in protocol.ts."""
    return _json(_loaded(name).check(reflection, json.loads(answers_json), json.loads(state_json)))


def rehearse(name: str) -> str:
    """For the build: reveal every answer of a loaded act, and return `null` when nothing is wrong."""
    _loaded(name).rehearse()
    return _json(None)


def _loaded(name: str) -> LoadedAct:
    if name not in _acts:
        raise ActError(f"act {name!r} is not loaded")
    return _acts[name]


def _json(value: Plain) -> str:
    return json.dumps(value, allow_nan=False)
