"""Fixtures of the plugin's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.explorable.measured.made import Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A tiny site without pages."""
    return Site(tmp_path)
