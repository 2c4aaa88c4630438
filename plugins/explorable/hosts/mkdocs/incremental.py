"""Makes `mkdocs serve --dirty` right: an edit rebuilds the pages that it can change, and no others.

With `--dirty`, MkDocs builds a page again when its own file is newer than its HTML. But a page also shows what the
engine computes, acts, figures, and the numbers of figures elsewhere. So each page is compared here with everything that
it was last built from.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from explorable.figures.options import FiguresOptions
from explorable.live.build.rooms import shared_files
from explorable.live.options import LiveOptions
from explorable.shared.cache import digest, fingerprint
from explorable.shared.scan import scan

DATA = (".bib", ".json", ".toml", ".yml")
"""Data files in the docs folder, from which any page may show something."""
TEMPLATES = (".html", ".svg")
"""Files of the theme that are part of pages."""

_CLAIMS = ("claim", "checked")
"""Roles by which a page speaks of claims, whose list leads back to it."""


class Incremental:
    """What lasts from one build of a server to the next: what each page was built from."""

    def __init__(self, *, dirty: bool) -> None:
        self._dirty = dirty
        self._built_from: dict[str, str] = {}
        self._building_from: dict[str, str] = {}

    def mark(
        self, files: Files, config: MkDocsConfig, live: LiveOptions | None, figures: FiguresOptions | None
    ) -> None:
        """Tell MkDocs which pages have changed."""
        if not self._dirty:
            return
        self._live, self._figures = live, figures
        pages = files.documentation_pages()
        sources = dict(self._sources(pages, config))
        changed = [page for page in pages if self._built_from.get(page.src_uri) != sources[page.src_uri]]
        for page in pages:
            # MkDocs asks twice. If an edit changed the answer meanwhile, it would write a page that it did not render.
            vars(page)["is_modified"] = partial(bool, page in changed)
        _forget(changed, config)
        self._building_from = sources

    def built(self) -> None:
        """Count the pages as built, which a failed build does not reach: the next build then makes its pages again."""
        self._built_from = self._building_from

    def _sources(self, pages: Iterable[File], config: MkDocsConfig) -> Iterator[tuple[str, str]]:
        """For each page, a hash of all that it is built from."""
        docs, root = Path(config.docs_dir), Path(config.config_file_path).parent
        texts = {page.src_uri: page.content_string for page in pages}
        shared = self._shared(texts, docs, config)
        for page, text in texts.items():
            shown = scan(text)
            parts = [root / included.file for included in shown.included]
            if self._live and (acts := shown.named("act")):
                folder = docs / self._live.acts_dir
                parts += [*shared_files(folder), *(folder / name.replace("-", "_") for name in acts)]
            if self._figures:
                figures = docs / self._figures.figures
                parts += [figures / f"{name.replace('-', '_')}.py" for name in shown.named("figure", "instrument")]
                parts += [figures.parent / "story.py"] if any(block.name == "strip" for block in shown.blocks) else []
            files = [name for fence in shown.fences for name in fence.options.get("files", "").split()]
            parts += [docs / Path(page).parent / name for name in files]
            yield page, digest(shared, text, fingerprint(parts))

    def _shared(self, texts: dict[str, str], docs: Path, config: MkDocsConfig) -> str:
        """A hash of what every page may show something of."""
        folders = [Path(folder) for folder in config.theme.dirs if Path(folder).is_relative_to(docs.parent)]
        found = [file for path in map(Path, config.watch) if path != docs for file in _files(path)]
        # Only templates of the theme matter: styles, fonts and scripts are copied beside the pages and are no part of
        # them.
        watched = [file for file in found if not any(file.is_relative_to(folder) for folder in folders)]
        data = [path for path in sorted(docs.rglob("*")) if path.suffix in DATA]
        theme = [file for folder in folders for file in _files(folder) if file.suffix in TEMPLATES]
        structure = [f"{page}: {one}" for page, text in texts.items() for one in _structure(text)]
        terms = texts.get(self._figures.glossary, "") if self._figures else ""
        sources = [Path(config.config_file_path), *watched, *data, *theme]
        return digest(fingerprint(sources), *map(str, sources), *structure, terms)


def _structure(text: str) -> Iterator[str]:
    """What other pages refer to, or list: acts, figures, tables, equations, and claims that a page speaks of."""
    page = scan(text)
    yield from (f"{block.name} {block.argument}" for block in page.blocks)
    yield from (role.text for role in page.roles if role.name in _CLAIMS)


def _is_true_here(record: logging.LogRecord) -> bool:
    """Whether to show a log line: not MkDocs's warning of wrong navigation and links, which this prevents."""
    return not record.getMessage().startswith("A 'dirty' build")


logging.getLogger("mkdocs.commands.build").addFilter(_is_true_here)


def _files(path: Path) -> list[Path]:
    """A file, or all files of a folder, byte code left out."""
    found = sorted(path.rglob("*")) if path.is_dir() else [path]
    return [file for file in found if file.is_file() and "__pycache__" not in file.parts]


def _forget(changed: Iterable[File], config: MkDocsConfig) -> None:
    """Take the pages out of the search index, whose plugin would replace the first of them only."""
    previous = getattr(config.plugins.get("material/search"), "search_index_prev", None)
    if previous is not None:
        gone = {page.url for page in changed}
        previous.entries = [entry for entry in previous.entries if entry["location"].partition("#")[0] not in gone]
