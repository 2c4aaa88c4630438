"""The packages that a reader's code may import: the wheels that Pyodide's lock file names, served by the site itself.

The build fetches each wheel once, keeps it by its hash and refuses one whose hash differs. Where the build has no
network, the lock file of the site keeps the wheel's foreign address, and the page asks the reader before it goes there.
"""

from __future__ import annotations

import hashlib
import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from explorable.shared.cache import cached_file
from explorable.shared.errors import UnbuildableError
from explorable.shared.log import logger

log = logger("live")

TIMEOUT_S = 20
"""How long a host may stay silent."""


@dataclass(frozen=True)
class Package:
    """A package that snippets may import.

    name: as the lock file calls it. entry: what the lock file says of it. url: where its wheel lies.
    wheel: its wheel; None when it could not be fetched.
    """

    name: str
    entry: Mapping[str, Any]
    url: str
    wheel: bytes | None = field(repr=False)

    @property
    def path(self) -> str:
        """Where the site keeps the wheel, beside its lock file."""
        return f"{self.entry['sha256'][:16]}/{self.entry['file_name'].rpartition('/')[2]}"

    @property
    def locked(self) -> dict[str, Any]:
        """The package's entry in the site's lock file, with the site's copy of the wheel or the foreign address."""
        return {**self.entry, "file_name": self.path if self.wheel else self.url}


def collect(names: Sequence[str], lock_file: Path, base_url: str, folder: Path) -> list[Package]:
    """The packages of these names and all they depend on, with their wheels as far as the network gives them.

    Args:
        names: as `packages` in mkdocs.yml has them.
        lock_file: a Pyodide lock file.
        base_url: where the files lie that the lock file names without an address.
        folder: where fetched wheels are kept.

    Raises:
        UnbuildableError: there is no lock file, a name is not in it, or a wheel's hash differs from it.
    """
    if not names:
        return []
    if not lock_file.is_file():
        raise UnbuildableError(f"packages_lock: there is no {lock_file}")
    entries = json.loads(lock_file.read_text(encoding="utf-8"))["packages"]
    packages: list[Package] = []
    silent: set[str] = set()
    for name in _closure(names, entries):
        url = urljoin(base_url, entries[name]["file_name"])
        host = urlsplit(url).netloc
        try:
            wheel = _fetched(url, entries[name]["sha256"], folder, silent=host in silent)
        except OSError as error:
            wheel = None
            if host not in silent:
                log.info("%s gives no wheels (%s): a reader is asked before a page goes there", host, _reason(error))
            silent.add(host)
        packages.append(Package(name, entries[name], url, wheel))
    return packages


def elsewhere(packages: Sequence[Package]) -> dict[str, Any]:
    """Module name -> what importing it downloads from other hosts, for which the page asks first.

    For each: the packages, the hosts, the addresses.
    """
    entries = {package.name: package for package in packages}
    found: dict[str, Any] = {}
    for package in packages:
        needed = _closure([package.name], {name: one.entry for name, one in entries.items()})
        foreign = [entries[name] for name in needed if entries[name].wheel is None]
        if foreign:
            urls = sorted({one.url for one in foreign})
            hosts = sorted({urlsplit(url).netloc for url in urls})
            answer = {"packages": sorted(one.name for one in foreign), "hosts": hosts, "urls": urls}
            found |= dict.fromkeys(package.entry["imports"], answer)
    return found


def _closure(names: Sequence[str], entries: Mapping[str, Any]) -> Iterator[str]:
    """The names and what they depend on, each once."""
    seen: set[str] = set()
    waiting = [*names]
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        if name not in entries:
            raise UnbuildableError(f"packages: {name!r} is not in the lock file, which has {len(entries)} packages")
        seen.add(name)
        yield name
        waiting.extend(entries[name]["depends"])


def _fetched(url: str, sha256: str, folder: Path, *, silent: bool) -> bytes:
    """The wheel from the folder, or from the network unless its host was `silent` before.

    Raises:
        OSError: the network gives nothing.
        UnbuildableError: the network gives something else.
    """

    def fetch() -> bytes:
        if silent:
            raise TimeoutError
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as response:
            data: bytes = response.read()
        found = hashlib.sha256(data).hexdigest()
        if found != sha256:
            raise UnbuildableError(f"packages: {url} has the hash {found}, and the lock file says {sha256}")
        return data

    return cached_file(folder / f"{sha256}.whl", fetch)


def _reason(error: OSError) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code}"
    cause = error.reason if isinstance(error, urllib.error.URLError) else error
    return "no answer" if isinstance(cause, socket.timeout) else str(cause)
