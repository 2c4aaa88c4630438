"""Builds a site as `mkdocs build --strict` does, and keeps what the build warned of."""

from __future__ import annotations

import io
import json
import logging
import sys
from pathlib import Path

from mkdocs.commands.build import build
from mkdocs.config import load_config

# With it MkDocs hears what the parts and the book's hooks say, also in a site without the plugin.
import explorable.hosts.mkdocs.plugin  # noqa: F401


def browser_code(folder: Path) -> Path:
    """A stand-in for the bundled browser code, in a new folder: what the build adds to it is the same."""
    folder.mkdir()
    (folder / "live.js").write_text("__EXPLORABLE_RELEASE__")
    for name in ("live.css", "sw.js", "worker-abc.js"):
        (folder / name).write_text("")
    entries = {"src/live.ts": "live.js", "src/offline/keep.ts": "live.js"}
    manifest = {"entries": entries, "files": {"live.js": {"imports": []}}}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def share_bytecode(cache: Path) -> None:
    """Let the children of a build have their byte code where all tests have it.

    They keep it in the cache. In an empty one each site's children would compile NumPy and Matplotlib anew: 1 s.
    """
    cache.mkdir(parents=True, exist_ok=True)
    if not (cache / "bytecode").exists():
        (cache / "bytecode").symlink_to(sys.pycache_prefix or cache)


def build_strictly(folder: Path, warnings: list[str]) -> None:
    """Build the site in a folder; `warnings` then holds its warnings, whether it failed or not.

    Raises:
        Abort: There are warnings.
    """
    for name in ("apart", "book", "live", "measured"):
        share_bytecode(folder / ".cache" / name)
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(levelname)s %(message)s"))
    logging.getLogger("mkdocs").addHandler(handler)
    try:
        config = load_config(str(folder / "mkdocs.yml"), strict=True)
        config.plugins.on_startup(command="build", dirty=False)
        build(config)
    finally:
        logging.getLogger("mkdocs").removeHandler(handler)
        warnings[:] = [line for line in stream.getvalue().splitlines() if line.startswith("WARNING")]
