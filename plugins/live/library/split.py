"""Splits Python's standard library into what every start imports, compiled, and the rest, as it came.

Pyodide ships the library as one archive of sources, so every start compiles a hundred and forty modules, which takes
longer than everything else it does. Byte code fits one version of Python only: that version, Pyodide, runs this file.
"""

import io
import py_compile
import sys
import tempfile
import zipfile
from pathlib import Path

EMPTY_WHEEL = {
    "nothing.py": b"",
    "nothing-1.dist-info/METADATA": b"Metadata-Version: 2.1\nName: nothing\nVersion: 1\n",
    "nothing-1.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "nothing-1.dist-info/RECORD": b"",
}
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every entry: equal sources give equal archives."""


def split(archive: str) -> tuple[bytes, bytes]:
    """Split the library by what this interpreter has imported from it so far.

    Args:
        archive: path of the library's archive, from which modules are imported here.

    Returns:
        Two archives: the imported modules as byte code, docstrings and assertions included, and the sources of all
        others. Byte code is never compared with its source, which the first archive does not hold.
    """
    with zipfile.ZipFile(archive) as library:
        files = {entry.filename: library.read(entry) for entry in library.infolist() if not entry.is_dir()}
    started = _imported_from(archive)
    start = {f"{name}c": _compiled(files[name], f"{archive}/{name}") for name in sorted(started)}
    rest = {name: content for name, content in sorted(files.items()) if name not in started}
    return _packed(start), _packed(rest)


def empty_wheel() -> bytes:
    """A wheel of an empty module: installing it imports what installing any wheel does."""
    return _packed(EMPTY_WHEEL)


def _imported_from(archive: str) -> set[str]:
    """The names, in the archive, of the modules that were imported from it. Frozen modules were not."""
    origins = {getattr(module.__spec__, "origin", None) for module in list(sys.modules.values()) if module}
    prefix = f"{archive}/"
    return {origin.removeprefix(prefix) for origin in origins if origin and origin.startswith(prefix)}


def _compiled(source: bytes, shown: str) -> bytes:
    """The byte code of a module; `shown` is the path that its tracebacks name."""
    with tempfile.TemporaryDirectory() as folder:
        written, compiled = Path(folder, "module.py"), Path(folder, "module.pyc")
        written.write_bytes(source)
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(str(written), str(compiled), shown, doraise=True, optimize=0, invalidation_mode=unchecked)
        return compiled.read_bytes()


def _packed(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, EPOCH)
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, compresslevel=9)
    return buffer.getvalue()
