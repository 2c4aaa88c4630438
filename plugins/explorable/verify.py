"""Runs every snippet of a built site in Pyodide under Node.js, and compares what it gives with what the build printed.

The build runs snippets in CPython, with an operating system, threads and 64 bits. The page's Python has none of these,
and is another version. So a snippet can be steady at build and still print something else for a reader.

Pyodide under Node.js reaches the machine: programs have the rights of whoever runs this, as they have at build. It is
for one's own site.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from explorable.live.build import frame
from explorable.live.build.archives import unpacked, whole_library
from explorable.live.build.assets import BASE, LIBRARY, PYODIDE
from explorable.live.build.bundle import PACKED
from explorable.live.options import LiveOptions
from explorable.node import Node, NodeError
from explorable.shared import typed
from explorable.shared.errors import UnbuildableError, in_a_line

PROGRAM = Path(__file__).with_suffix(".mjs")
NODE = "Node.js is missing: install version 20 or newer"
_START_LIMIT_S = 120.0
"""The most seconds of a processor that the page's Python may take to start."""
_SLOWER = 3
"""How many times as long as the build's Python the page's may take."""
_BEGIN, _END = re.compile(r"<live-snippet\b"), "</live-snippet>"
_SLOTS = ("output", "result", "error")
_SOLUTION = re.compile(r"(?P<name>.+)-solution-[0-9a-f]+\.json")
_LOCK = re.compile(r".*/pyodide-lock-\w+\.json")
_ARCHIVES = (".whl", ".zip", PACKED)
_MOST_CHARACTERS = 200


@dataclass(frozen=True)
class Release:
    """What `release.json` says that a start of the page's Python needs, as `explorable.finish.releases` writes it."""

    packages: Sequence[str]
    later: Sequence[str]
    files: Sequence[str]


@dataclass(frozen=True)
class _Locked:
    """What the lock file says of a package."""

    file_name: str
    imports: Sequence[str]


@dataclass(frozen=True)
class _Lock:
    packages: Mapping[str, _Locked]


@dataclass(frozen=True)
class _File:
    """A file that a snippet may open."""

    name: str
    url: str


@dataclass(frozen=True)
class _Code:
    """A solution."""

    code: str


@dataclass(frozen=True)
class _Tests:
    """The tests of an exercise."""

    tests: str
    hidden: str


def verify(site: Path, time_limit_s: float = LiveOptions.time_limit_s) -> int:
    """Print what differs. Returns 1 if anything does or nothing runs, and 2 for a folder without such a site.

    Args:
        site: the folder of a built site.
        time_limit_s: what each snippet may take at build.
    """
    if (node := shutil.which("node")) is None:
        raise UnbuildableError(f"explorable: {NODE}")
    if not (site / BASE / "release.json").is_file():
        raise UnbuildableError(f"explorable: {site} holds no site with snippets; give the folder of a built one")
    try:
        release = _release(site)
        snippets = list(_snippets(site))
        solutions = list(_solutions(site / BASE / "exercises"))
    except (OSError, ValueError) as error:
        said = in_a_line(error) or error
        raise UnbuildableError(f"explorable: {site} is not as the build wrote it: {said}; build it again") from None
    with tempfile.TemporaryDirectory() as folder:
        library = whole_library(LIBRARY, Path(folder))
        wheels = _wheels(site, release, Path(folder, "wheels"))
        paths = {"site": str(site.resolve()), "pyodide": str(PYODIDE), "library": str(library), "wheels": str(wheels)}
        job = {**paths, "release": asdict(release), "snippets": snippets, "solutions": solutions}
        ran, solved = _ran(node, job, _SLOWER * time_limit_s)
    different = [*_different(snippets, ran), *_failing(solutions, solved)]
    print(*different, sep="\n", end="\n" if different else "", file=sys.stderr)
    left = [f"{one['page']} {one['name']}" for one, gave in zip(snippets, ran, strict=True) if gave is None]
    if left:
        print(f"verify: not run, because the site lacks packages that they import: {', '.join(left)}")
    pages = len({snippet["page"] for snippet in snippets})
    many = f"{len(snippets) - len(left)} snippets of {pages} pages and {len(solutions)} solutions"
    print(f"verify: {many} ran in Pyodide; {len(different) or 'none'} differ from what the build printed")
    return int(bool(different) or not snippets)


def _ran(node: str, job: Mapping[str, Any], limit_s: float) -> tuple[list[Any], list[Any]]:
    """What the snippets and the solutions of a job give. Raises `UnbuildableError` for the first that gives nothing."""
    place, gave = "the page's Python does not start", []
    try:
        with Node(node, PROGRAM, job) as running:
            running.answer(_START_LIMIT_S)
            for snippet in job["snippets"]:
                place = f"docs/{snippet['page']}: snippet '{snippet['name']}' gives nothing in the page's Python"
                gave.append(running.answer(limit_s))
            for solution in job["solutions"]:
                place = f"exercise '{solution['name']}': its solution gives nothing in the page's Python"
                gave.append(running.answer(limit_s))
    except NodeError as error:
        raise UnbuildableError(f"{place}: {error}") from None
    return gave[: len(job["snippets"])], gave[len(job["snippets"]) :]


def _release(site: Path) -> Release:
    """What the site ships. Raises `ValueError` for what no build writes, and where a file is missing or cut."""
    release: Release = _read(Release, site / BASE / "release.json")
    if not (lock := next(filter(_LOCK.fullmatch, release.files), None)):
        raise ValueError("release.json names no lock file of Pyodide")
    for file in release.files:
        path = _within(site, site / file)
        if path.suffix in _ARCHIVES and not path.is_file():
            raise ValueError(f"{file} is missing")
        if path.suffix in _ARCHIVES and not zipfile.is_zipfile(io.BytesIO(unpacked(path))):
            raise ValueError(f"{file} is no archive")
    _read(_Lock, site / lock)
    return release


def _read(kind: type[Any], path: Path) -> Any:
    """What a file of JSON holds of a type. Raises `ValueError` with the file's name."""
    try:
        return typed.read(kind, path.read_text(encoding="utf-8"), more=True)
    except ValueError as error:
        raise ValueError(f"{path.name}: {in_a_line(error) or error}") from None


def _different(snippets: list[dict[str, Any]], ran: list[dict[str, Any] | None]) -> Iterator[str]:
    for snippet, gave in zip(snippets, ran, strict=True):
        if gave is None:
            continue
        drawn = [figure["svg"] for figure in gave["figures"]]
        html = gave["html"] and frame.document(gave["html"])
        text = _shown(gave["output"], gave["result"], (gave["error"] or {}).get("text"), *drawn, html)
        if text != snippet["printed"]:
            yield (
                f"docs/{snippet['page']}: snippet '{snippet['name']}' gives another output in the page's Python. Write"
                f" it so that both agree.\n  the build:  {_cut(snippet['printed'])}\n  in Pyodide: {_cut(text)}"
            )


def _failing(solutions: list[dict[str, Any]], ran: list[dict[str, Any]]) -> Iterator[str]:
    for solution, gave in zip(solutions, ran, strict=True):
        failed = [check for check in gave["checks"] if not check["passed"]]
        if gave["error"] or not gave["checks"] or failed:
            what = json.dumps(gave["error"] or failed, ensure_ascii=False)
            yield f"exercise '{solution['name']}': its solution fails in the page's Python: {what}"


def _snippets(site: Path) -> Iterator[dict[str, Any]]:
    """The snippets of all pages, page by page, in their order, with what stands under their code."""
    for path in sorted(site.rglob("*.html")):
        try:
            yield from _of_page(site, path)
        except (ValueError, LookupError) as error:
            lacks = f"an element of a snippet lacks {error}" if isinstance(error, LookupError) else error
            raise ValueError(f"{path.relative_to(site)}: {in_a_line(error) or lacks}") from None


def _of_page(site: Path, path: Path) -> Iterator[dict[str, Any]]:
    for host in _hosts(path.read_text(encoding="utf-8")):
        read = _Snippet()
        read.feed(host)
        files: list[_File] = typed.read(Sequence[_File], read.told.get("data-files", "[]"), more=True)
        yield {
            **{name: read.told[f"data-{name}"] for name in ("page", "name", "source")},
            "files": [{"name": file.name, "path": str(_within(site, path.parent / file.url))} for file in files],
            "printed": _shown(*("".join(read.texts[slot]) for slot in _SLOTS), *read.figures, read.html),
        }


def _hosts(html: str) -> Iterator[str]:
    """The elements of a page's snippets."""
    end = 0
    while (begin := _BEGIN.search(html, end)) and (end := html.find(_END, begin.end()) + len(_END)) >= len(_END):
        yield html[begin.start() : end]


def _within(site: Path, path: Path) -> Path:
    """A file of the site. Raises `ValueError` for one elsewhere."""
    found = path.resolve()
    if site.resolve() not in found.parents:
        raise ValueError(f"{found.name} lies outside the site")
    return found


class _Snippet(HTMLParser):
    """Reads the element of a snippet."""

    def __init__(self) -> None:
        super().__init__()
        self.told: dict[str, str] = {}
        self.texts: Mapping[str, list[str]] = {slot: [] for slot in _SLOTS}
        self.figures: list[str] = []
        self.html = ""
        self._slot = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what an element says."""
        given = {name: value or "" for name, value in attrs}
        if tag == "live-snippet":
            self.told = given
        elif tag == "pre":
            self._slot = given.get("data-slot", "")
        elif tag == "img":
            self.figures.append(unquote(given["src"].partition(",")[2]))
        elif tag == "iframe":
            self.html = given["srcdoc"]

    def handle_endtag(self, tag: str) -> None:
        """End a text."""
        if tag == "pre":
            self._slot = ""

    def handle_data(self, data: str) -> None:
        """Keep a text."""
        if self._slot in self.texts:
            self.texts[self._slot].append(data)


def _solutions(folder: Path) -> Iterator[dict[str, Any]]:
    """The solutions of the exercises, with their tests."""
    for path in sorted(folder.glob("*.json")):
        if found := _SOLUTION.fullmatch(path.name):
            tests = re.compile(rf"{re.escape(found['name'])}-[0-9a-f]+\.json")
            beside = next((other for other in sorted(folder.iterdir()) if tests.fullmatch(other.name)), None)
            if beside is None:
                raise ValueError(f"{path.name} is the solution of an exercise whose tests are missing")
            yield {"name": found["name"], **asdict(_read(_Code, path)), **asdict(_read(_Tests, beside))}


def _wheels(site: Path, release: Release, folder: Path) -> Path:
    """A folder with the release's wheels under the names that its lock file gives them."""
    for file in release.files:
        name = file.removesuffix(PACKED)
        if name.endswith(".whl"):
            copy = folder / Path(name).relative_to(f"{BASE}/wheels")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(unpacked(site / file))
    return folder


def _shown(*parts: str | None) -> str:
    """What a snippet shows under its code: what it printed, its result, its error, its figures."""
    return "\n".join(text for part in parts if part and (text := part.strip()))


def _cut(text: str) -> str:
    short = f"{text[:_MOST_CHARACTERS]}…" if len(text) > _MOST_CHARACTERS else text
    return json.dumps(short, ensure_ascii=False)
