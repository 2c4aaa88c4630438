"""The data files of a page: `files="runs.csv"` of a live fence names files beside the page, which its program opens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from explorable.shared.errors import nearest

MOST_BYTES = 1_000_000
"""Of all data files of one snippet: a reader waits for them."""
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class DataFiles:
    """The files of one snippet by name, and the one in whose place a reader may open a file of their own, or ""."""

    files: Mapping[str, bytes]
    opens: str = ""


def read(names: str, opens: str, folder: Path, docs: Path) -> DataFiles | tuple[str, str]:
    """The files that a fence names, or what is wrong with them and what to do.

    Args:
        names: paths relative to the page's folder, divided by spaces.
        opens: the file in whose place readers may open their own, by its name.
        folder: the page's folder.
        docs: the folder of all pages.
    """
    files: dict[str, bytes] = {}
    for written in names.split():
        path = (folder / written).resolve()
        if not path.is_relative_to(docs.resolve()) or not path.is_file():
            beside = [one.name for one in folder.iterdir() if one.is_file() and one.suffix != ".md"]
            return f"there is no file {written!r} beside the page", nearest(written, beside)
        if not _NAME.fullmatch(path.name):
            return f"{path.name!r} is no name for a data file", 'Write it in letters, digits, "-", "_" and points'
        if path.name in files:
            return f"two data files are called {path.name!r}", "The program opens them by this name: rename one"
        files[path.name] = path.read_bytes()
    size = sum(map(len, files.values()))
    if size > MOST_BYTES:
        return f"its data files have {size:,} bytes", f"{MOST_BYTES:,} are allowed; give a part, or a smaller format"
    if opens and opens not in files:
        return f"opens={opens!r} is no data file of the snippet", nearest(opens, files)
    return DataFiles(files, opens)
