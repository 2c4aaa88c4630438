"""Prints the content of a page with two tables, each measured on two devices, for the browser tests of their filter."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from book.adapter import BOOK
from explorable.book import use
from tests.explorable.measured.made import Site, document

_TABLE = """
/// measured | smoke
caption: {caption}
columns:
  - {{label: Peak, path: memory.peak, unit: B, format: d}}
cases: [{cases}]
///
"""
TABLES = ("gpt2-nano-fp32-adam", "gpt2-nano-fp32-sgd"), ("gpt2-nano-fp32-momentum",)
DEVICES = ("nvidia-b200", "nvidia-h200")


def content() -> str:
    """The page as the plugin makes it, without the theme around it."""
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder))
        for cases in TABLES:
            for case in cases:
                for device in DEVICES:
                    site.record(document(case, device=device))
        tables = (_TABLE.format(caption=f"Of {len(cases)}", cases=", ".join(cases)) for cases in TABLES)
        site.page("".join(tables))
        return re.sub(r"<title>.*?</title>", "", site.build(), flags=re.DOTALL)


if __name__ == "__main__":
    use(BOOK)
    sys.stdout.write(content())
