"""What can stand at a place of a snippet's code, and how the function that is called there is called.

It looks at what the page's snippets have defined and at the text of the code, and runs nothing of either: of an object,
only attributes are read that no property computes.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import json
import keyword
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from explorable.live.runtime.snippets import namespace_of

MOST = 200
"""Names that are offered."""
LONGEST = 300
"""Characters of a signature, and of a sentence about a function."""
_LIBRARY = Path(__file__).with_name("library.txt")
OWN = tuple(_LIBRARY.read_text(encoding="utf-8").split()) if _LIBRARY.is_file() else ()
"""Packages that are imported to look into them: the book's library, as the build has written it beside this module.
Others are looked into once a snippet has imported them."""

_PATH = re.compile(r"(?:(?P<path>[^\W\d]\w*(?:\.[^\W\d]\w*)*)\.)?(?P<prefix>\w*)$")
_FROM = re.compile(r"^\s*from\s+(?P<module>[\w.]+)\s+import\s+(?:[\w\s,]*,\s*)?\(?(?P<prefix>\w*)$")
_IMPORT = re.compile(r"^\s*(?:import|from)\s+(?P<prefix>[\w.]*)$")
_IMPORTED = re.compile(r"^[ \t]*((?:from\s+[\w.]+\s+)?import\s+[^#\n(]+)", re.MULTILINE)
_CALLED = re.compile(r"([^\W\d]\w*(?:\.[^\W\d]\w*)*)$")
_QUOTED = re.compile(
    r"""'''.*?(?:'''|\Z)|"{3}.*?(?:"{3}|\Z)|'(?:\\.|[^'\\\n])*(?:'|\Z|\n)|"(?:\\.|[^"\\\n])*(?:"|\Z|\n)|\#[^\n]*""",
    re.DOTALL,
)
_MISSING = object()


def complete(page: str, source: str, at: int) -> str:
    """Names that can stand before character `at` of the code, and the call that it is in.

    Returns:
        `{"from": character, "options": [{"label": …, "kind": …}], "call": {"signature": …, "about": …} or
        null}`. `from` is where the name begins that is to be replaced.
    """
    before = source[:at]
    known = {**_imported(source), **namespace_of(page)}
    prefix, options = _options(before, source, known)
    fitting = [one for one in options if one[0].startswith(prefix)]
    if not prefix.startswith("_"):
        fitting = [one for one in fitting if not one[0].startswith("_")]
    fitting.sort(key=lambda one: one[0].lower())
    listed = [{"label": label, "kind": _kind(value)} for label, value in fitting[:MOST]]
    return json.dumps({"from": at - len(prefix), "options": listed, "call": _call(before, source, known)})


def _options(before: str, source: str, known: Mapping[str, Any]) -> tuple[str, list[tuple[str, Any]]]:
    line = before.rpartition("\n")[2]
    if found := _FROM.match(line):
        return found["prefix"], _attributes(_module(found["module"]))
    if found := _IMPORT.match(line):
        package, dot, prefix = found["prefix"].rpartition(".")
        if dot:
            return prefix, [(name, sys) for name in _modules_of(_module(package))]
        names = {*OWN, *(name for name in sys.stdlib_module_names if name.isidentifier())}
        # Of a module that is not loaded the editor shall know no more than that it is one.
        return prefix, [(name, sys) for name in names]
    found = _PATH.search(before)
    assert found is not None
    if found["path"]:
        return found["prefix"], _attributes(_resolved(found["path"], known))
    if before.removesuffix(found["prefix"]).endswith("."):
        return found["prefix"], []  # of a value that only running the code would give
    given = dict.fromkeys([*keyword.kwlist, *_written(source)], _MISSING)
    return found["prefix"], list({**given, **vars(builtins), **known}.items())


def _written(source: str) -> Iterator[str]:
    """The names that the code gives, as far as it can be read."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        for pair in re.findall(r"^\s*(?:(?:def|class)\s+(\w+)|(\w+)\s*=)", source, re.MULTILINE):
            yield from filter(None, pair)
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg


def _imported(source: str) -> dict[str, Any]:
    """What the imports of the code bring, of modules that can be looked into without fetching anything."""
    brought: dict[str, Any] = {}
    for line in _IMPORTED.findall(source):
        try:
            [statement] = ast.parse(line.strip()).body
        except (SyntaxError, ValueError):
            continue
        for alias in getattr(statement, "names", []):
            if isinstance(statement, ast.ImportFrom):
                value = _read(_module(statement.module or ""), alias.name)
            else:
                value = _module(alias.name if alias.asname else alias.name.partition(".")[0])
            if value is not _MISSING:
                brought[alias.asname or alias.name.partition(".")[0]] = value
    return brought


def _module(name: str) -> Any:
    if name in sys.modules:
        return sys.modules[name]
    if name.partition(".")[0] not in OWN:
        return _MISSING
    try:
        return importlib.import_module(name)
    except ImportError:
        return _MISSING


def _modules_of(package: Any) -> Iterator[str]:
    folders = [Path(folder) for folder in getattr(package, "__path__", [])]
    for one in (one for folder in folders if folder.is_dir() for one in folder.iterdir()):
        if one.suffix == ".py" or one.is_dir():
            yield one.stem


def _resolved(path: str, known: Mapping[str, Any]) -> Any:
    first, *rest = path.split(".")
    value = known.get(first, vars(builtins).get(first, _MISSING))
    for name in rest:
        value = _read(value, name)
    return value


def _read(value: Any, name: str) -> Any:
    """An attribute, unless it would have to be computed. A module may import what it is asked for."""
    if inspect.ismodule(value):
        return getattr(value, name, _MISSING)
    try:
        found = inspect.getattr_static(value, name)
    except (AttributeError, TypeError):
        return _MISSING
    if isinstance(found, property) or (hasattr(found, "__get__") and not callable(found) and not _is_slot(found)):
        return _MISSING
    return getattr(value, name, _MISSING)


def _is_slot(found: Any) -> bool:
    return inspect.ismemberdescriptor(found) or isinstance(found, staticmethod | classmethod)


def _attributes(value: Any) -> list[tuple[str, Any]]:
    if value is _MISSING:
        return []
    found = []
    for name in dir(value):
        try:
            found.append((name, inspect.getattr_static(value, name)))
        except AttributeError:
            found.append((name, _MISSING))
    return found


def _kind(value: Any) -> str:
    """What the editor calls it."""
    if inspect.ismodule(value):
        return "module"
    if isinstance(value, type):
        return "class"
    if callable(value) or isinstance(value, staticmethod | classmethod):
        return "function"
    return "property" if isinstance(value, property) or inspect.ismemberdescriptor(value) else "name"


def _call(before: str, source: str, known: Mapping[str, Any]) -> dict[str, str] | None:
    """The call whose arguments are being written."""
    opened = _open_parenthesis(before)
    called = None if opened is None else _CALLED.search(before, 0, opened)
    if called is None or keyword.iskeyword(called[1]):
        return None
    function = _resolved(called[1], known)
    if function is _MISSING:
        return _defined(called[1], source)
    if not callable(function):
        return None
    try:
        signature = str(inspect.signature(function))
    except (TypeError, ValueError):
        signature = "(…)"
    return _told(called[1], signature, inspect.getdoc(function))


def _defined(name: str, source: str) -> dict[str, str] | None:
    """The signature of a function that the code defines and that has not run."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError):
        found = re.search(rf"^\s*def\s+{re.escape(name)}\s*(\([^)\n]*\))", source, re.MULTILINE)
        return _told(name, found[1], None) if found else None
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return _told(name, f"({ast.unparse(node.args)})", ast.get_docstring(node))
    return None


def _told(name: str, signature: str, doc: str | None) -> dict[str, str]:
    about = (doc or "").strip().partition("\n\n")[0].replace("\n", " ")
    return {"signature": _cut(f"{name}{signature}"), "about": _cut(about)}


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _open_parenthesis(before: str) -> int | None:
    """Where the innermost parenthesis opens that is not closed; text in quotes and comments does not count."""
    plain = _QUOTED.sub(lambda found: " " * len(found[0]), before)
    opened: list[tuple[str, int]] = []
    for place, letter in enumerate(plain):
        if letter in "([{":
            opened.append((letter, place))
        elif letter in ")]}" and opened:
            opened.pop()
    return next((place for letter, place in reversed(opened) if letter == "("), None)
