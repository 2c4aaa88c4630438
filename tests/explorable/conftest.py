"""These tests build parts of this book."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest
import vl_convert

from book.adapter import BOOK
from explorable.book import use

use(BOOK)


@pytest.fixture(autouse=True)
def this_book() -> None:
    """This book, whichever the test before has built."""
    use(BOOK)


@pytest.fixture(scope="session", autouse=True)
def bundled_once() -> Iterator[None]:
    """Vega is bundled once in a process: for each site with a cache of its own it took 2 s of a processor."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vl_convert, "javascript_bundle", functools.cache(vl_convert.javascript_bundle))
        yield
