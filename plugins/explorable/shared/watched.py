"""Runs a module as `python -m MODULE …` does, and notes what it imports from its first line on.

python -m explorable.shared.watched MODULE …
"""

from __future__ import annotations

import runpy
import sys

from explorable.shared.imports import IMPORTS

if __name__ == "__main__":
    sys.meta_path.insert(0, IMPORTS)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
