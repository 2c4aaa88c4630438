"""A module's text without what no running program can reach: comments, and strings that document no public name.

Lines keep their numbers, so that a traceback names the right one, and `help()` of a public name says what it said.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import tokenize
from collections.abc import Iterator
from functools import lru_cache

Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@lru_cache(maxsize=1024)
def lean(source: bytes, *, package: bool = False) -> bytes:
    """The module as a browser's Python needs it; unchanged if this Python cannot read it.

    A server builds the wheels after each edit, and most of their modules are as they were.

    Args:
        source: a module's file, in the encoding that it names.
        package: whether it is a package's own, whose docstring people may ask for.
    """
    try:
        text = importlib.util.decode_source(source)
        tree = ast.parse(text)
    except (SyntaxError, UnicodeDecodeError):
        return source
    lines = list(io.StringIO(text))
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip() + "\n"
    for string in _unreachable(tree, hidden=not package):
        first, last = string.lineno - 1, (string.end_lineno or string.lineno) - 1
        before, after = lines[first].encode()[: string.col_offset], lines[last].encode()[string.end_col_offset :]
        if not before.strip() and not after.strip():
            lines[first : last + 1] = ["\n"] * (last + 1 - first)
    return "".join(lines).encode()


def _unreachable(node: Scope, *, hidden: bool) -> Iterator[ast.Expr]:
    """The strings that stand as statements of a body and document nothing, or something that is hidden."""
    for place, statement in enumerate(node.body):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            # A body must not be empty.
            if isinstance(statement.value.value, str) and (place or (hidden and len(node.body) > 1)):
                yield statement
        elif isinstance(statement, Scope):
            private = statement.name.startswith("_")
            yield from _unreachable(statement, hidden=private or (hidden and not isinstance(node, ast.Module)))
