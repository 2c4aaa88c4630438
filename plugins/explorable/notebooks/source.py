"""A notebook as its author wrote it: a Python file whose cells begin with `# %%`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import jupytext  # type: ignore[import-untyped]
import yaml
from nbformat.v4 import new_markdown_cell
from nbformat.validator import NotebookValidationError

from explorable.shared import yaml_text

_HEAD = re.compile(r"# ---\n((?:#.*\n)*?)# ---$", re.MULTILINE)
_MARKER = re.compile(r"^# %%", re.MULTILINE)
_parsed = lru_cache(jupytext.reads)  # A build asks twice, and a server again and again.
_LINK = re.compile(r"(?<=\]\()(?![a-zA-Z]+:|#|//)(?P<path>[^()#\s]+)(?P<anchor>#[^()\s]*)?(?=\))")


@dataclass(frozen=True)
class Source:
    """A notebook's file, read.

    Attributes:
        document: The notebook without outputs, as nbformat describes it.
        lines: The line of each cell's marker in the file, counted from 1.
    """

    document: dict[str, Any]
    lines: tuple[int, ...]

    @property
    def runs_in_page(self) -> bool:
        """Whether the page's own Python can run the cells, except those tagged `local`."""
        return bool(self.document["metadata"].get("runs_in_page", False))


def read(path: Path) -> Source:
    """Read a notebook.

    Raises:
        ValueError: The file holds something before the first marker, so its cells cannot be found by their markers; it
            holds no cell; or what a marker or its head says is none of a notebook's.
    """
    text = path.read_text(encoding="utf-8")
    if head := _HEAD.match(text):
        try:
            yaml_text.load(re.sub(r"^# ?", "", head[1], flags=re.MULTILINE))
        except yaml.MarkedYAMLError as error:
            raise ValueError(f"its head cannot be read: {error.problem}") from None
    try:
        document = _parsed(text, fmt="py:percent")
    except (NotebookValidationError, AttributeError, TypeError, ValueError, RecursionError) as error:
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ValueError(f"a cell's marker is none of a notebook's: {said}") from None
    if not document.cells:
        raise ValueError("there is no cell; begin every cell with '# %%'")
    if not isinstance(runs := document.metadata.get("runs_in_page", False), bool):
        raise ValueError(f"runs_in_page is {runs!r}; allowed: true, false")
    lines = tuple(text.count("\n", 0, match.start()) + 1 for match in _MARKER.finditer(text))
    if len(lines) != len(document.cells):
        raise ValueError(f"{len(document.cells)} cells, but {len(lines)} markers; begin every cell with '# %%'")
    return Source(document, lines)


def download(source: Source, first: str, address: Callable[[str], str]) -> bytes:
    """The notebook as an .ipynb file without outputs.

    Args:
        source: The notebook.
        first: Markdown that stands behind its first cell, or before one that is no Markdown: what to install; "" for
            nothing.
        address: The address of a page or file that the notebook links to by a relative path.
    """
    document = jupytext.reads(jupytext.writes(source.document, fmt="ipynb"), fmt="ipynb")
    if first and document.cells[0].cell_type != "markdown":
        document.cells.insert(0, new_markdown_cell(first))  # type: ignore[no-untyped-call]
        first = ""
    for number, cell in enumerate(document.cells, 1):
        # The names that Jupyter makes up for cells are random; a download is not to change from build to build.
        cell["id"] = f"cell-{number}"
        if cell.cell_type == "markdown":
            cell.source = _LINK.sub(lambda link: address(link["path"]) + (link["anchor"] or ""), cell.source)
    document.cells[0].source += f"\n\n{first}" if first else ""
    document.metadata.pop("runs_in_page", None)
    document.metadata["kernelspec"] = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document.metadata.pop("jupytext", None)
    return str(jupytext.writes(document, fmt="ipynb")).encode()
