"""These tests build parts of this book."""

from __future__ import annotations

import pytest

from book.adapter import BOOK
from explorable.book import use

use(BOOK)


@pytest.fixture(autouse=True)
def this_book() -> None:
    """This book, whichever the test before has built."""
    use(BOOK)
