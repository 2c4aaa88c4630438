"""The address of the form in which a reader reports a wrong number, filled in as far as the page knows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

FORM = "wrong-number.yml"
"""The issue form in `.github/ISSUE_TEMPLATE`; of its fields, `page`, `number`, `origin` and `version` are filled in."""


def form(repository: str, page: str, version: str) -> str:
    """The form with page and version; empty where nobody said which repository the site is built from.

    Args:
        repository: Its address on GitHub.
        page: The page's whole address.
        version: Version and build of the site.
    """
    if not repository:
        return ""
    known = {"template": FORM, "page": page, "version": version}
    return f"{repository.rstrip('/')}/issues/new?{urlencode(known)}"


def form_of(extra: Mapping[str, Any], page: str) -> str:
    """The form for a page, by the `extra` of the site's configuration: `repository`, and `release` once it is known."""
    release = extra.get("release", {})
    version = f"{release['version']}, build {release['build']}" if release else ""
    return form(extra.get("repository") or "", page, version)


def filled(address: str, number: str, origin: str) -> str:
    """An address of `form` with the number, as it is shown, and where it comes from."""
    return f"{address}&{urlencode({'number': number, 'origin': origin})}" if address else ""
