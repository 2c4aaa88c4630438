"""The scripts of a built page: those that `scripts.toml` lists and the files that the build names, and nothing else."""

from __future__ import annotations

import base64
import hashlib
import re
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit

_SCRIPT = re.compile(r"<script\b(?P<attributes>[^>]*)>(?P<text>.*?)(?:</script\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_ADDRESS = re.compile(r"""\bsrc\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'|(?P<bare>[^\s>]+))""", re.IGNORECASE)
_DATA = re.compile(r"""\btype\s*=\s*["']?application/json["'\s>]""", re.IGNORECASE)
_BASE = re.compile(r'new URL\("(?:\.|(?:\.\./)*\.\.|/[\w./-]*)",location\)')
# The theme closes its search by a link to `javascript:void(0)`, which does nothing.
_HANDLER = re.compile(
    r"""<[a-z][^<>]*?\s(?:on[a-z]+\s*=|(?:href|src|action|formaction|xlink:href)\s*=\s*["']?\s*javascript:(?!void\(0\)"))[^>]*>""",
    re.IGNORECASE,
)
_THEME = re.compile(r"assets/javascripts/bundle\.[0-9a-f]+\.min\.js")
_LONGEST = 60
"""Characters of a script that a message quotes."""


@dataclass(frozen=True)
class Found:
    """A script in a page: where it begins, its text, and the hash by which the page's policy allows it.

    refused: why nobody allows it; "" for one that is listed.
    """

    start: int
    text: str
    hash: str
    refused: str


def scripts(html: str, files: Collection[str]) -> Iterator[Found]:
    """Every script of a page: elements, and what an attribute would run.

    Args:
        html: a whole page.
        files: addresses of the site's own scripts, from its root.
    """
    for found in _SCRIPT.finditer(html):
        if source := _ADDRESS.search(found["attributes"]):
            address = source["double"] or source["single"] or source["bare"] or ""
            if not _is_ours(address, files):
                yield Found(found.start(), found[0], "", f"the script {address!r} is none of this site's")
        elif not _DATA.search(found["attributes"] + ">"):
            text = found["text"]
            known = hash_of(_BASE.sub('new URL("BASE",location)', text))
            refused = "" if known in allowed() else f"the script {_short(text)!r} (sha256 {known}) is not listed"
            yield Found(found.start(), text, hash_of(text), refused)
    for found in _HANDLER.finditer(html):
        yield Found(found.start(), found[0], "", f"{_short(found[0])!r} would run a script")


@cache
def allowed() -> dict[str, str]:
    """Hashes of texts that may stand in pages, with the reason for each."""
    listed: dict[str, str] = tomllib.loads((Path(__file__).parent / "scripts.toml").read_text(encoding="utf-8"))[
        "scripts"
    ]
    return listed


def hash_of(text: str) -> str:
    """As content security policies write it."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _is_ours(address: str, files: Collection[str]) -> bool:
    parts = urlsplit(address)
    path = re.sub(r"^(?:/|\./|\.\./)+", "", parts.path)
    return not parts.scheme and not parts.netloc and (path in files or bool(_THEME.fullmatch(path)))


def _short(text: str) -> str:
    said = " ".join(text.split())
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"
