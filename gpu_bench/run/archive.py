"""One archive for everything that must leave a machine that will be gone: records, finished repeats, compiled kernels.

Packing puts records first. Unpacking trusts nothing: it takes regular files with the names that the runner gives them,
validates every record before it files it, and brings compiled code only when asked to.
"""

from __future__ import annotations

import gzip
import io
import re
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_bench.machine import provenance
from gpu_bench.record import load, store
from gpu_bench.record.store import FINISHED

PARTS, COMPILED = ".parts", ".compiled"
"""Folders beside the suites: finished repeats of unfinished cases, and what the compilers have made."""
LARGEST = 2 * 2**30
"""Bytes that an archive may unpack to."""
MOST = 100_000
"""Files that an archive may hold; a week of measuring makes some thousands."""
LONGEST_NAME, LARGEST_HEADER = 400, 2**20
"""Characters of a file's name, and bytes that are read at once to know it."""
_NAME = r"[a-z0-9][a-z0-9-]*"
_RECORD = re.compile(rf"{_NAME}/{_NAME}--{_NAME}\.json")
_PART = re.compile(rf"{re.escape(PARTS)}/{_NAME}/[a-z0-9][a-z0-9.-]*\.(partial|kept)")
_CACHE = re.compile(rf"{re.escape(COMPILED)}/[A-Za-z0-9_./+=-]+")


@dataclass(frozen=True)
class Packed:
    """What was packed: the files of the archive, and how many records, repeats and compiled files are in it."""

    files: tuple[Path, ...]
    records: int
    parts: int
    compiled: int
    left_out: int


def pack(out: Path, archive: Path, split: int, most: int) -> Packed:
    """Pack a folder of records into `archive`, in pieces of `split` bytes (`….tar.gz.000`; 0 is one file).

    Beyond `most` bytes compiled kernels are left out. Raises `ValueError` when there is nothing to pack.
    """
    records = sorted(file for file in out.glob("*/*.json") if _RECORD.fullmatch(_inside(file, out)))
    parts = sorted(file for file in (out / PARTS).rglob("*") if file.is_file() and _PART.fullmatch(_inside(file, out)))
    caches = sorted(file for file in (out / COMPILED).rglob("*") if file.is_file() and not file.is_symlink())
    caches = [file for file in caches if _CACHE.fullmatch(_inside(file, out))]
    if not records and not parts:
        raise ValueError(f"nothing to pack in '{out}': no record and no finished repeat")
    buffer, packed = io.BytesIO(), 0
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=6) as tar:
        for file in (*records, *parts):
            tar.add(file, _inside(file, out), recursive=False)
        for file in caches:
            if buffer.tell() > most:
                break
            tar.add(file, _inside(file, out), recursive=False)
            packed += 1
    files = _write(archive, buffer.getvalue(), split)
    return Packed(files, len(records), len(parts), packed, len(caches) - packed)


def _inside(file: Path, out: Path) -> str:
    return file.relative_to(out).as_posix()


def _write(archive: Path, data: bytes, split: int) -> tuple[Path, ...]:
    pieces = [data] if not split else [data[at : at + split] for at in range(0, len(data), split)]
    names = (
        [archive] if len(pieces) == 1 else [archive.with_name(f"{archive.name}.{i:03d}") for i in range(len(pieces))]
    )
    for number, (name, piece) in enumerate(zip(names, pieces, strict=True)):
        try:
            store.write_bytes(name, piece)
        except OSError:
            # Some pieces of an archive look like one, and are none.
            for written in names[:number]:
                written.unlink()
            raise
    return tuple(names)


@dataclass(frozen=True)
class Unpacked:
    """What became of an archive: records filed, kept because the folder had a newer one, and refused, with reasons."""

    filed: tuple[str, ...]
    kept: tuple[str, ...]
    refused: tuple[str, ...]
    parts: int
    compiled: int


def unpack(archives: Sequence[Path], into: Path, *, compiled: bool = False) -> Unpacked:
    """File what an archive, or all its pieces, holds; a record that was measured without git gets its commit here.

    Compiled kernels come only when asked for: they are programs, so only from a machine of one's own. Raises
    `ValueError` for what is not an archive, or holds something that `pack` does not write.
    """
    for archive in archives:
        if not archive.is_file():
            raise ValueError(f"archive '{archive}' does not exist; allowed: what `pack` has written")
    data = b"".join(archive.read_bytes() for archive in sorted(archives))
    with tempfile.TemporaryDirectory(prefix="gpu_bench-unpack-") as name:
        folder = Path(name)
        _extract(data, folder, archives[0])
        filed, kept, refused = _file_records(folder, into)
        refused += _without_damaged(folder)
        parts = _copied(folder, into, PARTS)
        caches = _copied(folder, into, COMPILED) if compiled else 0
    return Unpacked(tuple(filed), tuple(kept), tuple(refused), parts, caches)


class _Unzipped(gzip.GzipFile):
    """A small archive can claim a file's name of gigabytes, which `tarfile` would hold in memory."""

    def read(self, size: int | None = -1) -> bytes:
        """Read, but not more at once than a name takes."""
        if size is None or not 0 <= size <= LARGEST_HEADER:
            raise tarfile.ReadError(f"a name of {size:,} B")
        return super().read(size)


def _extract(data: bytes, folder: Path, named: Path) -> None:
    total = 0
    try:
        with _Unzipped(fileobj=io.BytesIO(data)) as stream, tarfile.open(fileobj=stream, mode="r:") as tar:
            for number, member in enumerate(tar):
                total += member.size
                # Behind a file of less than nothing the same file would come again, for ever.
                if member.size < 0:
                    raise ValueError(f"archive '{named}' holds a file of {member.size:,} B")
                if total > LARGEST:
                    raise ValueError(f"archive '{named}' would unpack to more than {LARGEST:,} B")
                if number >= MOST:
                    raise ValueError(f"archive '{named}' holds more than {MOST:,} files")
                known = any(pattern.fullmatch(member.name) for pattern in (_RECORD, _PART, _CACHE))
                known = known and len(member.name) <= LONGEST_NAME
                if not member.isreg() or not known or ".." in member.name.split("/"):
                    raise ValueError(f"archive '{named}' holds {member.name[:120]!a}, which `pack` does not write")
                target = folder / member.name
                target.parent.mkdir(parents=True, exist_ok=True)
                content = tar.extractfile(member)
                assert content is not None, "a regular file has content"
                with target.open("wb") as file:
                    shutil.copyfileobj(content, file)
    except (tarfile.TarError, zlib.error, EOFError, OSError, RecursionError) as error:
        raise ValueError(f"archive '{named}' cannot be read: {str(error) or type(error).__name__}") from None


def _file_records(folder: Path, into: Path) -> tuple[list[str], list[str], list[str]]:
    filed: list[str] = []
    kept: list[str] = []
    refused: list[str] = []
    home = provenance.git_state()
    for file in sorted(folder.glob("[a-z0-9]*/*.json")):
        name = _inside(file, folder)
        record, faults = load.read(file, folder)
        if record is None:
            refused.append(f"{name}: {faults[0]}")
            continue
        target = into / name
        earlier = load.read(target, into)[0] if target.is_file() else None
        newer = earlier is not None and earlier["provenance"]["finished"] >= record["provenance"]["finished"]
        worse = earlier is not None and record["status"] not in FINISHED and earlier["status"] in FINISHED
        if newer or worse:
            kept.append(name)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        # What the file states, not what follows from it.
        if (known := _with_commit(store.read_json(file) or {}, home)) is not None:
            store.write_json(target, known)
        else:
            shutil.copyfile(file, target)
        filed.append(name)
    return filed, kept, refused


def _with_commit(record: Mapping[str, Any], home: Mapping[str, Any]) -> dict[str, Any] | None:
    """A record that was measured where no git was, with the commit of this checkout, if it ran these very sources.

    None where it has a commit, or where the sources differ, so that this checkout cannot tell.
    """
    found = record["provenance"]
    alike = home["git_commit"] and home["dirty"] is False and found["sources"] == home["sources"]
    if found["git_commit"] is not None or not alike:
        return None
    return {**record, "provenance": {**found, "git_commit": home["git_commit"], "dirty": False}}


def _without_damaged(folder: Path) -> list[str]:
    """Remove files of finished repeats that no run has written; a line for each. A run looks at each repeat."""
    lines: list[str] = []
    for file in sorted((folder / PARTS).rglob("*.partial")):
        saved = store.read_json(file) or {}
        parts = saved.get("parts")
        whole = isinstance(saved.get("context"), dict) and isinstance(parts, list)
        if not whole or not all(isinstance(part, dict) and "status" in part for part in parts or ()):
            lines.append(f"{_inside(file, folder)}: it does not hold what a run leaves")
            file.unlink()
    return lines


def _copied(folder: Path, into: Path, part: str) -> int:
    files = [file for file in (folder / part).rglob("*") if file.is_file()]
    for file in files:
        target = into / _inside(file, folder)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    return len(files)
