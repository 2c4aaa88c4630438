"""Modules as a browser gets them run the same, line by line, and explain their public names."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import explorable
import ironlaw
from explorable.live.build.lean import lean
from tests.conftest import FULL

MODULES = sorted(path for package in (ironlaw, explorable) for path in Path(next(iter(package.__path__))).rglob("*.py"))


def of_use(tree: ast.Module) -> list[str]:
    """Every statement and expression with its place, but no string that is a statement."""
    strings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    kept = (node for node in ast.walk(tree) if id(node) not in strings and not isinstance(node, ast.Expr))
    return [f"{type(node).__name__} {getattr(node, 'lineno', 0)} {getattr(node, 'col_offset', 0)}" for node in kept]


def test_all_modules_run_the_same_lines() -> None:
    assert len(MODULES) > 250
    saved = 0
    for path in MODULES if FULL else MODULES[::3]:
        source = path.read_bytes()
        made = lean(source, package=path.name == "__init__.py")
        assert made.count(b"\n") == source.count(b"\n"), path
        assert of_use(ast.parse(made)) == of_use(ast.parse(source)), path
        saved += len(source) - len(made)
    assert saved > 30_000


def executed(source: bytes) -> ModuleType:
    module = ModuleType("made")
    exec(compile(source, "made", "exec"), module.__dict__)
    return module


SOURCE = b'''"""A module."""
LIMIT = 3  # comment
"""What documents a value."""
NAME = "# no comment"
class Thing:
    """A thing."""
    size: int = 1
    """Its size."""
    def grow(self) -> int:
        """Grow."""
        return self.size  # more
    def _hide(self) -> int:
        """Hidden."""
        return 2
def empty() -> None:
    """Only a docstring."""
def _lonely() -> None:
    """Only a docstring, too."""
def _one(): "a docstring"; return 4
async def later() -> None:
    """Later."""
'''


def test_public_names_keep_their_docstrings_and_the_rest_goes() -> None:
    module = executed(made := lean(SOURCE))
    said = [inspect.getdoc(one) for one in (module.Thing, module.Thing.grow, module.empty, module.later)]
    assert said == ["A thing.", "Grow.", "Only a docstring.", "Later."]
    assert module.NAME == "# no comment"
    assert module._one() == 4
    assert module.__doc__ is None
    for gone in (b"A module", b"comment\n", b"documents a value", b"Its size", b"more", b"Hidden"):
        assert gone not in made.replace(b"no comment", b"")
    assert executed(lean(SOURCE, package=True)).__doc__ == "A module."


@pytest.mark.parametrize("source", [b"def broken(:\n", b"\xff\xfe\n", b"match = 1 if\n"])
def test_what_this_python_cannot_read_stays_as_it_is(source: bytes) -> None:
    assert lean(source) == source


def test_another_encoding_becomes_utf_8() -> None:
    made = lean("# -*- coding: latin-1 -*-\nNAME = 'Grün'\n".encode("latin-1"))
    assert executed(made).NAME == "Grün"
