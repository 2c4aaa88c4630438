"""The site files that make the page live, all under `assets/live/` and all relative to each other."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import vl_convert
from mkdocs.exceptions import PluginError

from plugins.live.bake import VEGA_LITE
from plugins.live.bundle import build_wheels, lock, pyodide_version
from plugins.live.packages import Package, elsewhere
from plugins.shared.cache import cached_file, digest
from plugins.shared.child import ROOT

BASE = "assets/live"
MANIFEST = f"{BASE}/runtime.json"
"""What the browser's Python is made of: it changes whenever the engine or the live runtime does."""
DIST = Path(__file__).parent / "web" / "dist"
VEGA_ENTRY = Path(__file__).parent / "web" / "vega-entry.js"
PYODIDE = ROOT / "node_modules" / "pyodide"
CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm")
"""The files of Pyodide's npm package that a start needs, besides Python's standard library."""
LIBRARY = Path(__file__).parent / "library" / "dist"
START, REST = "python_start.zip", "python_rest.zip"
"""What `library/split.mjs` makes of the standard library: byte code of what starts import, and sources of the rest."""


@dataclass(frozen=True)
class Asset:
    """A site file: where it goes, and either its content or the file it is a copy of."""

    uri: str
    content: bytes | Path


def collect(
    cache_dir: Path, dist: Path, pyodide: Path, library: Path, packages: Sequence[Package] = ()
) -> Iterator[Asset]:
    """Every asset that does not depend on the pages.

    Args:
        cache_dir: where the chart runtime is kept once it is bundled.
        dist: the bundled browser code.
        pyodide: Pyodide's npm package.
        library: the folder of the split standard library.
        packages: what snippets may import.

    Raises:
        PluginError: the browser code or Pyodide is missing.
    """
    _require(dist / "live.js", "the browser code is not built")
    for name in CORE:
        _require(pyodide / name, "Pyodide is not installed")
    for name in (START, REST):
        _require(library / name, "Python's standard library is not split")
    for path in sorted(dist.rglob("*")):
        if path.is_file():
            yield Asset(f"{BASE}/{path.relative_to(dist).as_posix()}", path)
    yield Asset(f"{BASE}/vega.js", _chart_runtime(cache_dir))
    yield from _python(pyodide, library, packages)


def _python(pyodide: Path, library: Path, packages: Sequence[Package]) -> Iterator[Asset]:
    """Pyodide's core, the standard library, our wheels, the lock file and the manifest that leads to them."""
    core = f"pyodide/{pyodide_version(pyodide)}"
    for name in CORE:
        yield Asset(f"{BASE}/{core}/{name}", pyodide / name)
    archives = {name: (library / name).read_bytes() for name in (START, REST)}
    archive_uris = {name: f"library/{digest(archive)[:16]}/{name}" for name, archive in archives.items()}
    for name, archive in archives.items():
        yield Asset(f"{BASE}/{archive_uris[name]}", archive)
    wheels = build_wheels()
    for wheel in wheels:
        yield Asset(f"{BASE}/wheels/{wheel.path}", wheel.data)
    for package in packages:
        if package.wheel:
            yield Asset(f"{BASE}/wheels/{package.path}", package.wheel)
    lock_file = lock(wheels, pyodide, packages)
    lock_uri = f"wheels/pyodide-lock-{digest(lock_file)[:16]}.json"
    yield Asset(f"{BASE}/{lock_uri}", lock_file)
    sizes = {name: (pyodide / name).stat().st_size for name in CORE}
    sizes[START] = len(archives[START])
    sizes[lock_uri.rpartition("/")[2]] = len(lock_file)
    sizes |= {wheel.filename: len(wheel.data) for wheel in wheels}
    manifest = {
        "engineVersion": wheels[0].version,
        "pyodideVersion": pyodide_version(pyodide),
        "indexURL": f"{core}/",
        "lockFileURL": lock_uri,
        "library": {"start": archive_uris[START], "rest": archive_uris[REST]},
        "packages": [wheel.name for wheel in wheels],
        "sizes": sizes,
        "elsewhere": elsewhere(packages),
    }
    yield Asset(MANIFEST, json.dumps(manifest, indent=1, sort_keys=True).encode())


def _chart_runtime(cache_dir: Path) -> bytes:
    """Vega as one ES module, of exactly the version that compiled the charts."""
    entry = VEGA_ENTRY.read_text(encoding="utf-8").replace("VEGA_VERSION", vl_convert.get_vega_version())
    key = digest(entry, importlib.metadata.version("vl-convert-python"), VEGA_LITE)
    return cached_file(cache_dir / f"vega-{key}.js", lambda: vl_convert.javascript_bundle(entry, VEGA_LITE).encode())


def _require(path: Path, problem: str) -> None:
    if not path.is_file():
        raise PluginError(f"{problem} ({path} is missing): run `make setup`")
