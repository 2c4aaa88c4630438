"""What programs of a page reach of the book's library, and whether the page's Python could follow its imports.

The build cannot tell by running them: its own Python has packages that a page does not have.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from explorable.book import current
from explorable.live.build.imports import imports_in, unknown_to_pages
from explorable.shared.cache import fingerprint
from explorable.shared.errors import Defect

_ABSENT = {"ImportError", "ModuleNotFoundError", "Exception"}
"""What a program catches that can do without a module."""
_ALLOWED = (
    "In the page the library has the standard library and the packages of explorable in mkdocs.yml",
    "In an act the library has the standard library alone: import it within the function that needs it",
)
"""For snippets, for acts."""


class LibraryImports:
    """The book's library as one build sees it: each file is read once.

    Args:
        root: What messages name files relative to.
        packages: What a snippet may import besides the standard library. None for acts, for which no package is
            loaded: what stands within functions of the library is left to the snippets then.
    """

    def __init__(self, root: Path, packages: Collection[str] | None) -> None:
        self._root, self._packages = root, packages
        self._library = current().library
        self._given = {*(packages or ()), *(name.partition(".")[0] for name in current().later)}
        given = frozenset(self._given), packages is None
        self._read = _read_of(root, self._library, given, fingerprint(filter(None, [self._library])))

    def faults(self, sources: Iterable[str]) -> list[Defect]:
        """The imports of the library that a page could not follow, in what these programs import of it."""
        if (folder := self._library) is None:
            return []
        imports = (node for source in sources for node in imports_in(source))
        files = list(dict.fromkeys(file for node in imports for file in _files(folder, node, ())))
        met, found = set(files), []
        for file in files:  # It grows while it is walked.
            if file not in self._read:
                self._read[file] = self._of(file, folder)
            leads, faults = self._read[file]
            files += [one for one in leads if one not in met]
            met.update(leads)
            found += faults
        return found

    def _of(self, file: Path, folder: Path) -> tuple[list[Path], list[Defect]]:
        """The files of the library that one of its files imports, and its faults."""
        place = file.relative_to(self._root).as_posix() if file.is_relative_to(self._root) else str(file)
        package = file.relative_to(folder.parent).parent.parts
        leads: dict[Path, None] = {}
        faults = []
        needed = _needed(file.read_text(encoding="utf-8", errors="replace"))
        if isinstance(needed, SyntaxError):
            return [], [Defect(place, needed.lineno, f"SyntaxError: {needed.msg}")]
        for node, within in needed:
            leads |= dict.fromkeys(_files(folder, node, package))
            if within and self._packages is None:
                continue
            for module in unknown_to_pages(node, self._given, library=folder.name):
                if not module.startswith(".") and not (within and module.partition(".")[0] in sys.stdlib_module_names):
                    faults.append(Defect(place, node.lineno, f"it imports {module}", _ALLOWED[self._packages is None]))
        return list(leads), faults


@lru_cache(maxsize=8)
def _read_of(
    _root: Path, _library: Path | None, _given: tuple[frozenset[str], bool], _state: str
) -> dict[Path, tuple[list[Path], list[Defect]]]:
    """What was read of a library in one state, kept from one build of a server to the next."""
    return {}


def _files(folder: Path, node: ast.Import | ast.ImportFrom, package: tuple[str, ...]) -> Iterator[Path]:
    """The files of the library that an import within a package runs."""
    if isinstance(node, ast.Import):
        names = [tuple(alias.name.split(".")) for alias in node.names]
    else:
        base = package[: len(package) - node.level + 1] if node.level else ()
        whole = (*base, *(node.module or "").split(".")) if node.module else base
        names = [(*whole, alias.name) for alias in node.names]
    for parts in names:
        if parts[:1] != (folder.name,):
            continue
        for end in range(1, len(parts) + 1):
            at = folder.parent.joinpath(*parts[:end])
            yield from (one for one in (at / "__init__.py", at.with_name(f"{at.name}.py")) if one.is_file())


def unreadable(root: Path) -> Defect | None:
    """What is no Python in the book's library: in its package and its vocabulary, and in what they import of it."""
    names = tuple(filter(None, (current().module, current().vocabulary)))
    found = LibraryImports(root, None).faults(f"import {name}" for name in names)
    return next((one for one in found if one.what.startswith("SyntaxError")), None)


@lru_cache(maxsize=1024)
def _needed(source: str) -> tuple[tuple[ast.Import | ast.ImportFrom, bool], ...] | SyntaxError:
    """The imports that a module cannot do without, and whether each stands within a function."""
    try:
        return tuple(_within(ast.parse(source), False))
    except SyntaxError as error:
        return error
    except ValueError:
        return ()


def _within(node: ast.AST, inside: bool) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield node, inside
        return
    guarded = isinstance(node, ast.Try) and any(_catches(handler.type) for handler in node.handlers)
    typed = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    skipped: list[ast.stmt] = getattr(node, "body", []) if guarded or typed else []
    inside = inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    for child in ast.iter_child_nodes(node):
        if child not in skipped:
            yield from _within(child, inside)


def _catches(kind: ast.expr | None) -> bool:
    return kind is None or bool(_ABSENT & {one.id for one in ast.walk(kind) if isinstance(one, ast.Name)})
