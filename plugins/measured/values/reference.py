"""Which page documents which module of the engine: the one with mkdocstrings' line `::: module`."""

from __future__ import annotations

import re

from mkdocs.structure.files import Files

_DIRECTIVE = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)


def documented_modules(files: Files, folder: str) -> dict[str, str]:
    """Module name -> source path of its page, for the pages in a folder of the docs."""
    return {
        module: file.src_uri
        for file in files.documentation_pages()
        if file.src_uri.startswith(f"{folder.rstrip('/')}/")
        for module in _DIRECTIVE.findall(file.content_string)
    }
