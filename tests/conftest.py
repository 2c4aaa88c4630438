"""The order of the tests: what takes longest begins, so that no process is left alone with it at the end."""

from __future__ import annotations

import pytest

LONGEST = ("tests/gpu_bench/", "tests/plugins/")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Real training runs and process starts first, then small sites, then the engine. The order within stays."""
    items.sort(
        key=lambda item: next((at for at, path in enumerate(LONGEST) if item.nodeid.startswith(path)), len(LONGEST))
    )
