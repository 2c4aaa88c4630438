"""Turns an executed notebook into the Markdown of a page, and finds the cells that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any
from xml.etree.ElementTree import tostring

from explorable.shared.svg import embedded

SVG = "image/svg+xml"
LOCAL = "local"
"""The tag of a cell that the page's Python cannot run, for example because it draws with matplotlib."""

_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_LINE = re.compile(r"Cell In\[\d+\], line (\d+)")
_BACKTICKS = re.compile(r"^\s*`{3,}", re.MULTILINE)


def faults(document: Mapping[str, Any], lines: Sequence[int]) -> Iterator[tuple[int, str, str]]:
    """The first cell that raised an exception, and every cell and output that a page could not show to everybody.

    Each is a line of the file, what is wrong and what to do, given the `lines` of all cells' markers.
    """
    failed = False
    for index, cell in enumerate(document["cells"]):
        if cell["cell_type"] not in ("code", "markdown"):
            what = f"a cell of the kind {cell['cell_type']!r} is on no page"
            yield lines[index], what, "begin it with '# %% [markdown]', or with '# %%' for code"
    for index, number, cell in _code(document):
        for output in cell["outputs"]:
            if output["output_type"] == "error":
                if not failed:
                    line = _LINE.search(_ANSI.sub("", "\n".join(output["traceback"])))
                    what = f"{output['ename']}: {output['evalue']}".strip(": \n").splitlines()[0]
                    yield lines[index] + int(line[1] if line else 0), f"cell {number} fails: {what}", ""
                failed = True
            elif output["output_type"] == "stream":
                continue
            elif SVG in output["data"]:
                try:
                    _drawing(output)
                except ValueError as error:
                    what = f"cell {number} shows a plot that no page can hold: {error}"
                    yield lines[index], what, "let matplotlib draw it"
                if not _alternative(output):
                    fix = 'write display(figure, metadata={"alt": "what the plot shows, with its numbers"})'
                    yield lines[index], f"cell {number} shows a plot without words", fix
            elif set(output["data"]) != {"text/plain"}:
                kinds = ", ".join(sorted(set(output["data"]) - {"text/plain"}))
                yield lines[index], f"cell {number} shows {kinds}", "print text, or draw a plot as SVG"


def markdown(document: Mapping[str, Any], first: str, *, live: bool) -> str:
    """The page of an executed notebook.

    Args:
        document: The notebook with its outputs.
        first: Markdown that stands behind the first cell: how to run the notebook.
        live: Whether cells become snippets that the reader can run in the page, except those tagged `local`.
    """
    parts: list[str] = []
    numbers = {index: number for index, number, _ in _code(document)}
    for index, cell in enumerate(document["cells"]):
        source = _text(cell["source"]).strip("\n")
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code":
            here = live and LOCAL not in cell["metadata"].get("tags", ())
            parts.append(_snippet(source, numbers[index]) if here else _static(source, cell["outputs"], numbers[index]))
        if index == 0:
            parts.append(first)
    return "\n\n".join(parts) + "\n"


def _code(document: Mapping[str, Any]) -> Iterator[tuple[int, int, Mapping[str, Any]]]:
    """The index, the number and the content of every code cell."""
    cells = [(index, cell) for index, cell in enumerate(document["cells"]) if cell["cell_type"] == "code"]
    return ((index, number, cell) for number, (index, cell) in enumerate(cells, 1))


def _fence(source: str) -> str:
    """Backticks in a row, more than any line of the source begins with."""
    return "`" * max((len(found[0].strip()) + 1 for found in _BACKTICKS.finditer(source)), default=3)


def _snippet(source: str, number: int) -> str:
    fence = _fence(source)
    return f'{fence}live name="cell-{number}"\n{source}\n{fence}'


def _static(source: str, outputs: list[Mapping[str, Any]], number: int) -> str:
    shown = "\n\n".join(filter(None, (_output(output, number) for output in outputs)))
    fence = _fence(source)
    code = f"{fence} {{ .python }}\n{source}\n{fence}"
    return f'<div class="il-cell" markdown="block">\n\n{code}\n\n{shown}\n\n</div>' if shown else code


def _output(output: Mapping[str, Any], number: int) -> str:
    if output["output_type"] == "stream":
        return _words(_text(output["text"]), number)
    if output["output_type"] == "error":
        return _words(_ANSI.sub("", "\n".join(output["traceback"])), number)
    if SVG in output["data"]:
        try:
            return f'<div class="il-cell__plot">{_drawing(output)}</div>'
        except ValueError:  # `faults` says what is wrong.
            return ""
    return _words(_text(output["data"].get("text/plain", "")), number)


def _words(text: str, number: int) -> str:
    """Printed text. Its line breaks and backticks are written so that no step of Markdown sees them."""
    inner = escape(text.rstrip("\n"), quote=False).replace("`", "&#96;").replace("\n", "&#10;")
    label = f'role="group" aria-label="Output of cell {number}" tabindex="0"'
    return f'<pre class="il-cell__out" {label}>{inner}</pre>' if inner else ""


def _drawing(output: Mapping[str, Any]) -> str:
    """A plot as HTML. Raises `ValueError` for one that no page can hold."""
    return _drawn(_text(output["data"][SVG]), _alternative(output) or "A plot")


@lru_cache(maxsize=64)  # A page looks for faults first, and then shows it.
def _drawn(text: str, title: str) -> str:
    # One line and no blank ones: Markdown leaves it alone.
    return " ".join(tostring(embedded(text, title), encoding="unicode").split())


def _alternative(output: Mapping[str, Any]) -> str:
    metadata = output["metadata"]
    of_drawing = metadata.get(SVG)
    return str(metadata.get("alt") or (of_drawing.get("alt") if isinstance(of_drawing, dict) else "") or "").strip()


def _text(value: str | list[str]) -> str:
    """Notebooks hold text as one string or as a list of lines."""
    return value if isinstance(value, str) else "".join(value)
