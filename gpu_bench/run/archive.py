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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from gpu_bench.machine import provenance
from gpu_bench.record import load, store
from gpu_bench.record.store import FINISHED

PARTS, COMPILED = ".parts", ".compiled"
"""Folders beside the suites: finished repeats of unfinished cases, and what the compilers have made."""
LARGEST = 2 * 2**30
"""Bytes that an archive may unpack to."""
MOST = 100_000
"""Files that an archive may hold; a week of measuring makes some thousands."""
LONGEST_NAME, LARGEST_NAMING = 400, 4096
"""Characters of a file's name, and bytes of the lines that name it before its header where it is long."""
_AT_ONCE = 2**16
"""Bytes of a file that are in memory at a time."""
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


def _found(out: Path, candidates: Iterable[Path], name: re.Pattern[str]) -> list[Path]:
    """Those that are files, no links and no devices, with such a name: `unpack` refuses an archive of others."""
    files = (file for file in candidates if file.is_file() and not file.is_symlink())
    return sorted(file for file in files if name.fullmatch(_inside(file, out)))


def pack(out: Path, archive: Path, split: int, most: int) -> Packed:
    """Pack a folder of records into `archive`, in pieces of `split` bytes (`….tar.gz.000`; 0 is one file).

    Beyond `most` bytes compiled kernels are left out. Raises `ValueError` when there is nothing to pack.
    """
    records = _found(out, out.glob("*/*.json"), _RECORD)
    parts = _found(out, (out / PARTS).rglob("*"), _PART)
    caches = _found(out, (out / COMPILED).rglob("*"), _CACHE)
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


def _extract(data: bytes, folder: Path, named: Path) -> None:
    total = 0
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            for number, (name, size) in enumerate(_files(stream)):
                total += size
                if total > LARGEST:
                    raise ValueError(f"archive '{named}' would unpack to more than {LARGEST:,} B")
                if number >= MOST:
                    raise ValueError(f"archive '{named}' holds more than {MOST:,} files")
                known = any(pattern.fullmatch(name) for pattern in (_RECORD, _PART, _CACHE))
                if not known or len(name) > LONGEST_NAME or ".." in name.split("/"):
                    raise ValueError(f"archive '{named}' holds {name[:120]!a}, which `pack` does not write")
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as file:
                    _copy(stream, file, size)
    except (tarfile.TarError, zlib.error, EOFError, OSError) as error:
        raise ValueError(f"archive '{named}' cannot be read: {str(error) or type(error).__name__}") from None


def _files(stream: io.BufferedIOBase) -> Iterator[tuple[str, int]]:
    """The name and the size of every file of an archive; whoever asks reads the file from `stream` before the next.

    `tarfile` reads only single headers here. As a whole it takes names of gigabytes, spends a time on one that grows
    with the square of its length (CVE-2024-6232, until Python 3.11.10), and keeps all that it has read.

    Raises:
        tarfile.TarError: For what is no archive, and for all but regular files and the lines that name them.
    """
    name = None
    while (header := _header(stream)) is not None:
        if header.size < 0:
            raise tarfile.ReadError(f"a file of {header.size:,} B")
        if header.type == tarfile.XHDTYPE:
            if name is not None:
                raise tarfile.ReadError("two names of one file")
            if header.size > LARGEST_NAMING:
                raise tarfile.ReadError(f"a name of {header.size:,} B; allowed: {LARGEST_NAMING:,} B")
            # Without a name among the lines it is the next header that has it.
            name = _long_name(_exactly(stream, header.size)) or ""
        elif header.type == tarfile.REGTYPE:
            yield name or header.name, header.size
            name = None
        else:
            raise tarfile.ReadError(f"{header.name[:120]!a} is of type {header.type!a}, which `pack` does not write")
        _exactly(stream, -header.size % tarfile.BLOCKSIZE)


def _header(stream: io.BufferedIOBase) -> tarfile.TarInfo | None:
    """The next header; None at the end, which an empty one marks."""
    block = stream.read(tarfile.BLOCKSIZE)
    if block == bytes(tarfile.BLOCKSIZE):
        return None
    return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")


def _long_name(lines: bytes) -> str | None:
    """The name that such lines give a file, `<length> path=<name>`; None if they say other things about it."""
    fields = (line.partition(b" ")[2] for line in lines.split(b"\n"))
    return next((one[5:].decode("utf-8", "replace") for one in fields if one.startswith(b"path=")), None)


def _exactly(stream: io.BufferedIOBase, size: int) -> bytes:
    found = stream.read(size)
    if len(found) < size:
        raise tarfile.ReadError("unexpected end of data")
    return found


def _copy(stream: io.BufferedIOBase, file: BinaryIO, size: int) -> None:
    for start in range(0, size, _AT_ONCE):
        file.write(_exactly(stream, min(_AT_ONCE, size - start)))


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
        target = _at_home(name, into)
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
    copied = 0
    for file in files:
        target = _at_home(_inside(file, folder), into)
        if _repeats(target) > _repeats(file):
            continue  # an earlier archive, brought home after a later one
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        copied += 1
    return copied


def _at_home(name: str, into: Path) -> Path:
    """Where a file of an archive belongs. Raises `ValueError` where a symbolic link leads to it."""
    target = into / name
    for path in (target, *target.parents[: len(Path(name).parts) - 1]):
        if path.is_symlink():
            raise ValueError(f"'{path}' is a symbolic link, which is not followed; put a folder or a file in its place")
    return target


def _repeats(file: Path) -> int:
    """Finished repeats that a file of an unfinished case holds; 0 for any other."""
    saved = store.read_json(file) if file.suffix == ".partial" and file.is_file() else None
    parts = (saved or {}).get("parts")
    return len(parts) if isinstance(parts, list) else 0
