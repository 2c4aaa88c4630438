"""Keeps the files of earlier releases in a built site, for pages that are still open while the new one is deployed.

    python -m tools.keep_releases --site site --from https://example.org/book/

A deploy replaces the whole site, but a tab that was opened before asks for the files of its own release. Their names
hold hashes, so they can lie beside the new ones. `assets/live/release.json` of the published site lists them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

LIST = "assets/live/release.json"
MOST = 5
"""How many earlier releases are kept."""
TIMEOUT_S = 60
_PLAIN = re.compile(r"assets/(?:[\w.+-]+/)*[\w.+-]+")
_UPWARDS = re.compile(r"(?:^|/)\.\.?(?:/|$)")


class ReleaseError(Exception):
    """The published site cannot be read: one line that says why."""


def keep(site: Path, published: str) -> list[str]:
    """Bring what earlier releases consist of into a built site, and list them there for the next deploy.

    Args:
        site: the folder of the built site.
        published: the address of the published site, ending in a slash.

    Returns:
        The builds that are kept, newest first.

    Raises:
        ReleaseError: the list of the published site cannot be fetched, or is not such a list.
    """
    own: dict[str, Any] = json.loads((site / LIST).read_text(encoding="utf-8"))
    earlier = [one for one in _published(urljoin(published, LIST)) if one["build"] != own["build"]][:MOST]
    for release in earlier:
        for name in release["files"]:
            path = site / name
            if path.exists():
                continue
            content = _fetch(urljoin(published, name))
            # Only the oldest open pages need a file that is gone already.
            if content is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
    (site / LIST).write_text(json.dumps({**own, "kept": earlier}, sort_keys=True), encoding="utf-8")
    return [one["build"] for one in earlier]


def _published(url: str) -> list[dict[str, Any]]:
    """The release that is published and those that it keeps, newest first; none before the first deploy."""
    text = _fetch(url)
    if text is None:
        return []
    try:
        newest = json.loads(text)
        found = [{"build": one["build"], "files": one["files"]} for one in (newest, *newest.get("kept", []))]
        names = [name for one in found for name in one["files"]]
        if all(_PLAIN.fullmatch(name) and not _UPWARDS.search(name) for name in names):
            return found
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    raise ReleaseError(f"{url} is not the list of a release")


def _fetch(url: str) -> bytes | None:
    """The content at an address; None where there is nothing."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            content: bytes = answer.read()
            return content
    except urllib.error.HTTPError as error:
        if error.code == 404:
            return None
        raise ReleaseError(f"{url}: HTTP {error.code}") from error
    except OSError as error:
        raise ReleaseError(f"{url}: {error}") from error


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Keep the files of earlier releases in a built site.")
    parser.add_argument("--site", type=Path, required=True, help="the folder of the built site")
    parser.add_argument("--from", dest="published", required=True, help="the address of the published site")
    options = parser.parse_args(arguments)
    if not (options.site / LIST).is_file():
        print(f"keep_releases: {options.site} holds no {LIST}; build the site first", file=sys.stderr)
        return 2
    try:
        kept = keep(options.site, options.published.rstrip("/") + "/")
    except ReleaseError as problem:
        print(f"keep_releases: {problem}", file=sys.stderr)
        return 2
    print(f"keep_releases: kept {', '.join(kept)}" if kept else "keep_releases: there is no earlier release")
    return 0


if __name__ == "__main__":
    sys.exit(main())
