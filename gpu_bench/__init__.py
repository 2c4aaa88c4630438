"""The measurements: cases as data, each trained in a fresh process, each leaving one record with its provenance."""

BENCHMARK_VERSION = "0.2.0"
"""Version of what is measured and how. It changes whenever a number of the same case could change because of us."""

SCHEMA_VERSION = 2
"""Version of the record's shape, as described by `schema/record.json`."""
