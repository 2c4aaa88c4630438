"""Packs what the browser's Python loads: two wheels, and a lock file that names them and NumPy by hash.

The lock file that comes with Pyodide lists hundreds of packages, none of which this site serves. Ours lists three: the
engine and the live runtime, which are site files, and NumPy, which a reader's `import numpy` fetches from Pyodide's own
distribution. A package whose hash differs is refused by the browser.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata
from pyodide_lock import PackageSpec

import engine
from plugins.shared.child import ROOT

ON_DEMAND = ("numpy",)
"""Packages that are fetched from Pyodide's distribution when a snippet imports them."""
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
    runtime = ["plugins/__init__.py", "plugins/live/__init__.py", "plugins/live/runtime"]
    return (
        _build(root, "iron-law-engine", "engine", ["engine"]),
        _build(root, "iron-law-live", "plugins", runtime),
    )


def lock(wheels: tuple[Wheel, ...], distribution: Path) -> bytes:
    """The trimmed lock file.

    Args:
        wheels: the packages that lie beside the lock file.
        distribution: the folder of Pyodide's npm package.
    """
    original = json.loads((distribution / "pyodide-lock.json").read_text(encoding="utf-8"))
    packages = {wheel.name: _spec(wheel) for wheel in wheels}
    for name in ON_DEMAND:
        entry = original["packages"][name]
        packages[name] = {**entry, "file_name": f"{distribution_url(distribution)}{entry['file_name']}"}
    return json.dumps({"info": original["info"], "packages": packages}, indent=1, sort_keys=True).encode()


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
