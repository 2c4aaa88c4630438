"""This book as most tests need it: what it computes with, without what is done to a finished site or only for speed."""

from __future__ import annotations

from book import adapter
from explorable.book import replace

BOOK = replace(adapter.BOOK, scripts=None, licenses=None, finish=(), search=None, extensions=(), compiled=())
