"""What each page is built from, as a hash: after an edit a server builds those pages whose hash is another.

A page shows more than its own text: what the library computes, acts, figures, and the numbers of figures elsewhere. One
of text alone shows none of it, and one that lists a library's modules shows what these say of themselves. A server
(`mkdocs serve --dirty`) builds a page again when its own file is newer than its HTML, so the HTML is dated.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from explorable.figures.options import FiguresOptions
from explorable.live.build.rooms import Written, shared_files
from explorable.live.options import LiveOptions
from explorable.shared.cache import digest, files_in, fingerprint
from explorable.shared.scan import Scan, scan

DATA = (".bib", ".json", ".toml", ".yml")
"""Data files in the docs folder, from which any page may show something."""
TEMPLATES = (".html", ".svg")
"""Files of the theme that are part of pages."""

OLDER, NEWER = 0, 2**31
"""Seconds since 1970, before and after every edit: one that is made during a build waits for the next."""
ELEMENT = "<live-"
CLASS = f"{ELEMENT}class"
"""How a page begins to show what acts ask."""

_MODULE = re.compile(r"^ *(?:#{1,6} *)?::: ?(\S+)", re.MULTILINE)
"""How a page shows what a module says of itself, as the plugin `mkdocstrings` reads it."""
_CLAIMS = ("claim", "checked")
"""Roles by which a page speaks of claims, whose list leads back to it."""


@dataclass(frozen=True)
class Sources:
    """What a site is built from.

    configuration: its file, which stands in the book's folder. docs: the folder of the pages.
    watched: what its host watches besides. themes: the book's own folders of the theme.
    live, figures: the options of these parts; None for a site without them.
    """

    configuration: Path
    docs: Path
    watched: Sequence[Path]
    themes: Sequence[Path]
    live: LiveOptions | None
    figures: FiguresOptions | None

    def hashes(self, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
        """For each page, given by its source and its text, a hash of all that it is built from."""
        shared, computed = self._shared(texts), _sum(self._watched())
        for page, text in texts.items():
            shown = scan(text)
            parts = [self.configuration.parent / included.file for included in shown.included]
            folder = self.docs / self.live.acts_dir if self.live else self.docs
            if self.live and CLASS in text:
                parts.append(folder)
            if self.live and (acts := shown.named("act")):
                parts += [*shared_files(folder), *(folder / Written.read(name).folder for name in acts)]
            if self.figures:
                figures = self.docs / self.figures.figures
                parts += [figures / f"{name.replace('-', '_')}.py" for name in shown.named("figure", "instrument")]
                parts += [figures.parent / "story.py"] if any(block.name == "strip" for block in shown.blocks) else []
            files = [name for fence in shown.fences for name in fence.options.get("files", "").split()]
            parts += [self.docs / Path(page).parent / name for name in files]
            described = {self._described(module) for module in _MODULE.findall(shown.text)}
            folders = sorted(folder for folder in described if folder)
            if computes(page, shown) or None in described:
                yield page, digest(shared, computed, text, fingerprint(parts))
            else:
                yield page, digest(shared, text, fingerprint([*parts, *folders]))

    def _shared(self, texts: Mapping[str, str]) -> str:
        """A hash of what every page may show something of."""
        data = [path for path in sorted(self.docs.rglob("*")) if path.suffix in DATA]
        theme = [file for folder in self.themes for file in files_in(folder) if file.suffix in TEMPLATES]
        structure = [f"{page}: {item}" for page, text in texts.items() for item in _structure(text)]
        terms = texts.get(self.figures.glossary, "") if self.figures else ""
        return digest(_sum([self.configuration, *data, *theme]), *structure, terms)

    def _watched(self) -> list[Path]:
        """What is watched besides the pages and the theme: every page that computes may show something of it.

        Only templates of the theme matter: styles, fonts and scripts are copied beside the pages and are no part of
        them.
        """
        found = [file for path in self.watched if path != self.docs for file in files_in(path)]
        return [file for file in found if not any(file.is_relative_to(folder) for folder in self.themes)]

    def _described(self, module: str) -> Path | None:
        """The folder in which a watched module stands, with what it may take over; None for any other module."""
        top, *below = module.split(".")
        home = next((path for path in self.watched if path.name == top and path.is_dir()), None)
        if home is None:
            return None
        stands = home.joinpath(*below)
        return stands if stands.is_dir() else stands.parent if stands.with_suffix(".py").is_file() else home


def computes(page: str, shown: Scan) -> bool:
    """Whether a page shows more than text: a block, a role, a live fence, an element of ours, or what it includes.

    A page that a part makes of another file shows what that file gave.
    """
    live = any(fence.language == "live" for fence in shown.fences)
    given = shown.blocks or shown.roles or shown.included or live or ELEMENT in shown.text
    return bool(given) or not page.endswith(".md")


def _sum(files: Sequence[Path]) -> str:
    """A hash of files, and of where they stand."""
    return digest(fingerprint(files), *map(str, files))


class Pages:
    """What each page was last built from, over the builds of a server."""

    def __init__(self) -> None:
        self._built: dict[str, str] = {}
        self._building: dict[str, str] = {}

    def date(self, sources: Sources, texts: Mapping[str, str], made: Mapping[str, Path]) -> None:
        """Let the HTML of pages that have changed be older than their files, and that of all others newer."""
        self._building = dict(sources.hashes(texts))
        for page, html in made.items():
            if html.is_file():
                seconds = NEWER if self._built.get(page) == self._building[page] else OLDER
                os.utime(html, (seconds, seconds))

    def built(self) -> None:
        """Count them as made, which a failed build does not reach: the next build then makes its pages again."""
        self._built = self._building


def _structure(text: str) -> Iterator[str]:
    """What other pages refer to, or list: acts, figures, tables, equations, and claims that a page speaks of."""
    page = scan(text)
    yield from (f"{block.name} {block.argument}" for block in page.blocks)
    yield from (role.text for role in page.roles if role.name in _CLAIMS)
