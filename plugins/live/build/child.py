"""The build's child process: a JSON request per line on standard input, a JSON response per line on standard output.

Its argument is the folder it stands in, which it empties.

    {"call": "run_snippet", "arguments": {"page": …, "name": …, "source": …}}
    {"call": "load_act" | "rehearse" | "compute" | "reveal" | "check" | "reset_page", "arguments": {…}}

A response is `{"ok": …}`, for a snippet with all its `output`, or `{"error": {"text": …, "line": …}}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from plugins.live.build.description import describe
from plugins.live.build.rehearsal import rehearse
from plugins.live.runtime import acts, snippets
from plugins.live.runtime.acts import ActError
from plugins.live.runtime.figures import open_no_windows
from plugins.shared.serving import serve

MEMORY = 4 * 2**30
"""The most bytes that a page's Python can have: WebAssembly counts them in 32 bits."""


@contextlib.contextmanager
def _memory_of_a_page() -> Iterator[None]:
    """While it is active, the process has no more memory than a page has, on systems that can set such a limit."""
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + MEMORY, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _load_act(name: str, program_json: str) -> str:
    """Load an act. Returns its description."""
    acts.load_act(name, program_json)
    return json.dumps(describe(acts.loaded(name)), allow_nan=False)


def respond(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request."""
    call, arguments = request["call"], request["arguments"]
    if call == "run_snippet":
        output: list[str] = []
        with _memory_of_a_page():
            ran = json.loads(snippets.run_snippet(**arguments, write=output.append))
        return {"ok": {"output": "".join(output), **ran}}
    calls: dict[str, Callable[..., str | None]] = {
        "load_act": _load_act,
        "compute": acts.compute,
        "reveal": acts.reveal,
        "check": acts.check,
        "rehearse": lambda name: rehearse(acts.loaded(name)),
        "reset_page": snippets.reset_page,
    }
    try:
        answer = calls[call](**arguments)
    except ActError as error:
        return {"error": {"text": str(error), "line": error.line}}
    return {"ok": json.loads(answer) if isinstance(answer, str) else answer}


if __name__ == "__main__":
    open_no_windows()
    # A page has no files of the checkout: snippets stand in a folder without any.
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    Path(sys.argv[1]).mkdir(parents=True)
    os.chdir(sys.argv[1])
    serve(respond)
