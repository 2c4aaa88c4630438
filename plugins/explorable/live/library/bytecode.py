"""Compiles what starts import: of Python's standard library, of which the rest stays as it came, and of wheels.

Pyodide ships the library as one archive of sources, and wheels hold sources too, so every start compiled two hundred
modules, which took longer than everything else it does. Byte code fits one version of Python only: that version,
Pyodide, runs this file. The build packs by it too, so it imports nothing of this toolkit.
"""

import ast
import importlib.util
import io
import marshal
import pkgutil
import sys
import types
import zipfile
import zlib
from collections.abc import Iterable, Mapping

EMPTY_WHEEL = {
    "nothing.py": b"",
    "nothing-1.dist-info/METADATA": b"Metadata-Version: 2.1\nName: nothing\nVersion: 1\n",
    "nothing-1.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "nothing-1.dist-info/RECORD": b"",
}
EPOCH = (1980, 1, 1, 0, 0, 0)
"""The date of every entry: equal sources give equal archives."""
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
GZIP = 31
"""What zlib calls the format of gzip with the longest memory. It writes no date."""
UNCHECKED = 0b01
"""The flag of byte code that names its source by a hash, which nobody compares."""
SAME_LINE = 0x80 | 13 << 3
"""An entry in CPython's table of lines (`Objects/locations.md` there) that knows no column."""


def split(archive: str) -> tuple[bytes, bytes]:
    """Split the library by what this interpreter has imported from it so far.

    Args:
        archive: path of the library's archive, from which modules are imported here.

    Returns:
        Two archives: the imported modules as byte code, with assertions and without docstrings and places, packed as
        one, and the sources of all others. Byte code is never compared with its source, which the first archive does
        not hold.
    """
    with zipfile.ZipFile(archive) as library:
        files = {entry.filename: library.read(entry) for entry in library.infolist() if not entry.is_dir()}
    started = _imported_from(archive)
    start = {f"{name}c": _compiled(files[name], f"{archive}/{name}", documented=False) for name in sorted(started)}
    rest = {name: content for name, content in sorted(files.items()) if name not in started}
    return packed_as_one(start), packed(rest)


def empty_wheel() -> bytes:
    """A wheel of an empty module: installing it imports what installing any wheel does."""
    return packed(EMPTY_WHEEL)


def compile_imported(archive: str, folder: str, names: Iterable[str]) -> bytes:
    """Import names from the files of an archive, and compile the modules that this has loaded.

    Args:
        archive: path of an archive with the files of all wheels, as they lie in `site-packages`.
        folder: `site-packages`.
        names: modules, or names in modules.

    Returns:
        An archive with the byte code of these modules, with what docstrings they have and without places.
    """
    with zipfile.ZipFile(archive) as wheels:
        wheels.extractall(folder)
        for name in names:
            pkgutil.resolve_name(name)
        started = sorted(_imported_from(folder) & {*wheels.namelist()})
        return packed({
            f"{name}c": _compiled(wheels.read(name), f"{folder}/{name}", documented=True) for name in started
        })  # fmt: skip


def _imported_from(place: str) -> set[str]:
    """The files, in an archive or a folder, of the modules that were imported from it. Frozen modules were not."""
    origins = {getattr(module.__spec__, "origin", None) for module in list(sys.modules.values()) if module}
    prefix = f"{place}/"
    return {origin.removeprefix(prefix) for origin in origins if origin and origin.startswith(prefix)}


def _compiled(source: bytes, shown: str, *, documented: bool) -> bytes:
    """A module as byte code, without places.

    Args:
        source: the module's file.
        shown: the path that its tracebacks name.
        documented: whether it keeps its docstrings.
    """
    tree = ast.parse(source)
    if not documented:
        _strip_docstrings(tree)
    code = _without_places(compile(tree, shown, "exec", dont_inherit=True, optimize=0))
    header = importlib.util.MAGIC_NUMBER + UNCHECKED.to_bytes(4, "little") + bytes(8)
    return header + marshal.dumps(code)


def packed(files: Mapping[str, bytes]) -> bytes:
    """An archive whose entries are compressed one by one, so that Python can import from it."""
    return archived(files, zipfile.ZIP_DEFLATED)


def packed_as_one(files: Mapping[str, bytes]) -> bytes:
    """An archive that is compressed as a whole: a fifth smaller, and a browser has to unpack it first."""
    packer = zlib.compressobj(9, wbits=GZIP)
    return packer.compress(archived(files)) + packer.flush()


def archived(files: Mapping[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    """An archive. Equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, EPOCH), content, method, compresslevel=9)
    return buffer.getvalue()


def _strip_docstrings(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            place = node.body[0]
            # A body must not be empty.
            node.body[:1] = [] if len(node.body) > 1 else [ast.copy_location(ast.Pass(), place)]


def _without_places(code: types.CodeType) -> types.CodeType:
    """The code with every instruction on its function's first line.

    Which line and column each comes from is a third of the compressed byte code, and readers see only their own lines.
    An entry of the table is one byte, of which the last three bits count up to eight instructions, and the lines to the
    one before: none.
    """
    inner = tuple(_without_places(one) if isinstance(one, types.CodeType) else one for one in code.co_consts)
    whole, rest = divmod(len(code.co_code) // 2, 8)
    table = bytes([SAME_LINE | 7, 0]) * whole + (bytes([SAME_LINE | rest - 1, 0]) if rest else b"")
    return code.replace(co_consts=inner, co_linetable=table)
