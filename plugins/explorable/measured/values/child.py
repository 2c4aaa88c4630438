"""The build's child process: imports the engine, its argument, and evaluates expressions, JSON lines in and out.

    {"engine": "/folder/queues", "vocabulary": "queues.api", "expression": "waiting(0.8)", "from_engine": true}
    {"ok": {"value": 3.2, "unit": "min", "origin": "queues.formulas.waiting"}}

An expression that is wrong is answered by `{"what": …, "fix": …}` in place of the value, an engine that cannot be
imported by `{"error": …}`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

from explorable.measured.errors import MeasuredError
from explorable.measured.values.expressions import Evaluator
from explorable.shared.serving import serve


@functools.cache
def evaluator(folder: str, vocabulary: str) -> Evaluator:
    """The evaluator of the engine in `folder`, imported once in the life of the process."""
    if not folder:
        return Evaluator(ModuleType("nothing"))
    sys.path.insert(0, str(Path(folder).parent))
    return Evaluator(importlib.import_module(vocabulary))


def respond(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request."""
    try:
        evaluate = evaluator(request["engine"], request["vocabulary"]).evaluate
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        line = f"{Path(frame.filename).name}:{frame.lineno}"
        return {"error": f"the library cannot be imported: {type(error).__name__}: {error} ({line})"}
    try:
        return {"ok": asdict(evaluate(request["expression"], from_engine=request["from_engine"]))}
    except MeasuredError as error:
        return {"ok": {"what": error.what, "fix": error.fix}}


if __name__ == "__main__":
    # Ahead of the first request, whose time is limited. What is wrong with the engine is the answer to each of them.
    with contextlib.suppress(Exception):
        evaluator(*sys.argv[1:3])
    serve(respond)
