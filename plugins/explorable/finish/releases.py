"""What a release consists of: a later deploy keeps these files for the pages that are still open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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


def carry(pages: Iterable[Path], before: Sequence[str], now: Sequence[str]) -> None:
    """Let pages that a server did not build again name the release that it serves now.

    Args:
        pages: their HTML.
        before: how they name the release, as `Release.named` says it.
        now: the same of the release that is served now.
    """
    named = [(old, new) for old, new in zip(before, now, strict=False) if old != new]
    for page in pages if named else ():
        if page.is_file():
            text = page.read_text(encoding="utf-8")
            for old, new in named:
                text = text.replace(old, new)
            page.write_text(text, encoding="utf-8")
