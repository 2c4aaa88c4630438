"""Archives of the page's Python as programs under Node.js read them: unpacked, the standard library in one piece."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from pathlib import Path

from explorable.live.build.bundle import PACKED

START, REST = f"python_start.zip{PACKED}", "python_rest.zip"
"""What `library/split.mjs` makes of the standard library: byte code of what starts import, and sources of the rest."""


def unpacked(path: Path) -> bytes:
    """The bytes of an archive. Raises `ValueError` where a packed one is cut or is none."""
    data = path.read_bytes()
    try:
        return gzip.decompress(data) if path.suffix == PACKED else data
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{path.name}: {error}") from None


def whole_library(library: Path, folder: Path) -> Path:
    """Put the standard library, which a site has in two archives, into a folder as one."""
    whole = folder / "python_stdlib.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        for part in (START, REST):
            with zipfile.ZipFile(io.BytesIO(unpacked(library / part))) as half:
                for name in half.namelist():
                    archive.writestr(name, half.read(name))
    return whole
