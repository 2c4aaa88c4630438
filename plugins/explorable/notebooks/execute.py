"""Executes notebooks in a kernel; the build's child process for them, JSON lines in and out.

    {"text": "# %% …", "folder": "docs/notebooks", "paths": ["…"], "kept": "….cache/notebooks",
     "look": "…", "limit_s": 60}
    {"document": {"cells": […], …}}

A notebook that was stopped, because a cell takes too long or ends the kernel, is answered by
`{"lost": what happened, "cell": index of that cell among all cells, or null}`.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import jupytext  # type: ignore[import-untyped]
from nbclient import NotebookClient
from traitlets.config import Config

from explorable.notebooks.environment import environment
from explorable.shared.serving import serve


def respond(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request."""
    with tempfile.TemporaryDirectory(prefix="notebook-") as name:
        scratch = Path(name)
        os.environ.update(environment(request["paths"], Path(request["kept"]), scratch, request["look"]))
        document = jupytext.reads(request["text"], fmt="py:percent")
        begun: list[int] = []
        client = NotebookClient(
            document,
            timeout=request["limit_s"],
            kernel_name="python3",
            allow_errors=True,
            resources={"metadata": {"path": request["folder"]}},
            on_cell_execute=lambda cell, cell_index: begun.append(cell_index),
            config=_config(scratch),
        )
        try:
            client.execute()
        except (RuntimeError, TimeoutError) as error:
            lost = f"gives no answer: {str(error).strip().splitlines()[0].rstrip('.')}"
            if not begun:
                return {"lost": f"the notebook {lost}", "cell": None}
            number = sum(cell["cell_type"] == "code" for cell in document["cells"][: begun[-1] + 1])
            return {"lost": f"cell {number} {lost}", "cell": begun[-1]}
    return {"document": document}


def _config(scratch: Path) -> Config:
    if os.name != "posix":
        return Config()
    # Files instead of ports, which other users of the machine could listen to. Their names must be short.
    return Config({"KernelManager": {"transport": "ipc", "ip": str(scratch / "kernel")}})


if __name__ == "__main__":
    serve(respond)
