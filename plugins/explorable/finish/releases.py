"""What a release consists of: a later deploy keeps these files for the pages that are still open."""

from __future__ import annotations

from pathlib import Path

from explorable.figures.options import MOVING
from explorable.live.build.assets import BASE
from explorable.manifest import ReleaseFacts
from explorable.shared.sums import json_text

RELEASE, ACTS = f"{BASE}/release.json", f"{BASE}/acts.json"
"""The browser always fetches these two anew: they say what the site has now."""


def write(site: Path, release: ReleaseFacts) -> None:
    """Write the list for a built site."""
    found = (path for folder in (BASE, MOVING) for path in (site / folder).rglob("*") if path.is_file())
    files = sorted({path.relative_to(site).as_posix() for path in found} - {RELEASE, ACTS})
    contents = {
        "version": release.version,
        "build": release.build,
        "packages": [*release.packages],
        "later": [*release.later],
        "files": files,
    }
    (site / RELEASE).write_text(json_text(contents), encoding="utf-8")
