"""Packs what the browser's Python loads: two wheels, and a lock file that names every package by hash.

The lock file that comes with Pyodide lists hundreds of packages. Ours lists the engine and the live runtime, which a
start loads, and the `packages` of mkdocs.yml, which an import loads. A package whose hash differs is refused by the
browser.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata
from pyodide_lock import PackageSpec

import engine
from plugins.live.build.packages import Package
from plugins.shared.child import ROOT

LOCK_FILE = "pyodide-lock.json"
"""What Pyodide's npm package calls the list of all packages of its distribution."""
VERSION = engine.__version__
"""What the wheels call themselves. The reader's ledger shows it; the wheels are addressed by hash."""


@dataclass(frozen=True)
class Wheel:
    """A pure Python wheel: the distribution's name, its top-level module, its file name and its bytes."""

    name: str
    module: str
    filename: str
    data: bytes

    @property
    def sha256(self) -> str:
        """The hash under which the lock file lists it."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def version(self) -> str:
        """The version with a fingerprint of the content: what a reader's ledger names as its engine."""
        return f"{VERSION}+{self.sha256[:8]}"

    @property
    def path(self) -> str:
        """Where it lies beside the lock file: in a folder of its own, so that new content has a new address."""
        return f"{self.sha256[:16]}/{self.filename}"


def build_wheels(root: Path = ROOT) -> tuple[Wheel, Wheel]:
    """Build the wheels of the engine and of the live runtime. Equal sources give equal bytes."""
    runtime = ["plugins/__init__.py", "plugins/live/__init__.py", "plugins/live/runtime", "docs/lab/ledger.schema.json"]
    return (
        _build(root, "iron-law-engine", "engine", ["engine"]),
        _build(root, "iron-law-live", "plugins", runtime),
    )


def lock(wheels: tuple[Wheel, ...], distribution: Path, packages: Sequence[Package] = ()) -> bytes:
    """The site's lock file.

    Args:
        wheels: what every start loads; they lie beside the lock file.
        distribution: the folder of Pyodide's npm package.
        packages: what a snippet may import.
    """
    original = json.loads((distribution / LOCK_FILE).read_text(encoding="utf-8"))
    listed = {package.name: package.locked for package in packages} | {wheel.name: _spec(wheel) for wheel in wheels}
    return json.dumps({"info": original["info"], "packages": listed}, indent=1, sort_keys=True).encode()


def pyodide_version(distribution: Path) -> str:
    """The version of the installed npm package."""
    return str(json.loads((distribution / "package.json").read_text(encoding="utf-8"))["version"])


def distribution_url(distribution: Path) -> str:
    """Where Pyodide serves the packages of this version."""
    return f"https://cdn.jsdelivr.net/pyodide/v{pyodide_version(distribution)}/full/"


def _spec(wheel: Wheel) -> dict[str, Any]:
    spec = PackageSpec(
        name=wheel.name,
        version=VERSION,
        file_name=wheel.path,
        install_dir="site",
        sha256=wheel.sha256,
        package_type="package",
        imports=[wheel.module],
    )
    return spec.model_dump()


def _build(root: Path, name: str, module: str, include: list[str]) -> Wheel:
    config = {
        "project": {"name": name, "version": VERSION, "requires-python": ">=3.11"},
        "tool": {"hatch": {"build": {"targets": {"wheel": {"only-include": include}}}}},
    }
    builder = WheelBuilder(str(root), config=config, metadata=ProjectMetadata(str(root), None, config))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(next(iter(builder.build(directory=folder, versions=["standard"]))))
        return Wheel(name, module, path.name, path.read_bytes())
