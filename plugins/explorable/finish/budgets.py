"""Checks what readers download against limits: a site that is too heavy fails the strict build."""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from explorable.figures.options import MOVING
from explorable.live.build.archives import START
from explorable.live.build.assets import BASE
from explorable.live.build.bundle import PACKED
from explorable.shared.log import logger
from explorable.shared.sums import digest

log = logger("live")

COMPRESSED = {".html", ".js", ".mjs", ".css", ".json", ".svg", ".wasm", ".xml", ".py"}
"""What a server sends compressed; archives are compressed already."""
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


def weigh(site: Path, started: Sequence[str], library: str) -> None:
    """Report what is heavier than it may be in a built site.

    Args:
        site: the built site.
        started: the programs that every page loads.
        library: the module of the book's library; "" without one.
    """
    assets = site / BASE
    scripts = sum(_sent(site / name) for name in started)
    python = [*assets.glob("worker-*.js"), *assets.glob("pyodide/*/*"), *assets.glob(f"library/*/{START}")]
    python += [*assets.glob("wheels/pyodide-lock-*.json"), *assets.glob(f"wheels/*/explorable_live-*.whl{PACKED}")]
    python += assets.glob(f"wheels/*/{library}-*.whl{PACKED}") if library else ()
    drawing = max(map(_sent, assets.glob("charts/*.json")), default=0) + sum(map(_sent, assets.glob("vega-*.js")))
    moving = sorted(site.glob(f"{MOVING}/*.json"))
    weights = [
        Weight("our scripts on a page without acts", scripts, SCRIPTS),
        Weight("Python's runtime", sum(map(_sent, python)), RUNTIME),
        Weight("a chart and what draws it", drawing, CHARTS),
        *(Weight(path.relative_to(site).as_posix(), _sent(path), PAGE) for path in sorted(site.rglob("*.html"))),
        *(Weight(f"the states of {path.stem}", _sent(path), STATES) for path in moving),
    ]
    _report(weights)


def weigh_page(name: str, html: str) -> None:
    """Report a page, which messages call `name`, if it is too heavy."""
    _report([Weight(name, len(gzip.compress(html.encode(), 6)), PAGE)])


def _report(weights: Iterable[Weight]) -> None:
    for weight in weights:
        if weight.bytes > weight.limit:
            log.warning("too heavy: %s. Readers wait for it: divide it, or print and draw less", weight)


def _sent(path: Path) -> int:
    data = path.read_bytes()
    if path.suffix not in COMPRESSED:
        return len(data)
    content = digest(data)
    # A server builds again and again, and Python's runtime stays what it was: compressing it takes a second.
    if content not in _compressed:
        _compressed[content] = len(gzip.compress(data, 6))
    return _compressed[content]


_compressed: dict[str, int] = {}
"""Bytes as sent, by the digest of what is sent."""
