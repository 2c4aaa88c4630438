"""Runs every snippet of a built site in Pyodide under Node.js, and compares what it gives with what the build printed.

The build runs snippets in CPython, with an operating system, threads and 64 bits. The page's Python has none of these,
and is another version. So a snippet can be steady at build and still print something else for a reader.

Pyodide under Node.js reaches the machine: programs have the rights of whoever runs this, as they have at build. It is
for one's own site.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from explorable.live.build import frame
from explorable.live.build.assets import BASE, LIBRARY, PYODIDE, REST, START
from explorable.shared.errors import in_a_line

PROGRAM = Path(__file__).with_suffix(".mjs")
NODE = "Node.js is missing: install version 20 or newer"
_HOSTS = re.compile(r"<live-snippet\b.*?</live-snippet>", re.DOTALL)
_SLOTS = ("output", "result", "error")
_SOLUTION = re.compile(r"(?P<name>.+)-solution-[0-9a-f]+\.json")
_MOST_CHARACTERS = 200


def verify(site: Path) -> int:
    """Print what differs. Returns 1 if anything does or nothing runs, and 2 for a folder without such a site."""
    node = shutil.which("node")
    if node is None:
        print(f"explorable: {NODE}", file=sys.stderr)
        return 2
    try:
        release = json.loads((site / BASE / "release.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        print(f"explorable: {site} holds no site with snippets; give the folder of a built one", file=sys.stderr)
        return 2
    try:
        if not isinstance(release, dict):
            raise ValueError("release.json is no mapping")
        snippets = list(_snippets(site))
        solutions = list(_solutions(site / BASE / "exercises"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        print(f"explorable: {site} is not as the build wrote it: {in_a_line(error) or error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        library = _whole_library(Path(folder))
        paths = {"site": str(site.resolve()), "pyodide": str(PYODIDE), "library": str(library)}
        job = {**paths, "release": release, "snippets": snippets, "solutions": solutions}
        command = [node, str(PROGRAM)]
        done = subprocess.run(command, input=json.dumps(job), stdout=subprocess.PIPE, encoding="utf-8", check=False)
    if done.returncode:
        return 1
    ran = json.loads(done.stdout)
    different = [*_different(snippets, ran["snippets"]), *_failing(solutions, ran["solutions"])]
    print(*different, sep="\n", end="\n" if different else "", file=sys.stderr)
    left = [f"{one['page']} {one['name']}" for one, gave in zip(snippets, ran["snippets"], strict=True) if gave is None]
    if left:
        print(f"verify: not run, because the site lacks packages that they import: {', '.join(left)}")
    pages = len({snippet["page"] for snippet in snippets})
    many = f"{len(snippets) - len(left)} snippets of {pages} pages and {len(solutions)} solutions"
    print(f"verify: {many} ran in Pyodide; {len(different) or 'none'} differ from what the build printed")
    return int(bool(different) or not snippets)


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
        for host in _HOSTS.findall(path.read_text(encoding="utf-8")):
            read = _Snippet()
            read.feed(host)
            files = json.loads(read.told.get("data-files", "[]"))
            yield {
                **{name: read.told[f"data-{name}"] for name in ("page", "name", "source")},
                "files": [
                    {"name": file["name"], "path": str(_within(site, path.parent / file["url"]))} for file in files
                ],
                "printed": _shown(*("".join(read.texts[slot]) for slot in _SLOTS), *read.figures, read.html),
            }


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
            given = next(other for other in folder.iterdir() if tests.fullmatch(other.name))
            code = json.loads(path.read_text(encoding="utf-8"))["code"]
            yield {"name": found["name"], "code": code, **json.loads(given.read_text(encoding="utf-8"))}


def _whole_library(folder: Path) -> Path:
    """Python's standard library as one archive: the wheel of this toolkit has it in two."""
    whole = folder / "python_stdlib.zip"
    with zipfile.ZipFile(whole, "w") as archive:
        for part in (START, REST):
            with zipfile.ZipFile(LIBRARY / part) as half:
                for name in half.namelist():
                    archive.writestr(name, half.read(name))
    return whole


def _shown(*parts: str | None) -> str:
    """What a snippet shows under its code: what it printed, its result, its error, its figures."""
    return "\n".join(text for part in parts if part and (text := part.strip()))


def _cut(text: str) -> str:
    short = f"{text[:_MOST_CHARACTERS]}…" if len(text) > _MOST_CHARACTERS else text
    return json.dumps(short, ensure_ascii=False)
