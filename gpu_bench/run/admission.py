"""Taking in records that another machine has measured: nothing passes but regular files that are records of our cases.

What comes from a GPU machine is a stranger's data until it is checked: a link, a configuration for git or pytest, a
page or a large file beside the records would be committed with them. One thing out of place, and nothing is taken.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from gpu_bench.cases.suites import SUITES, TINY
from gpu_bench.record.store import read_json

LARGEST = 4 * 2**20
"""Bytes of a record; the largest that the suites write are a tenth of this."""
MOST = 5_000
"""Records of one run."""
_WORDS = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_SUITE = re.compile(_WORDS)
_FILE = re.compile(rf"({_WORDS})--{_WORDS}\.json")


def admit(folder: Path) -> tuple[list[Path], list[str]]:
    """The records in a folder, `<suite>/<case>--<device>.json`, and what else is there, a line each.

    Looks at names, kinds and sizes of files, and at whether the case is one of ours. What is in a record is checked by
    whoever reads it.

    Raises:
        ValueError: When the folder is not a folder, or is a link to one.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise ValueError(f"'{folder}' is not a folder; allowed: a folder of records")
    files: list[Path] = []
    faults: list[str] = []
    for suite in _entries(folder):
        if not _SUITE.fullmatch(suite.name) or not stat.S_ISDIR(suite.stat(follow_symlinks=False).st_mode):
            faults.append(f"{suite.name!a}: not the folder of a suite")
            continue
        for entry in _entries(Path(suite.path)):
            fault = _fault(suite.name, entry)
            if fault is None:
                files.append(Path(entry.path))
            else:
                faults.append(f"{suite.name}/{entry.name!a}: {fault}")
    if len(files) > MOST:
        faults.append(f"{len(files)} records; allowed: {MOST}")
    return files, faults


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        yield from sorted(found, key=lambda entry: entry.name)


def _fault(suite: str, entry: os.DirEntry[str]) -> str | None:
    about = entry.stat(follow_symlinks=False)
    name = _FILE.fullmatch(entry.name)
    if not stat.S_ISREG(about.st_mode):
        return "not a regular file"
    if name is None:
        return "not called <case>--<device>.json"
    if about.st_size > LARGEST:
        return f"{about.st_size:,} B; allowed: {LARGEST:,} B"
    case = next((case for case in {**SUITES, **TINY}.get(suite, ()) if case.name == name[1]), None)
    if case is None:
        return "no case of this checkout"
    record = read_json(Path(entry.path))
    if record is None or record.get("case") != case.as_dict():
        return "not a record of that case as this checkout has it"
    return None
