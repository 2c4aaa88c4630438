"""The build's child process: imports the engine and evaluates the expressions of a page, JSON lines in and out.

    {"engine": "/folder/engine", "expressions": ["model('gpt2').parameters"], "from_engine": true}
    {"ok": [{"value": 124439808, "unit": "1", "origin": "engine.models.transformer.Transformer.parameters"}]}

An expression that is wrong is answered by `{"what": …, "fix": …}` in its place, an engine that cannot be imported by
`{"error": …}`.
"""

from __future__ import annotations

import functools
import importlib
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

from plugins.measured.errors import MeasuredError
from plugins.measured.values.expressions import Evaluator
from plugins.shared.serving import serve


@functools.cache
def evaluator(folder: str) -> Evaluator:
    """The evaluator of the engine in `folder`, imported once in the life of the process."""
    path = Path(folder)
    sys.path.insert(0, str(path.parent))
    return Evaluator(importlib.import_module(f"{path.name}.vocabulary"))


def respond(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request."""
    try:
        evaluate = evaluator(request["engine"]).evaluate
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        line = f"{Path(frame.filename).name}:{frame.lineno}"
        return {"error": f"the engine cannot be imported: {type(error).__name__}: {error} ({line})"}
    answers: list[dict[str, Any]] = []
    for text in request["expressions"]:
        try:
            answers.append(asdict(evaluate(text, from_engine=request["from_engine"])))
        except MeasuredError as error:
            answers.append({"what": error.what, "fix": error.fix})
    return {"ok": answers}


if __name__ == "__main__":
    serve(respond)
