"""Completes the engine's reference page: a module whose names became public is documented without anybody's help."""

from __future__ import annotations

import ast
import re
from pathlib import Path

MARKER = "<!-- every other public module -->"


def public_modules(init: Path) -> list[str]:
    """The modules that a package's `__init__.py` takes its public names from, in its order."""
    tree = ast.parse(init.read_text(encoding="utf-8"))
    package = init.parent.name
    imports = (node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module)
    return list(dict.fromkeys(module for module in imports if module.partition(".")[0] == package))


def complete(markdown: str, init: Path) -> str:
    """Put a reference to every public module that the page does not name itself where the marker stands."""
    if MARKER not in markdown:
        return markdown
    named = set(re.findall(r"^::: (\S+)$", markdown, re.MULTILINE))
    missing = [module for module in public_modules(init) if module not in named]
    return markdown.replace(MARKER, "\n\n".join(f"::: {module}" for module in missing))
