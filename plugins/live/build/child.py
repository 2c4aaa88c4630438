"""The build's child process: a JSON request per line on standard input, a JSON response per line on standard output.

    {"call": "run_snippet", "arguments": {"page": …, "name": …, "source": …}}
    {"call": "load_act" | "rehearse" | "compute" | "reveal" | "check" | "reset_page", "arguments": {…}}

A response is `{"ok": …}`, for a snippet with all its `output`, or `{"error": {"text": …, "line": …}}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from plugins.live.runtime import bridge
from plugins.live.runtime.acts import ActError
from plugins.live.runtime.figures import open_no_windows
from plugins.shared.serving import serve


def respond(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request."""
    call, arguments = request["call"], request["arguments"]
    if call == "run_snippet":
        output: list[str] = []
        ran = json.loads(bridge.run_snippet(**arguments, write=output.append))
        return {"ok": {"output": "".join(output), **ran}}
    calls: dict[str, Callable[..., str | None]] = {
        "load_act": bridge.load_act,
        "compute": bridge.compute,
        "reveal": bridge.reveal,
        "check": bridge.check,
        "rehearse": bridge.rehearse,
        "reset_page": bridge.reset_page,
    }
    try:
        answer = calls[call](**arguments)
    except ActError as error:
        return {"error": {"text": str(error), "line": error.line}}
    return {"ok": json.loads(answer) if isinstance(answer, str) else answer}


if __name__ == "__main__":
    open_no_windows()
    serve(respond)
