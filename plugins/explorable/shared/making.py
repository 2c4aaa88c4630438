"""Makes elements of blocks; the build's child process for blocks that take long, JSON lines in and out.

    {"make": "station.tables.waits", "argument": "bakery", "content": "caption: At noon"}
    {"element": "<table>…</table>"}

What cannot be made is answered by `{"what": …, "fix": …, "offset": …}`, as an `AuthorError` says it: what is wrong,
what is allowed, and how many lines below the first line of the block.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from explorable.book import current
from explorable.shared.errors import AuthorError
from explorable.shared.serving import serve


def respond(request: dict[str, Any]) -> dict[str, Any]:
    """Answer one request."""
    module, _, name = request["make"].rpartition(".")
    try:
        made = getattr(importlib.import_module(module), name)(request["argument"], request["content"])
    except AuthorError as error:
        return {"what": error.what, "fix": error.fix, "offset": error.offset}
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        fix = f"see line {last.lineno} of {Path(last.filename).name}, in {last.name}"
        return {"what": f"{request['make']} failed: {type(error).__name__}: {error}", "fix": fix, "offset": 0}
    return {"element": ElementTree.tostring(made, "unicode")}


if __name__ == "__main__":
    # The book's modules lie beside its configuration.
    if sys.argv[1] not in sys.path:
        sys.path.insert(0, sys.argv[1])
    current()  # its colors
    serve(respond)
