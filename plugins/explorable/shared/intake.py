"""What is wrong with source files before anybody reads them: their encoding, symbolic links, and what they include."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from explorable.shared.errors import Defect, UnbuildableError, nearest
from explorable.shared.locate import source_path
from explorable.shared.scan import Include, includes, scan, sections, selected
from explorable.shared.sources import NO_YAML, mistakes
from explorable.site import Page, Site

MOST_FILES, LARGEST, DEEPEST = 1_000, 10_000_000, 20
"""Files that a page may include in all, their bytes, and how many may include one another."""
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
    """The defect of a file that is not UTF-8, or holds what no text holds."""
    raw = path.read_bytes()
    try:
        raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        what = f"the byte 0x{raw[error.start]:02x} is not UTF-8"
        return Defect(source_path(path, root), line, what, "save the file in the encoding UTF-8")
    if (at := raw.find(b"\0")) >= 0:
        line = raw.count(b"\n", 0, at) + 1
        return Defect(source_path(path, root), line, "there is a character NUL", "remove it: text has none")
    return None


def as_named(path: Path) -> Path:
    """The absolute path by its names alone, so that a symbolic link in it is still seen."""
    return Path(os.path.normpath(Path.cwd() / path))


def link_to(path: Path, folder: Path) -> Path | None:
    """The outermost symbolic link by which a file comes into a folder; None for a file that lies there, or outside."""
    if not path.is_relative_to(folder):
        return None
    below = [part for part in path.parents if folder in part.parents]
    return next((part for part in [*reversed(below), path] if part.is_symlink()), None)


def links(folder: Path) -> list[Path]:
    """All symbolic links in a folder, at any depth, in the order of their names."""
    found = (Path(at, name) for at, folders, files in os.walk(folder) for name in [*folders, *files])
    return sorted(path for path in found if path.is_symlink())


def led_out(folder: Path, root: Path) -> Defect | None:
    """The defect of a folder of the book that a symbolic link, itself or one above it, leads out of the book's folder.

    None for one that lies there, and for one that the configuration says lies elsewhere.
    """
    if Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(root)):
        return None
    link = link_to(folder, root) or (folder if folder.is_symlink() else None)
    return followed(link, root) if link else None


def followed(link: Path, root: Path) -> Defect:
    """The defect of a symbolic link: what it leads to is no file of the book."""
    what = f"it is a symbolic link to '{link.readlink()}', which is not followed"
    return Defect(f"{source_path(link.parent, root)}/{link.name}", None, what, "Put a copy in its place")


def checked(markdown: str, page: Page, site: Site) -> tuple[str, list[Defect]]:
    """A page without the lines by which it includes what is not there, which would end a build; and what is wrong."""
    assert page.path
    place = source_path(page.path, site.root)
    defects = [Defect(place, *found) for found in mistakes(page.written, site.located.known)]
    files, bad = _Files(site.root), set[Include]()
    for included in scan(page.written).included:
        if defect := files.defect(included, included.line, [Path(os.path.realpath(page.path))]):
            defects.append(defect)
            bad.add(replace(included, line=0))
    if bad:
        lines = markdown.split("\n")
        for included in scan(markdown).included:
            if replace(included, line=0) in bad:
                lines[included.line - 1] = ""
        markdown = "\n".join(lines)
    # The same file may be at fault wherever it is included.
    return markdown, list(dict.fromkeys(defects))


def unread(defect: Defect) -> bool:
    """Whether a page's front matter cannot be read."""
    return defect.what.startswith(NO_YAML)


class _Files:
    """What a page includes, and what that includes."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._count = self._size = 0

    def defect(self, included: Include, line: int, within: Sequence[Path]) -> Defect | None:
        """What is wrong with a file that a line includes, or with one that this file includes.

        Args:
            included: What the line says.
            line: Its number.
            within: The page, and the files that lead to the line, which stands in the last of them.
        """
        place = source_path(within[-1], self._root)
        try:
            path = Path(os.path.realpath(self._root / included.file))
            size = path.stat().st_size if path.is_file() else None
        # A name that no file can have.
        except (OSError, ValueError):
            path, size = self._root, None
        if missing := self._missing(included, path, size, within):
            return Defect(place, line, *missing)
        lines = path.read_text(encoding="utf-8").split("\n")
        if (chosen := selected(lines, included)) is None:
            part = f"section '{included.section}'" if included.section else f"lines '{included.lines[1:]}'"
            fix = nearest(included.section, sections(lines)) if included.section else "write the first and the last"
            return Defect(place, line, f"'{included.file}' has no {part} to include", fix)
        # Lines may be chosen several times.
        self._size += sum(len(text) for _, text in chosen)
        found = (
            self.defect(inner, chosen[inner.line - 1][0], [*within, path])
            for inner in includes([text for _, text in chosen])
        )
        return next((one for one in found if one), None)

    def _missing(
        self, included: Include, path: Path, size: int | None, within: Sequence[Path]
    ) -> tuple[str, str] | None:
        """What is wrong with a file that is included, and what to do."""
        if not path.is_relative_to(os.path.realpath(self._root)):
            return f"'{included.file}' lies outside of the project", "include a file of the project"
        if size is None:
            return f"there is no file '{included.file}' to include", "write its path from the project's folder"
        if path in within:
            itself = "the page includes itself" if len(within) == 1 else f"it includes '{included.file}' again"
            return itself, "remove the line"
        self._count, self._size = self._count + 1, self._size + size
        if self._count > MOST_FILES or self._size > LARGEST or len(within) > DEEPEST:
            most = f"at most {MOST_FILES:,} files with {LARGEST:,} B, {DEEPEST} deep in one another"
            return f"with '{included.file}' the page includes too much", f"allowed: {most}"
        defect = undecodable(path, self._root)
        return (str(defect), "") if defect else None
