"""These tests build parts of this book."""

from __future__ import annotations

from pathlib import Path

import pytest

from book.adapter import BOOK
from explorable.book import use
from tests.explorable.measured.made import Site

use(BOOK)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A tiny site without pages."""
    return Site(tmp_path)
