"""Puts into the wheel what an author would need Node.js for: the browser code, Pyodide's core, the split library."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CORE = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json", "package.json")
_LICENSE = re.compile(r"licen[cs]e|copying|notice", re.IGNORECASE)


class Built(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the built files to a wheel; an editable installation finds them in the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add them. Raises `SystemExit` with one line if they are not built."""
        if version == "editable":
            return
        root = Path(self.root)
        live, modules = root / "explorable/live", root.parent / "node_modules"
        sources = {live / folder: f"explorable/live/{folder}" for folder in ("web/dist", "library/dist")}
        sources |= {modules / "pyodide" / name: f"explorable/live/pyodide/{name}" for name in CORE}
        for source in sources:
            if not source.exists():
                raise SystemExit(f"explorable: {source} is missing; run `make setup` before the wheel is built")
        build_data["force_include"] |= {str(source): place for source, place in sources.items()}
        texts = root / "build/npm.txt"
        texts.parent.mkdir(exist_ok=True)
        texts.write_text(_licenses(live / "web/dist/manifest.json", modules), encoding="utf-8")
        build_data["force_include"][str(texts)] = "explorable/licenses/npm.txt"


def _licenses(manifest: Path, modules: Path) -> str:
    """The licenses of the packages that the bundler put into the browser code."""
    parts = []
    for name in json.loads(manifest.read_text(encoding="utf-8"))["packages"]:
        about = json.loads((modules / name / "package.json").read_text(encoding="utf-8"))
        texts = [path for path in sorted((modules / name).iterdir()) if _LICENSE.search(path.name)]
        bodies = [path.read_text(encoding="utf-8") for path in texts if path.is_file()]
        parts.append("\n\n".join([f"{name} {about['version']} ({about['license']})", *bodies]))
    return f"\n\n{'=' * 78}\n".join(parts) + "\n"
