"""The measurements: cases as data, each trained in a fresh process, each leaving one record with its provenance.

They run from a bare checkout: the engine, the package `ironlaw`, is found in the folder `engine` beside this one.
"""

import sys
from pathlib import Path

_ENGINE = Path(__file__).resolve().parents[1] / "engine"
if _ENGINE.is_dir() and str(_ENGINE) not in sys.path:
    sys.path.insert(0, str(_ENGINE))

BENCHMARK_VERSION = "0.3.0"
"""Version of what is measured and how. It changes when a change of our code may change a number of the same case."""

RELEASED = "2026-11-22T00:00:00Z"
"""When this version was made. A machine whose clock shows an earlier time has a wrong clock."""

SCHEMA_VERSION = 4
"""Version of the record's shape, as described by `record/shape.py`. A case may get a field without a new one."""
