"""Compiles what a start imports of the book's library, so that no reader's browser has to.

Byte code fits one version of Python. So Pyodide compiles it, under Node.js, as it compiles the standard library once
for all books: a first start of a library of sixty modules is a fifth faster, and warm ones too.
"""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from explorable.live.build.archives import START, whole_library
from explorable.live.build.bundle import Wheel
from explorable.live.build.runner import LIVE
from explorable.live.library.bytecode import archived
from explorable.shared.cache import cached_file
from explorable.shared.errors import UnbuildableError
from explorable.shared.sums import digest

PROGRAMS = (LIVE / "library/compile.mjs", LIVE / "library/bytecode.py")
RUNTIME = tuple(f"explorable.live.runtime.{name}" for name in ("acts", "snippets", "library"))
"""What a start imports of the live runtime."""
_LIMIT_S = 300.0
"""Seconds after which compiling is given up. It takes three."""


@lru_cache(maxsize=2)
def compiled(
    wheels: tuple[Wheel, ...], names: tuple[str, ...], pyodide: Path, library: Path, cache: Path
) -> tuple[Wheel, ...]:
    """The wheels with the modules that a start imports as byte code in the place of sources.

    A server builds after each edit, and the wheels are mostly as they were: compressing them takes a fifth of a second.

    Args:
        wheels: the library's and the runtime's.
        names: modules of the library, or names in them, that a start imports; without any nothing is compiled.
        pyodide: Pyodide's npm package.
        library: the folder of the split standard library.
        cache: where the byte code is kept.

    Raises:
        UnbuildableError: Node.js is missing, or the names cannot be imported in Pyodide.
    """
    if not names:
        return wheels
    programs = [path.read_bytes() for path in (*PROGRAMS, library / START, pyodide / "package.json")]
    key = digest(*(wheel.data for wheel in wheels), *programs, *names)
    packed = cached_file(cache / f"{key}.zip", lambda: _made(wheels, names, pyodide, library))
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        ready = {name.removesuffix("c"): archive.read(name) for name in archive.namelist()}
    return tuple(replace(wheel, files=_exchanged(wheel, ready)) for wheel in wheels)


def _exchanged(wheel: Wheel, ready: Mapping[str, bytes]) -> Mapping[str, bytes]:
    return {f"{name}c" if name in ready else name: ready.get(name, content) for name, content in wheel.files.items()}


def _made(wheels: Sequence[Wheel], names: Sequence[str], pyodide: Path, library: Path) -> bytes:
    if (node := shutil.which("node")) is None:
        raise UnbuildableError("Node.js, which compiles the book's library, is missing: install version 20 or newer")
    with tempfile.TemporaryDirectory() as given:
        folder = Path(given)
        sources = {name: content for wheel in wheels for name, content in wheel.files.items()}
        (folder / "wheels.zip").write_bytes(archived(sources))
        paths = {"library": whole_library(library, folder), "archive": folder / "wheels.zip", "to": folder / "made.zip"}
        job = {"pyodide": pyodide, **paths, "names": [*RUNTIME, *names]}
        (folder / "job.json").write_text(json.dumps(job, default=str), encoding="utf-8")
        try:
            command = [node, str(PROGRAMS[0]), str(folder / "job.json")]
            ran = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            raise UnbuildableError(f"compiling the book's library was stopped after {_LIMIT_S:g} s") from None
        if ran.returncode:
            said = (ran.stderr.strip() or "Node.js ended without a word").splitlines()[-1]
            raise UnbuildableError(f"the book's library cannot be compiled for Pyodide: {said}")
        return paths["to"].read_bytes()
