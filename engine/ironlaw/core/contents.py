"""Files that somebody names: whole up to a limit, or their end.

A device such as `/dev/zero` ends nowhere, and a pipe is waited for.
"""

from __future__ import annotations

import os
import stat

LARGEST = 16 * 2**20
"""Bytes of a file that is read, where nothing else is said."""


class NoFileError(OSError):
    """A device, a pipe or a socket stands where a file is read."""

    def __init__(self) -> None:
        super().__init__(None, "it is no regular file")


class TooLargeError(ValueError):
    """A file holds more than is read of it."""


def content(path: str | os.PathLike[str], most: int = LARGEST) -> bytes:
    """All bytes of a file.

    Args:
        path: The file.
        most: Bytes that it may hold.

    Raises:
        OSError: It cannot be read, or is no regular file.
        TooLargeError: It holds more.
    """
    require_regular(path)
    with open(path, "rb") as file:  # noqa: PTH123  # pathlib would take longer to import than most files to read
        found = file.read(most + 1)
    if len(found) > most:
        raise TooLargeError(f"more than {most:,} B")
    return found


def ending(path: str | os.PathLike[str], most: int = LARGEST) -> bytes:
    """The last bytes of a regular file.

    Args:
        path: The file.
        most: Bytes that are read.

    Raises:
        OSError: It cannot be read, or is no regular file.
    """
    require_regular(path)
    with open(path, "rb") as file:  # noqa: PTH123
        file.seek(0, os.SEEK_END)
        file.seek(max(file.tell() - most, 0))
        return file.read(most)


def require_regular(path: str | os.PathLike[str]) -> None:
    """Raise `NoFileError` for what can be read and is no file, before it is opened: that may wait for ever.

    Raises:
        OSError: There is nothing.
    """
    mode = os.stat(path).st_mode  # noqa: PTH116
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise NoFileError
