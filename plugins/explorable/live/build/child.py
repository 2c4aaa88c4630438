"""The build's child process: a JSON request per line on standard input, a JSON response per line on standard output.

Its argument is the folder it stands in, which it empties.

    {"call": "run_snippet", "seed": 1, "files": {name: base64}, "arguments": {"page": …, "name": …, "source": …}}
    {"call": "check_exercise", "seed": 1, "arguments": {"name": …, "source": …, "tests": …, "hidden": …}}
    {"call": "load_act" | "rehearse" | "compute" | "reveal" | "check" | "reset_page", "arguments": {…}}

A response is `{"ok": …}`, for a snippet and an exercise with all its `output`, and beside it the random numbers that it
`took`; or `{"error": {"text": …, "line": …}}`.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from explorable.book import current
from explorable.live.build.chance import varied
from explorable.live.build.description import describe
from explorable.live.build.rehearsal import at_state, rehearse
from explorable.live.runtime import acts, exercises, snippets
from explorable.live.runtime.acts import ActError
from explorable.live.runtime.figures import open_no_windows
from explorable.shared.serving import allowed, serve

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
    most = allowed(resource.RLIMIT_AS, pages * resource.getpagesize() + MEMORY)
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@contextlib.contextmanager
def _beside(files: dict[str, str]) -> Iterator[None]:
    """While it is active, the snippet's data files lie in the folder it stands in, and no others."""
    for name, data in files.items():
        Path(name).write_bytes(base64.b64decode(data))
    try:
        yield
    finally:
        for name in files:
            Path(name).unlink(missing_ok=True)


def _load_act(name: str, program_json: str) -> str:
    """Load an act. Returns its `description`, and the `files` that it has imported."""
    acts.load_act(name, program_json)
    loaded = acts.loaded(name)
    return json.dumps({"description": describe(loaded), "files": loaded.filenames}, allow_nan=False)


def _compute(name: str, state_json: str) -> str:
    with at_state(acts.loaded(name).act, json.loads(state_json)):
        return acts.compute(name, state_json)


def respond(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request."""
    call, arguments = request["call"], request["arguments"]
    if call in ("run_snippet", "check_exercise"):
        output: list[str] = []
        run = snippets.run_snippet if call == "run_snippet" else exercises.check_exercise
        with _beside(request.get("files", {})), _memory_of_a_page(), varied(request.get("seed", 0)) as took:
            ran = json.loads(run(**arguments, write=output.append))
        return {"ok": {"output": "".join(output), **ran}, "took": took}
    calls: dict[str, Callable[..., str | None]] = {
        "load_act": _load_act,
        "compute": _compute,
        "reveal": acts.reveal,
        "check": acts.check,
        "rehearse": lambda name: json.dumps(rehearse(acts.loaded(name))),
        "reset_page": snippets.reset_page,
    }
    try:
        answer = calls[call](**arguments)
    except ActError as error:
        return {"error": {"text": str(error), "line": error.line}}
    return {"ok": json.loads(answer) if isinstance(answer, str) else answer}


if __name__ == "__main__":
    open_no_windows()
    current()  # the fields of its ledger
    # A page has no files of the checkout: snippets stand in a folder without any.
    shutil.rmtree(sys.argv[1], ignore_errors=True)
    Path(sys.argv[1]).mkdir(parents=True)
    os.chdir(sys.argv[1])
    serve(respond)
