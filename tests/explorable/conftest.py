"""These tests build parts of this book."""

from __future__ import annotations

from book.adapter import BOOK
from explorable.book import use

use(BOOK)
