"""The content security policy of every page: only the site's own scripts, none made from text, no call elsewhere.

GitHub Pages sends no headers of ours, so the policy stands in the page, before anything that it governs. Workers
that are started from a `blob:` address, as the one that holds Python, inherit it.
"""

from __future__ import annotations

import html as entities
import json
import posixpath
import re
import tomllib
from collections.abc import Container, Iterable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from explorable.finish import drawn
from explorable.finish.scripts import Found, drawing, hash_of, scripts
from explorable.manifest import Manifest
from explorable.shared.errors import Defect
from explorable.shared.log import logger

log = logger("theme")

_OUTSIDE = (".html", ".htm", ".xhtml", ".xht", ".xml", ".mht", ".mhtml", ".shtml")
"""Files that a browser shows as a page."""
_BESIDE = frozenset({
    ".avif", ".bib", ".css", ".csv", ".diff", ".gif", ".gz", ".ico", ".ipynb", ".jpeg", ".jpg", ".js", ".json", ".log",
    ".map", ".md", ".mjs", ".mp3", ".mp4", ".npy", ".npz", ".ogg", ".otf", ".packed", ".parquet", ".pdf", ".png", ".py",
    ".rst", ".safetensors", ".sh", ".svg", ".tex", ".toml", ".tsv", ".ttf", ".txt", ".vtt", ".wasm", ".wav", ".webm",
    ".webmanifest", ".webp", ".whl", ".woff", ".woff2", ".yaml", ".yml", ".zip", ".gitkeep", ".nojekyll", "cname",
    "license", "notice",
})  # fmt: skip
"""Endings, and names without one, of files that no browser shows as a page; drawings are looked at."""
_PROGRAMS = (".js", ".mjs", ".cjs")
_STATES = re.compile(
    r"""data-states\s*=\s*(?:(?P<quote>["'])(?P<address>.*?)(?P=quote)|(?P<bare>[^\s>]+))""", re.IGNORECASE | re.DOTALL
)
_INDEXES = ("search/search_index.json", "search.json")
"""What searches read, of MkDocs and of Zensical."""
_MAP = "sitemap.xml"
_THEME = "assets/javascripts/bundle.*.min.js"
"""The theme's program."""
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="[^"]*">')
_HEAD = re.compile(
    r"\A(?:\s|<!doctype[^>]*>|<html[^>]*>)*<head(?:\s[^>]*)?>\s*<meta\s+charset=[\"']?utf-8[\"']?\s*/?>", re.IGNORECASE
)
"""How a page begins: its characters are named before the policy, as browsers look for them in its first 1,024 bytes."""
_NO_HEAD = 'the built page does not begin with <head> and <meta charset="utf-8">, behind which its policy stands'
_MOST = 100
"""Refused scripts of one page that are told: nobody reads more, and a page can be made to hold them without end."""


def govern(site: Path, manifest: Manifest, listed: Path) -> None:
    """Give every page its policy; report each script that nobody listed, and remove what would be a page without one.

    What leads to another host by itself is reported too.

    Args:
        site: the built site.
        manifest: what is known of it.
        listed: the TOML file whose table `scripts` has the hashes of scripts that may stand in pages, with reasons.
    """
    known = allowed(listed)
    folders = manifest.release.folders if manifest.release else ()
    shown = listed.relative_to(manifest.root) if listed.is_relative_to(manifest.root) else listed
    fix = f"Remove it, or read it and add its hash to {shown}"
    own = [*manifest.scripts, *(path.relative_to(site).as_posix() for path in site.glob(_THEME))]
    # The page for unknown addresses is shown at any of them, so its scripts begin at the host's root.
    below = urlsplit(manifest.address).path.lstrip("/")
    own += [below + name for name in own]
    _outside(site, manifest, known)
    _search(site, manifest)
    for path in sorted(site.rglob("*.html")):
        page = path.relative_to(site).as_posix()
        html = _POLICY.sub("", path.read_text(encoding="utf-8"), count=1)
        found = [*_first(scripts(html, own, known)), *_strange_states(site, html, page, manifest)]
        if not _HEAD.match(html):
            log.warning("%s", Defect(manifest.source(page)[0], None, _NO_HEAD, "Let its template begin so"))
        if any(script.refused for script in found):
            name, source = manifest.source(page)
            for script in found:
                if script.refused:
                    mend = fix if script.hash else "Remove it"
                    what = f"on line {html.count(chr(10), 0, script.start) + 1} of the built page, {script.refused}"
                    log.warning("%s", Defect(name, _line(script, source), what, mend))
        hashes = [script.hash for script in found if script.hash and not script.refused]
        path.write_text(with_policy(html, hashes, folders), encoding="utf-8")


def _strange_states(site: Path, html: str, page: str, manifest: Manifest) -> Iterator[Found]:
    """Moving figures whose states are no file that the build has drawn."""
    for named in _STATES.finditer(html):
        address = entities.unescape(named["address"] or named["bare"] or "")
        if not _is_made(site, address, page, manifest):
            refused = f"the figure's states {address[:60]!r} are none that the build has drawn"
            yield Found(named.start(), named[0], "", refused, address)


def _is_made(site: Path, address: str, page: str, manifest: Manifest) -> bool:
    """Whether a relative address in a page is that of a file that the build made, and did not copy."""
    path = unquote(address)
    if re.search(r"[:?#\\]", path) or path.startswith("/"):
        return False
    file = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    return not file.startswith("..") and (site / file).is_file() and not manifest.beside(file)


def _search(site: Path, manifest: Manifest) -> None:
    """Report names and tags of pages that do something where a search shows them: the theme takes them for markup."""
    for index in (site / name for name in _INDEXES if (site / name).is_file()):
        entries = json.loads(index.read_text(encoding="utf-8"))
        for entry in entries.get("docs", entries.get("items", ())):
            for words in (entry.get("title"), *(entry.get("tags") or ())):
                if "<" in (said := str(words)) and (found := next(scripts(said, ()), None)):
                    place = entry["location"].partition("#")[0]
                    page = place if place.endswith(".html") else f"{place}index.html"
                    refused = found.refused or "it is a script"
                    what = f"in the name or the tag {said[:60]!r}, {refused}"
                    log.warning("%s", Defect(manifest.source(page)[0], 1, what, "Remove it"))


def _first(found: Iterable[Found]) -> Iterator[Found]:
    """Scripts up to the last refused one that is told."""
    refused = 0
    for script in found:
        yield script
        refused += bool(script.refused)
        if refused == _MOST:
            return


def allowed(listed: Path) -> dict[str, str]:
    """Hashes of texts that may stand in pages, with the reason for each."""
    found: dict[str, str] = tomllib.loads(listed.read_text(encoding="utf-8"))["scripts"]
    return found


def _outside(site: Path, manifest: Manifest, known: Container[str] = ()) -> None:
    """Remove files beside the pages that a browser would show as a page, drawings that run a script, and programs.

    Files of the docs folder and of the book's own theme are looked at; what the build makes is its own. A program of
    the docs folder stays where every page names it, or its hash is `known`: a worker made of it would have no policy.
    """
    for path in sorted(site.rglob("*")):
        kind, name = path.suffix.lower() or path.name.lower(), ""
        below = path.relative_to(site).as_posix()
        # A theme may have a template for it, and it is XML as a drawing is.
        looked_at = kind == ".svg" or below == _MAP
        program = kind in _PROGRAMS and below not in manifest.scripts
        if looked_at or program or kind not in _BESIDE:
            name = manifest.beside(below)
        if not name:
            continue
        if program:
            # The theme's own folder is the author's, as its templates are.
            hash_ = hash_of(path.read_bytes().decode("utf-8", "replace"))
            if hash_ in known or not name.startswith(f"{manifest.docs}/"):
                continue
            what = f"no page names this program (sha256 {hash_}), and what a page holds may start it without a policy"
            defect = Defect(name, 1, what, "Leave it out, or name it among the scripts of every page, or list its hash")
        elif looked_at:
            parts = drawn.no_entry if below == _MAP else drawn.no_element
            if not (found := drawing(raw := path.read_bytes(), parts)):
                continue
            line = raw.decode("utf-8-sig", "replace").count("\n", 0, found.start) + 1
            defect = Defect(name, line, found.refused, found.mend or "Remove it from the file")
        elif kind in _OUTSIDE:
            defect = Defect(name, 1, "this page has no content security policy", "Write it as a page of Markdown")
        else:
            what = f"a browser may show a file {kind!r} as a page, which would have no content security policy"
            defect = Defect(name, None, what, "Pack it into a .zip, or leave it out")
        log.warning("%s", defect)
        path.unlink()


def _line(script: Found, source: str) -> int | None:
    """The line of the page's source on which the script begins, if anything of it stands there as in the built page."""
    first = next((line.strip() for line in script.text.splitlines() if line.strip()), "")
    for words in (first, script.clue):
        if words and (at := source.find(words)) >= 0:
            return source.count("\n", 0, at) + 1
    return None


def with_policy(html: str, hashes: Iterable[str] = (), folders: Sequence[str] = ()) -> str:
    """The page with its policy.

    Args:
        html: a whole page.
        hashes: of the scripts that stand in it and may run.
        folders: of other hosts, where packages lie that the site does not have and that readers may agree to fetch.
    """
    directives = {
        "default-src": ["'self'"],
        # WebAssembly may be compiled; text may not be run as a script.
        "script-src": ["'self'", "'wasm-unsafe-eval'", *(f"'sha256-{one}'" for one in dict.fromkeys(hashes))],
        # Charts, figures and the editor set styles on their elements.
        "style-src": ["'self'", "'unsafe-inline'"],
        "img-src": ["'self'", "data:"],
        # `blob:` is what the page itself made, such as the ledger's file.
        "connect-src": ["'self'", "blob:", *folders],
        "worker-src": ["'self'", "blob:"],
        "frame-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
    }
    content = "; ".join(" ".join([name, *sources]) for name, sources in directives.items())
    meta = f'<meta http-equiv="Content-Security-Policy" content="{content}">'
    return _HEAD.sub(lambda found: found[0] + meta, html, count=1)
