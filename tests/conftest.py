"""What holds for all tests: their order, and that none fails because a machine is slow.

The longest tests start first, so that no process still runs one when the others are done.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# The matrices are small, and two threads that wait for each other on a busy core take twenty times as long as one.
# NumPy reads this when it is first imported, which is later.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Time is measured by the benchmark scripts; here it would only make tests fail on a busy machine.
settings.register_profile("any clock", deadline=None, max_examples=60)
settings.load_profile("any clock")

LONGEST = ("tests/gpu_bench/", "tests/plugins/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Real training runs and process starts first, then small sites, then the engine. The order within stays."""
    items.sort(
        key=lambda item: next((at for at, path in enumerate(LONGEST) if item.nodeid.startswith(path)), len(LONGEST))
    )
