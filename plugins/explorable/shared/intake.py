"""What is wrong with source files before anybody reads them: their encoding, symbolic links, and what they include."""

from __future__ import annotations

import os
import re
from pathlib import Path

from explorable.shared.errors import Defect, UnbuildableError, nearest
from explorable.shared.locate import source_path
from explorable.shared.scan import Include, scan
from explorable.shared.sources import NO_YAML, mistakes
from explorable.site import Page, Site

_READ_AS_TEXT = (".py", ".toml", ".bib", ".json")


class Decoded:
    """The files beside the pages that are UTF-8. Their readers would blame a page, or name no file."""

    def __init__(self) -> None:
        # With the time of their last change and their size.
        self._seen: dict[Path, tuple[int, int]] = {}

    def check(self, docs: Path, root: Path, *, changed: bool) -> None:
        """Look at all files, or at those alone that have `changed` since the last time. Raises `UnbuildableError`."""
        files = (Path(folder, name) for folder, _, names in os.walk(docs) for name in names)
        for path in sorted(file for file in files if file.suffix in _READ_AS_TEXT and file.is_file()):
            found = path.stat()
            now = (found.st_mtime_ns, found.st_size)
            if changed and self._seen.get(path) == now:
                continue
            if defect := undecodable(path, root):
                raise UnbuildableError(str(defect))
            self._seen[path] = now


def undecodable(path: Path, root: Path) -> Defect | None:
    """The defect of a file that is not UTF-8."""
    raw = path.read_bytes()
    try:
        raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        what = f"the byte 0x{raw[error.start]:02x} is not UTF-8"
        return Defect(source_path(path, root), line, what, "save the file in the encoding UTF-8")
    return None


def link_to(path: Path, docs: Path) -> Path | None:
    """The symbolic link by which a file comes into the docs folder; None for a file that lies there."""
    if not path.is_relative_to(docs):
        return None
    below = [part for part in path.parents if docs in part.parents]
    return next((part for part in [*reversed(below), path] if part.is_symlink()), None)


def followed(link: Path, root: Path) -> Defect:
    """The defect of a symbolic link: what it leads to is no file of the book."""
    what = f"it is a symbolic link to '{link.readlink()}', which is not followed"
    return Defect(f"{source_path(link.parent, root)}/{link.name}", None, what, "Put a copy in its place")


def checked(markdown: str, page: Page, site: Site) -> tuple[str, list[Defect]]:
    """A page without the lines by which it includes what is not there, which would end a build; and what is wrong."""
    assert page.path
    place = source_path(page.path, site.root)
    defects = [Defect(place, *found) for found in mistakes(page.written, site.located.known)]
    written = scan(page.written)
    for included in written.included:
        if missing := _missing(included, page.path, site.root):
            defects.append(Defect(place, included.line, *missing))
            markdown = markdown.replace(written.lines[included.line - 1], "", 1)
    return markdown, defects


def unread(defect: Defect) -> bool:
    """Whether a page's front matter cannot be read."""
    return defect.what.startswith(NO_YAML)


def _missing(included: Include, page: Path, root: Path) -> tuple[str, str] | None:
    """What is wrong with the file or the section that a line of a page includes, and what to do."""
    path = root / included.file
    if not path.resolve().is_relative_to(root.resolve()):
        return f"'{included.file}' lies outside of the project", "include a file of the project"
    if not path.is_file():
        return f"there is no file '{included.file}' to include", "write its path from the project's folder"
    if page.resolve() in _within(path.resolve(), root):
        through = "itself" if path.samefile(page) else f"'{included.file}', which includes the page again"
        return f"the page includes {through}", "remove the line"
    if defect := undecodable(path, root):
        return str(defect), ""
    sections = re.findall(r"-{1,}8<-{1,}\s+\[start:([\w-]+)\]", path.read_text(encoding="utf-8"))
    if included.section and included.section not in sections:
        what = f"'{included.file}' has no section '{included.section}' to include"
        return what, nearest(included.section, sections)
    return None


def _within(path: Path, root: Path) -> set[Path]:
    """A file, and all that it includes, and what these include."""
    found, waiting = set[Path](), [path]
    while waiting:
        file = waiting.pop()
        if file in found or not file.is_file():
            continue
        found.add(file)
        text = file.read_text(encoding="utf-8", errors="replace")
        waiting += [(root / included.file).resolve() for included in scan(text).included]
    return found
