"""Prints the content of a page with two tables, each measured on two devices, for the browser tests of their filter."""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from tests.plugins.measured.made import Site, document

_TABLE = """
/// measured | {suite}
caption: {caption}
columns:
  - {{label: Peak, path: memory.peak, unit: B, format: d}}
cases: [{cases}]
///
"""
TABLES = {"smoke": ("gpt2-nano-fp32-adam", "gpt2-nano-fp32-sgd"), "gpt2": ("gpt2-amp-bf16-adamw-b16",)}
DEVICES = ("nvidia-b200", "nvidia-h200")


def content() -> str:
    """The page as the plugin makes it, without the theme around it."""
    with tempfile.TemporaryDirectory() as folder:
        site = Site(Path(folder))
        for cases in TABLES.values():
            for case in cases:
                for device in DEVICES:
                    site.record(document(case, device=device))
        site.page("".join(_TABLE.format(suite=s, caption=s, cases=", ".join(c)) for s, c in TABLES.items()))
        return re.sub(r"<title>.*?</title>", "", site.build(), flags=re.DOTALL)


if __name__ == "__main__":
    sys.stdout.write(content())
