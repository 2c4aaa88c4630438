"""The wheel that runs a downloaded notebook: the engine, the measurements with their records, and what they need."""

from __future__ import annotations

import tempfile
import tomllib
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder
from hatchling.metadata.core import ProjectMetadata

import ironlaw
from explorable.book import Wheel
from explorable.shared.cache import cached_file, digest, fingerprint

PACKAGES = ("engine/ironlaw", "gpu_bench")
FILE = f"iron_law_notebooks-{ironlaw.__version__}-py3-none-any.whl"


def wheel(root: Path, cache: Path) -> bytes:
    """The wheel's bytes; built when a package or what it depends on changed. Equal sources give equal bytes.

    Args:
        root: The folder of the packages and of `pyproject.toml`, whose extra `notebooks` lists the dependencies.
        cache: Where it is kept.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needs = project["optional-dependencies"]["notebooks"]
    key = digest(FILE, *needs, fingerprint([root / name for name in PACKAGES]))
    return cached_file(cache / f"{key}.whl", lambda: _built(root, needs))


def _built(root: Path, needs: list[str]) -> bytes:
    described = {"name": "iron-law-notebooks", "version": ironlaw.__version__, "requires-python": ">=3.11"}
    config = {
        "project": {**described, "dependencies": needs},
        "tool": {"hatch": {"build": {"targets": {"wheel": {"only-include": list(PACKAGES), "sources": ["engine"]}}}}},
    }
    builder = WheelBuilder(str(root), config=config, metadata=ProjectMetadata(str(root), None, config))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(next(iter(builder.build(directory=folder, versions=["standard"]))))
        assert path.name == FILE
        return path.read_bytes()


WHEEL = Wheel(FILE, "One install brings the engine, the records and Jupyter.", wheel)
