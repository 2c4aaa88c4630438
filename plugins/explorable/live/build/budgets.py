"""Checks what readers download against limits: a site that is too heavy fails the strict build."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from explorable.book import current

COMPRESSED = {".html", ".js", ".mjs", ".css", ".json", ".svg", ".wasm", ".xml", ".py"}
"""What a server sends compressed; archives are compressed already."""
MOVING = "assets/book/figures"
"""Where the states of moving figures are, under the site's root."""
SCRIPTS = 15_000
RUNTIME = 5_000_000
CHARTS = 320_000
PAGE = 120_000
STATES = 60_000


@dataclass(frozen=True)
class Weight:
    """Bytes that a reader downloads, as sent, and the most that they may be."""

    what: str
    bytes: int
    limit: int

    def __str__(self) -> str:
        return f"{self.what}: {self.bytes:,} bytes as sent, and the limit is {self.limit:,}"


def weigh(site: Path, assets: Path, dist: Path) -> list[Weight]:
    """The weights of a built site.

    Args:
        site: the built site.
        assets: its folder of the programs.
        dist: the bundled browser code, with its manifest.
    """
    bundle = json.loads((dist / "manifest.json").read_text(encoding="utf-8"))
    started = _with_imports(("src/live.ts", "src/offline/keep.ts"), bundle)
    [entry] = assets.glob("live-*.js")
    scripts = sum(_sent(entry if name == "live.js" else assets / name) for name in started)
    python = [*assets.glob("worker-*.js"), *assets.glob("pyodide/*/*"), *assets.glob("library/*/python_start.zip")]
    python += [*assets.glob("wheels/pyodide-lock-*.json"), *assets.glob("wheels/*/explorable_live-*.whl")]
    if current().module:
        python += assets.glob(f"wheels/*/{current().module}-*.whl")
    drawing = max(map(_sent, assets.glob("charts/*.json")), default=0) + sum(map(_sent, assets.glob("vega-*.js")))
    moving = sorted(site.glob(f"{MOVING}/*.json"))
    return [
        Weight("our scripts on a page without acts", scripts, SCRIPTS),
        Weight("Python's runtime", sum(map(_sent, python)), RUNTIME),
        Weight("a chart and what draws it", drawing, CHARTS),
        *(Weight(path.relative_to(site).as_posix(), _sent(path), PAGE) for path in sorted(site.rglob("*.html"))),
        *(Weight(f"the states of {path.stem}", _sent(path), STATES) for path in moving),
    ]


def page(name: str, html: str) -> Weight:
    """The weight of one page, which messages call `name`."""
    return Weight(name, len(gzip.compress(html.encode(), 6)), PAGE)


def _with_imports(entries: Iterable[str], bundle: dict[str, dict[str, dict[str, list[str]]]]) -> set[str]:
    """The files of these entries, and all that they import at once."""
    waiting = [str(bundle["entries"][entry]) for entry in entries]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += bundle["files"][name]["imports"]
    return found


def _sent(path: Path) -> int:
    data = path.read_bytes()
    return len(gzip.compress(data, 6)) if path.suffix in COMPRESSED else len(data)
