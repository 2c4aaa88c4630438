"""What is done to the folder of a built site, whoever has built it: all of it, in one order.

`finish` is the only function that others need; `explorable finish SITE` calls it for a site that is there already. It
can be called again on the same folder.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from explorable.book import Book
from explorable.finish import budgets, licenses, offline, policy, prepared, releases
from explorable.manifest import Manifest
from explorable.site import Asset


def finish(site: Path, book: Book, manifest: Manifest, *, serving: bool = False) -> None:
    """Finish a site. What is wrong with it is said by warnings, a line each.

    Args:
        site: the folder of the built site.
        book: what it is a site of.
        manifest: what its host knows of it.
        serving: whether only an author looks at it, on their own machine: then nothing is governed, listed or weighed,
            because the server adds a script of its own to pages, and makes them again one by one.
    """
    if manifest.prepared:
        prepared.complete(site, manifest, manifest.prepared)
    for step in book.finish:
        step(site, manifest)
    if book.licenses:
        licenses.write(site, book.licenses, Path(manifest.root))
    if manifest.release:
        releases.write(site, manifest.release)
    if serving:
        return
    if book.scripts:
        policy.govern(site, manifest, book.scripts)
    if manifest.release:
        # Late: the list names every file as it stays.
        offline.write(site)
        budgets.weigh(site, manifest.release.started, book.module)


def publish(site: Path, assets: Iterable[Asset]) -> None:
    """Put files into a built site."""
    for asset in assets:
        put(site / asset.uri, asset.content if isinstance(asset.content, bytes) else asset.content.read_bytes())


def put(path: Path, content: bytes) -> None:
    """Write a file of a built site, readable to all as those that its host writes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
