"""The measurements: cases as data, each trained in a fresh process, each leaving one record with its provenance."""

BENCHMARK_VERSION = "0.3.0"
"""Version of what is measured and how. It changes when a change of our code may change a number of the same case."""

RELEASED = "2026-11-22T00:00:00Z"
"""When this version was made. A machine whose clock shows an earlier time has a wrong clock."""

SCHEMA_VERSION = 3
"""Version of the record's shape, as described by `record/schema.json`. `record/load.py` reads version 2 too."""
