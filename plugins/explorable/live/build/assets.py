"""The site files that make the page live, all under `assets/live/` and all relative to each other.

Every name holds a hash of the content, so that files of two releases never meet under one name: a page names its entry
and its style sheet, and the entry names everything else.
"""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import vl_convert

from explorable.book import current
from explorable.live.build.archives import REST, START
from explorable.live.build.bake import VEGA_LITE
from explorable.live.build.bundle import PACKED, build_wheels, later_archive, lock, pyodide_version
from explorable.live.build.compiled import compiled
from explorable.live.build.packages import Package, elsewhere
from explorable.live.build.runner import LIVE
from explorable.manifest import ReleaseFacts
from explorable.shared.cache import cached_file
from explorable.shared.errors import UnbuildableError
from explorable.shared.sums import digest, json_text
from explorable.site import Asset

BASE = "assets/live"
ENTRY, STYLE = "live.js", "live.css"
"""What a page names, as the bundler calls them."""
SERVER = "sw.js"
"""The service worker of readers who keep the book. It governs what lies beside it and below: the whole site."""
RELEASE = "__EXPLORABLE_RELEASE__"
"""The name in the entry's text in whose place the release is written: `Release` in protocol.ts."""
BOOK = "__EXPLORABLE_BOOK__"
"""The name in the service worker's text in whose place the book's id is written."""
PATIENCE_S = 20
"""Seconds of silence after which a download or a start is given up."""
PAGES = 30
"""After so many pages of one document the next is loaded in full: the theme never frees the pages it has shown."""
DIST = LIVE / "web" / "dist"
VEGA_ENTRY = LIVE / "web" / "vega-entry.js"
_IN_WHEEL = LIVE / "pyodide"
PYODIDE = _IN_WHEEL if _IN_WHEEL.is_dir() else LIVE.parents[2] / "node_modules/pyodide"
"""Pyodide's npm package: its core travels in our wheel; a checkout has the whole of it."""
WASM = "pyodide.asm.wasm"
CORE = ("pyodide.mjs", "pyodide.asm.mjs", WASM)
"""The files of Pyodide's npm package that a start needs, besides Python's standard library."""
LIBRARY = LIVE / "library" / "dist"
LATER = "later.zip"
"""The modules that the book's library keeps for later."""


@dataclass(frozen=True)
class Release:
    """The site's programs, all that does not depend on the pages.

    facts: what others have to know of it.
    python: differs whenever what the browser's Python is made of does.
    entry, style: site files that every page names.
    """

    facts: ReleaseFacts
    python: str
    entry: str
    style: str
    assets: tuple[Asset, ...]

    @property
    def named(self) -> tuple[str, ...]:
        """How every page names it: its build, and the two files."""
        return self.facts.build, Path(self.entry).name, Path(self.style).name


def collect(cache_dir: Path, dist: Path, pyodide: Path, library: Path, packages: Sequence[Package] = ()) -> Release:
    """Gather the release.

    Args:
        cache_dir: where the chart runtime and compiled modules are kept once they are made.
        dist: the bundled browser code.
        pyodide: Pyodide's npm package.
        library: the folder of the split standard library.
        packages: what snippets may import.

    Raises:
        UnbuildableError: the browser code or Pyodide is missing.
    """
    _require(dist / ENTRY, "the browser code is not built")
    for name in CORE:
        _require(pyodide / name, "Pyodide is not installed")
    for name in (START, REST):
        _require(library / name, "Python's standard library is not split")
    chunks = [path for path in sorted(dist.glob("*.js")) if path.name not in (ENTRY, SERVER)]
    vega = _chart_runtime(cache_dir)
    vega_uri = f"vega-{digest(vega)[:12]}.js"
    runtime, python = _python(cache_dir, pyodide, library, packages)
    style = (dist / STYLE).read_bytes()
    style_uri = f"live-{digest(style)[:12]}.css"
    entry = (dist / ENTRY).read_text(encoding="utf-8")
    if entry.count(RELEASE) != 1:
        raise UnbuildableError(f"{dist / ENTRY} does not name {RELEASE} once: run `npm run build`")
    book = current()
    server = (dist / SERVER).read_text(encoding="utf-8").replace(BOOK, book.id)
    parts = json_text([runtime, vega_uri, style_uri, entry, [chunk.name for chunk in chunks]])
    build = digest(parts)[:8]
    said = {
        "book": book.id,
        "ledger": _explained(book.ledger_fields()),
        "version": book.version,
        "build": build,
        "patience": PATIENCE_S,
        "pages": PAGES,
        "vega": vega_uri,
        "runtime": runtime,
    }
    entry = entry.replace(RELEASE, json_text(said))
    entry_uri = f"live-{digest(entry)[:12]}.js"
    return Release(
        ReleaseFacts(
            version=book.version,
            build=build,
            packages=runtime["packages"],
            later=runtime["later"]["modules"] if runtime["later"] else [],
            started=[f"{BASE}/{entry_uri if name == ENTRY else name}" for name in _started(dist)],
            folders=sorted({urljoin(url, ".") for needs in runtime["elsewhere"].values() for url in needs["urls"]}),
        ),
        digest(json_text(runtime))[:12],
        f"{BASE}/{entry_uri}",
        f"{BASE}/{style_uri}",
        (
            *(Asset(f"{BASE}/{chunk.name}", chunk) for chunk in chunks),
            Asset(SERVER, server.encode()),
            Asset(f"{BASE}/{vega_uri}", vega),
            Asset(f"{BASE}/{style_uri}", style),
            Asset(f"{BASE}/{entry_uri}", entry.encode()),
            *(Asset(f"{BASE}/{asset.uri}", asset.content) for asset in python),
        ),
    )


def _python(
    cache_dir: Path, pyodide: Path, library: Path, packages: Sequence[Package]
) -> tuple[dict[str, Any], list[Asset]]:
    """The manifest of Pyodide's core, the standard library, our wheels and the lock file, and these files."""
    core = f"pyodide/{pyodide_version(pyodide)}"
    files = [Asset(f"{core}/{name}", pyodide / name) for name in CORE]
    archives = {name: (library / name).read_bytes() for name in (START, REST)}
    archive_uris = {name: f"library/{digest(archive)[:16]}/{name}" for name, archive in archives.items()}
    files += [Asset(archive_uris[name], archive) for name, archive in archives.items()]
    later = later_archive()
    later_uri = f"library/{digest(later)[:16]}/{LATER}" if later else ""
    files += [Asset(later_uri, later)] if later else []
    wheels = compiled(build_wheels(), tuple(current().compiled), pyodide, library, cache_dir)
    files += [Asset(f"wheels/{wheel.path}{PACKED}", wheel.sent) for wheel in wheels]
    files += [Asset(f"wheels/{package.path}", package.wheel) for package in packages if package.wheel]
    lock_file = lock(wheels, pyodide, packages)
    lock_uri = f"wheels/pyodide-lock-{digest(lock_file)[:16]}.json"
    files.append(Asset(lock_uri, lock_file))
    sizes = {name: (pyodide / name).stat().st_size for name in CORE}
    sizes[START] = len(archives[START])
    sizes[lock_uri.rpartition("/")[2]] = len(lock_file)
    sizes |= {f"{wheel.filename}{PACKED}": len(wheel.sent) for wheel in wheels}
    manifest = {
        "engineVersion": wheels[0].version if len(wheels) > 1 else "",
        "indexURL": f"{core}/",
        "lockFileURL": lock_uri,
        "library": {"start": archive_uris[START], "rest": archive_uris[REST]},
        "later": {"archive": later_uri, "modules": sorted(current().later)} if later else None,
        "packages": [wheel.name for wheel in wheels],
        # The largest first: it is compiled while the others arrive.
        "first": [
            f"{core}/{WASM}",
            archive_uris[START],
            lock_uri,
            *(f"wheels/{wheel.path}{PACKED}" for wheel in wheels),
        ],
        "sizes": sizes,
        "elsewhere": elsewhere(packages),
    }
    return manifest, files


def _started(dist: Path) -> list[str]:
    """The files of the bundle that every page loads: two programs and all that they import at once."""
    bundle = json.loads((dist / "manifest.json").read_text(encoding="utf-8"))
    found = [bundle["entries"][entry] for entry in ("src/live.ts", "src/offline/keep.ts")]
    for name in found:
        found += [one for one in bundle["files"][name]["imports"] if one not in found]
    return list(dict.fromkeys(found))


def _explained(value: Any) -> Any:
    """The ledger's fields without what explains them to people: a browser only decides by them."""
    if isinstance(value, dict):
        return {key: _explained(one) for key, one in value.items() if key != "description" or not isinstance(one, str)}
    return [_explained(one) for one in value] if isinstance(value, list) else value


def _chart_runtime(cache_dir: Path) -> bytes:
    """Vega as one ES module, of exactly the version that compiled the charts."""
    entry = VEGA_ENTRY.read_text(encoding="utf-8").replace("VEGA_VERSION", vl_convert.get_vega_version())
    key = digest(entry, importlib.metadata.version("vl-convert-python"), VEGA_LITE)
    return cached_file(cache_dir / f"vega-{key}.js", lambda: vl_convert.javascript_bundle(entry, VEGA_LITE).encode())


def _require(path: Path, problem: str) -> None:
    if not path.is_file():
        raise UnbuildableError(f"{problem} ({path} is missing): run `make setup`")
