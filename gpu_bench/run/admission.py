"""Taking in records that another machine has measured: nothing passes but regular files that are records of our cases.

What comes from a GPU machine is a stranger's data until it is checked: a link, a configuration for git or pytest, a
page or a large file beside the records would be committed with them. If one thing is out of place, nothing is taken. A
record has all points or runs of its case (`record/plan_checks.py`): one that lacks some would stand for the whole.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gpu_bench.cases.suites import SUITES, TINY
from gpu_bench.machine.chips import chip_of
from gpu_bench.record import load
from gpu_bench.record.plan_checks import plan_faults
from gpu_bench.run.archive import PARTS

LARGEST = 4 * 2**20
"""Bytes of a record; the largest that the suites write are a tenth of this."""
MOST = 5_000
"""Records of one run."""
MOST_UNKNOWN = 4
"""Devices of one run that nobody here knows; a machine has its processor and a kind of GPU or two."""
_WORDS = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_SUITE = re.compile(_WORDS)
_FILE = re.compile(rf"({_WORDS})--{_WORDS}\.json")


Measured = tuple[Path, dict[str, Any]]
"""A file and the record in it."""


def admit(folder: Path) -> tuple[list[Measured], list[str]]:
    """The records in a folder, `<suite>/<case>--<device>.json`, and what is wrong with everything else, a line each.

    Raises:
        ValueError: When the folder is not a folder, or is a link to one.
    """
    if folder.is_symlink() or not folder.is_dir():
        raise ValueError(f"'{folder}' is not a folder; allowed: a folder of records")
    found: list[Measured] = []
    faults: list[str] = []
    for suite in _entries(folder):
        if suite.name == PARTS:
            # Repeats of cases that a budget or a kill left unfinished: they wait for the next run.
            continue
        if not _SUITE.fullmatch(suite.name) or not stat.S_ISDIR(suite.stat(follow_symlinks=False).st_mode):
            faults.append(f"{suite.name!a}: not the folder of a suite")
            continue
        for entry in _entries(Path(suite.path)):
            record, wrong = _record(suite.name, entry, folder)
            faults += [f"{suite.name}/{entry.name!a}: {fault}" for fault in wrong]
            if record is not None:
                found.append((Path(entry.path), record))
    if len(found) > MOST:
        faults.append(f"{len(found)} records; allowed: {MOST}")
    return found, faults


def apart(found: Iterable[Measured], committed: Path) -> tuple[list[Measured], list[Measured]]:
    """Records of devices that somebody here knows, and of others.

    A device is known when the engine knows its chip, or when a committed record has its name. A name costs nothing to
    make up, and each would be a row of a page for ever.
    """
    files = load.record_files([committed]) if committed.is_dir() else []
    names = {record["device"]["name"] for file in files if (record := load.read(file, committed)[0]) is not None}
    known: list[Measured] = []
    unknown: list[Measured] = []
    for one in found:
        name = one[1]["device"]["name"]
        (known if name in names or chip_of(name) is not None else unknown).append(one)
    return known, unknown


def _entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as found:
        yield from sorted(found, key=lambda entry: entry.name)


def _record(suite: str, entry: os.DirEntry[str], folder: Path) -> tuple[dict[str, Any] | None, list[str]]:
    """The record in a file, or what is wrong: with its kind, its name and its size first, before it is read."""
    about = entry.stat(follow_symlinks=False)
    name = _FILE.fullmatch(entry.name)
    if not stat.S_ISREG(about.st_mode):
        return None, ["not a regular file"]
    if name is None:
        return None, ["not called <case>--<device>.json"]
    if about.st_size > LARGEST:
        return None, [f"{about.st_size:,} B; allowed: {LARGEST:,} B"]
    case = next((case for case in {**SUITES, **TINY}.get(suite, ()) if case.name == name[1]), None)
    if case is None:
        return None, ["no case of this checkout"]
    record, faults = load.read(Path(entry.path), folder)
    if record is None:
        return None, faults
    if record["case"] != case.as_dict():
        return None, ["not a record of that case as this checkout has it"]
    faults = list(plan_faults(case, record))
    return (None, faults) if faults else (record, [])
