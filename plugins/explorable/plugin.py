"""The MkDocs plugin `explorable`: what the book is, and all parts of the toolkit under one name.

    plugins:
      - explorable:
          id: queues
          library: queues

Each part is a MkDocs plugin or a module of MkDocs hooks of its own. This one makes them, hands them their options, and
registers their events as its own, so that their priorities hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config import config_options as option
from mkdocs.config.base import Config, ConfigErrors, ConfigWarnings
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, CombinedEvent, event_priority
from mkdocs.structure.files import File, Files, InclusionLevel

from explorable import book
from explorable.book import Book
from explorable.figures.plugin import BookPlugin
from explorable.hosts import dead_links, incremental, strictness
from explorable.live.plugin import LivePlugin
from explorable.measured.plugin import MeasuredPlugin
from explorable.records import JsonRecords

PARTS: dict[str, type[BasePlugin[Any]]] = {"live": LivePlugin, "measured": MeasuredPlugin, "figures": BookPlugin}
HOOKS = {"strictness": strictness, "dead_links": dead_links, "incremental": incremental}
COLORS = "assets/live/colors.css"
_ID = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_COLOR = re.compile(r"#[0-9a-f]{6}")


class Numbers(Config):  # type: ignore[no-untyped-call]
    """Where numbers come from.

    vocabulary: the module whose public names inline numbers may use; by default the library.
    records: the folder of the records, relative to `mkdocs.yml`.
    schema: their JSON Schema.
    command: what measures them; `{suite}` and `{case}` stand for what is asked.
    """

    vocabulary = option.Type(str, default="")
    records = option.Type(str, default="records")
    schema = option.Type(str, default="")
    command = option.Type(str, default="")


class ExplorableConfig(Config):  # type: ignore[no-untyped-call]
    """Options of the plugin.

    book: a module with a `BOOK`, for a book that says by program what it is; the next six options are left out then.
    id: prefix of what readers keep in their browser; lower-case letters, digits and "-".
    library: the package that snippets, acts and numbers use, by name or as a folder relative to `mkdocs.yml`.
    ledger: a JSON file with the ledger's own fields, relative to `mkdocs.yml`.
    colors: name of a color token -> its value on light paper.
    numbers: see `Numbers`.
    acts: the folder of the acts, inside the docs folder.
    packages: what snippets may import beside the standard library and the book's own, as Pyodide has it.
    parts: which parts the book has.
    live, measured, figures: further options of a part.
    """

    book = option.Type(str, default="")
    id = option.Type(str, default="book")
    library = option.Type(str, default="")
    ledger = option.Type(str, default="")
    colors = option.DictOfItems(option.Type(str), default={})
    numbers = option.SubConfig(Numbers)
    acts = option.Type(str, default="acts")
    packages = option.ListOfItems(option.Type(str), default=[])
    parts = option.ListOfItems(option.Choice((*PARTS, *HOOKS)), default=[*PARTS, *HOOKS])
    live = option.Type(dict, default={})
    measured = option.Type(dict, default={})
    figures = option.Type(dict, default={})


class ExplorablePlugin(BasePlugin[ExplorableConfig]):  # type: ignore[no-untyped-call]
    """A book, and the parts that it is made with."""

    def load_config(
        self, options: dict[str, Any], config_file_path: str | None = None
    ) -> tuple[ConfigErrors, ConfigWarnings]:
        """Read the options, make the parts, and take their events."""
        errors, warnings = super().load_config(options, config_file_path)
        if errors:
            return errors, warnings
        self._root = Path(config_file_path).parent if config_file_path else Path.cwd()
        given = {
            "live": {"acts_dir": self.config.acts, "packages": self.config.packages},
            "measured": {},
            "figures": {},
        }
        for name in ("live", "measured"):
            given[name]["records"] = self.config.numbers.records
        self.parts: dict[str, BasePlugin[Any]] = {}
        for name in self.config.parts:
            if name in PARTS:
                part = self.parts[name] = PARTS[name]()
                failed, doubtful = part.load_config({**given[name], **self.config[name]}, config_file_path)
                errors += [(f"{name}: {key}", error) for key, error in failed]
                warnings += [(f"{name}: {key}", text) for key, text in doubtful]
        hooks = [HOOKS[name] for name in self.config.parts if name in HOOKS]
        self._take([*self.parts.values(), *hooks])
        return errors, warnings

    def _take(self, parts: list[Any]) -> None:
        for event in sorted({name for part in [self, *parts] for name in dir(part) if name.startswith("on_")}):
            methods = [method for part in [self, *parts] for method in _methods(part, event)]
            if methods:
                setattr(self, event, CombinedEvent(*methods))

    # Before any part asks which book it is.
    @event_priority(100)
    def on_config(self, config: MkDocsConfig) -> None:
        """Say which book this process builds."""
        self.use_book()
        if self.book.colors and not self.book.styles:
            config.extra_css.append(COLORS)

    def use_book(self) -> None:
        """Let this process build this book. Raises `PluginError` for a book that is not there."""
        try:
            self.book = self._book()
        except LookupError as error:
            raise PluginError(f"explorable: {error}") from None
        book.use(self.book)

    def on_files(self, files: Files, *, config: MkDocsConfig) -> None:
        """Publish the book's colors, unless it has style sheets of its own."""
        if COLORS in config.extra_css:
            text = _colors_css(self.book)
            files.append(File.generated(config, COLORS, content=text, inclusion=InclusionLevel.INCLUDED))

    def _book(self) -> Book:
        if self.config.book:
            return book.from_module(self.config.book, self._root)
        numbers, wrong = self.config.numbers, _wrong(self.config)
        if wrong:
            raise LookupError(wrong)
        made = Book(
            id=self.config.id,
            library=book.library_folder(self.config.library, self._root) if self.config.library else None,
            vocabulary=numbers.vocabulary,
            ledger=self._root / self.config.ledger if self.config.ledger else None,
            colors=self.config.colors,
        )
        if not numbers.schema:
            return made
        return book.replace(made, records=JsonRecords(self._root / numbers.schema, numbers.command))


def _wrong(config: ExplorableConfig) -> str:
    """What is wrong with an option, which value, and what is allowed; "" if nothing is."""
    if not _ID.fullmatch(config.id):
        return f"id: {config.id!r} is not allowed; allowed: lower-case letters, digits and '-'"
    for name, value in config.colors.items():
        if not _ID.fullmatch(name) or not _COLOR.fullmatch(value):
            return f"colors: '{name}: {value}' is not allowed; allowed: a name in small letters, a color as '#006395'"
    return ""


def _methods(part: Any, event: str) -> Iterator[Any]:
    """What a part does at an event."""
    own = getattr(part, event, None)
    if isinstance(part, BasePlugin) and getattr(type(part), event, None) is getattr(BasePlugin, event, None):
        return  # what every plugin inherits does nothing
    if isinstance(own, CombinedEvent):
        yield from own.methods
    elif own is not None:
        yield own


def _colors_css(made: Book) -> str:
    """The book's colors as tokens: as they are on light paper, lighter on dark."""
    light = "".join(f"--il-{name}:{value};" for name, value in made.colors.items())
    dark = "".join(f"--il-{name}:color-mix(in oklab,{value} 55%,white);" for name, value in made.colors.items())
    tokens = f":root,[data-md-color-scheme]{{{light}}}[data-md-color-scheme=slate]{{{dark}}}"
    return f"@layer explorable{{{tokens}}}\n"
