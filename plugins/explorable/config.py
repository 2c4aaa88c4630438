"""A book's configuration, read without a site generator: `zensical.toml`, or `mkdocs.yml`, which two of them share."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from explorable.shared.errors import UnbuildableError

FILES = ("zensical.toml", "mkdocs.yml")
"""In this order Zensical looks for its own."""
_NAMES, _LIST = "names with values", "a list"
_SHAPES: Mapping[str, Mapping[type, str]] = {
    "plugins": {list: _LIST, dict: _NAMES}, "markdown_extensions": {list: _LIST, dict: _NAMES}, "nav": {list: _LIST},
    "extra": {dict: _NAMES},
}  # fmt: skip
"""Entry -> what it may be."""


@dataclass(frozen=True)
class Heading:
    """A page in the navigation: its source, its title, "" for none, and the outermost section that holds it."""

    source: str
    title: str
    section: str


class Configuration:
    """What a configuration says that does not depend on its generator.

    Args:
        file: the file; paths in it are relative to its folder.

    Raises:
        UnbuildableError: It cannot be read.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.root = file.resolve().parent
        try:
            self._told = _read(file.resolve(), ())
            self._require_shapes()
        except RecursionError:
            raise UnbuildableError(f"{file}: its lists and names lie too deep, or hold themselves") from None
        except (OSError, ValueError, yaml.YAMLError) as error:
            raise UnbuildableError(f"{file}: {' '.join(str(error).split())}") from None

    def _require_shapes(self) -> None:
        """Raises `ValueError` for an entry of another kind than is read, or a zero byte, which no path may have."""
        for name, kinds in _SHAPES.items():
            _require(name, self._told.get(name), kinds)
        if self.options:
            _require("the options of explorable", self.options, {dict: _NAMES})
            if unnamed := [name for name in self.options if not isinstance(name, str)]:
                raise ValueError(f"an option of explorable is named {unnamed[0]!r}; allowed: a text")
        if "\\x00" in repr(self._told):
            raise ValueError("a text has a zero byte; allowed: none")
        list(self.headings)

    def text(self, name: str, default: str = "") -> str:
        """An entry that is a text."""
        return str(self._told.get(name) or default)

    @property
    def docs(self) -> Path:
        """The folder of the sources."""
        return self.root / self.text("docs_dir", "docs")

    @property
    def theme(self) -> Path | None:
        """The folder of the book's own theme; None without one."""
        told = self._told.get("theme")
        own = told.get("custom_dir") if isinstance(told, Mapping) else None
        return self.root / str(own) if own else None

    @property
    def extra(self) -> Mapping[str, Any]:
        """Values for templates."""
        found: Mapping[str, Any] = self._told.get("extra") or {}
        return found

    @property
    def folders(self) -> bool:
        """Whether each page gets a folder of its own, so that its address ends with a slash."""
        return bool(self._told.get("use_directory_urls", True))

    @property
    def options(self) -> Mapping[str, Any] | None:
        """The options of `explorable`; None where it is not among the plugins."""
        found = dict(_named(self._told.get("plugins") or ()))
        return found.get("explorable")

    @property
    def extensions(self) -> Mapping[str, Mapping[str, Any]]:
        """The extensions to Markdown with their options, those included that every generator has."""
        return {"toc": {}, "tables": {}, **dict(_named(self._told.get("markdown_extensions") or ()))}

    @property
    def headings(self) -> list[Heading]:
        """The pages of the navigation in its order."""
        return list(_headings(self._told.get("nav") or (), ""))


def of(folder: Path) -> Configuration | None:
    """The configuration in a folder; None without one."""
    return next((Configuration(folder / name) for name in FILES if (folder / name).is_file()), None)


def _require(name: str, value: object, kinds: Mapping[type, str]) -> None:
    if value is not None and not isinstance(value, tuple(kinds)):
        raise ValueError(f"{name}: {value!r} is not allowed; allowed: {' or '.join(kinds.values())}")


def _read(file: Path, under: tuple[Path, ...]) -> dict[str, Any]:
    """What a file says, and the one that it inherits from; `under` are the files that inherit from it."""
    if file.suffix == ".toml":
        told: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8")).get("project", {})
        return told
    # A configuration is a program of its author's, as for MkDocs: it may name functions.
    told = yaml.load(file.read_text(encoding="utf-8"), Loader=_Loader) or {}
    if not isinstance(told, dict):
        raise ValueError("it must consist of names and values")
    parent = told.pop("INHERIT", None)
    if not parent:
        return told
    _require("INHERIT", parent, {str: "a path"})
    if (above := (file.parent / parent).resolve()) in (*under, file):
        raise ValueError(f"INHERIT: {parent} inherits from itself")
    return _merged(_read(above, (*under, file)), told)


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = {name: (under[name], over[name]) for name in under.keys() & over.keys()}
    deep = {name: _merged(*two) for name, two in both.items() if isinstance(two[0], dict) and isinstance(two[1], dict)}
    return {**under, **over, **deep}


class _Loader(yaml.UnsafeLoader):
    """Reads `!ENV` too; what else a generator adds stands for nothing."""


def _environment(loader: _Loader, node: yaml.Node) -> Any:
    """The first variable that is set, or the last value, its default."""
    if isinstance(node, yaml.SequenceNode):
        given: list[Any] = loader.construct_sequence(node)
        if not given:
            raise ValueError("!ENV [] names no variable")
        names, default = given[:-1], given[-1]
    else:
        names, default = [str(node.value)], None
    return next((os.environ[name] for name in names if name in os.environ), default)


_Loader.add_constructor("!ENV", _environment)
_Loader.add_multi_constructor("!", lambda _loader, _tag, _node: None)


def _named(given: Sequence[Any] | Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names with their options, of a list whose entries have options or none, or of a mapping."""
    for entry in [{name: value} for name, value in given.items()] if isinstance(given, Mapping) else given:
        for name, options in entry.items() if isinstance(entry, Mapping) else [(entry, None)]:
            yield str(name), options or {}


def _headings(nav: Sequence[Any], section: str) -> Iterator[Heading]:
    for entry in nav:
        for title, to in entry.items() if isinstance(entry, Mapping) else [("", entry)]:
            if not isinstance(to, str):
                _require("nav", to, {list: _LIST})
                yield from _headings(to or (), section or str(title))
            elif to.endswith(".md"):
                yield Heading(to, str(title), section)
