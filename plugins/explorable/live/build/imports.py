"""What a program may import so that the page's Python can follow: looked up in its text, before the build runs it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterator
from functools import lru_cache

NEEDS_SYSTEM = frozenset(
    [
        "curses",
        "dbm",
        "ensurepip",
        "grp",
        "idlelib",
        "msvcrt",
        "multiprocessing",
        "nt",
        "pwd",
        "pydoc_data",
        "readline",
        "resource",
        "subprocess",
        "syslog",
        "tkinter",
        "turtle",
        "turtledemo",
        "venv",
        "winreg",
        "winsound",
    ]
)
"""Modules of the standard library that Pyodide leaves out, or that start processes, which it cannot."""


@lru_cache(maxsize=1024)
def imports_in(source: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """The imports of a program, none if it does not parse. Forty acts share most of their modules."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))


def wrong_imports(
    source: str, packages: Collection[str] = (), siblings: Collection[str] = (), library: str = ""
) -> Iterator[tuple[int, str]]:
    """Line and module of each import that the page's Python could not follow.

    Args:
        source: The program. One that does not parse has none: running it says so better.
        packages: What it may import besides the standard library and `explorable.live`.
        siblings: The modules beside it; those of a room as `".room.module"`.
        library: The book's own package.
    """
    for node in imports_in(source):
        yield from ((node.lineno, module) for module in unknown_to_pages(node, packages, siblings, library))


def unknown_to_pages(
    node: ast.Import | ast.ImportFrom,
    packages: Collection[str] = (),
    siblings: Collection[str] = (),
    library: str = "",
) -> Iterator[str]:
    """The modules of an import that the page's Python could not follow; as `wrong_imports`."""
    for module in _modules(node):
        root = module.partition(".")[0]
        own = module.startswith(".") and module[1:] in siblings
        known = root == library or module == "explorable.live" or root in packages
        standard = root in sys.stdlib_module_names and root not in NEEDS_SYSTEM
        if not (own or known or standard):
            yield module


def _modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.module == "explorable":
        return [f"explorable.{alias.name}" for alias in node.names]
    return ["." * node.level + (node.module or "")]
