"""Makes `mkdocs serve --dirty` right: an edit rebuilds the pages that it can change, and no others.

With `--dirty`, MkDocs builds a page again when its own file is newer than its HTML. Here each page is compared with
everything that it was last built from.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from functools import partial
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from explorable.build import Build
from explorable.built_from import Sources


class Incremental:
    """What lasts from one build of a server to the next: what each page was built from."""

    def __init__(self, *, dirty: bool) -> None:
        self._dirty = dirty
        self._built_from: dict[str, str] = {}
        self._building_from: dict[str, str] = {}

    def mark(self, files: Files, config: MkDocsConfig, build: Build) -> None:
        """Tell MkDocs which pages have changed."""
        if not self._dirty:
            return
        pages = files.documentation_pages()
        sources = Sources(
            Path(config.config_file_path),
            Path(config.docs_dir),
            watched=[Path(path) for path in config.watch],
            themes=[folder for folder in map(Path, config.theme.dirs) if folder.is_relative_to(build.root)],
            live=build.options.get("live"),
            figures=build.options.get("figures"),
        )
        self._building_from = dict(sources.hashes({page.src_uri: page.content_string for page in pages}))
        changed = [page for page in pages if self._built_from.get(page.src_uri) != self._building_from[page.src_uri]]
        for page in pages:
            # MkDocs asks twice. If an edit changed the answer meanwhile, it would write a page that it did not render.
            vars(page)["is_modified"] = partial(bool, page in changed)
        _forget(changed, config)

    def built(self) -> None:
        """Count the pages as built, which a failed build does not reach: the next build then makes its pages again."""
        self._built_from = self._building_from


def _is_true_here(record: logging.LogRecord) -> bool:
    """Whether to show a log line: not MkDocs's warning of wrong navigation and links, which this prevents."""
    return not record.getMessage().startswith("A 'dirty' build")


logging.getLogger("mkdocs.commands.build").addFilter(_is_true_here)


def _forget(changed: Iterable[File], config: MkDocsConfig) -> None:
    """Take the pages out of the search index, whose plugin would replace the first of them only."""
    previous = getattr(config.plugins.get("material/search"), "search_index_prev", None)
    if previous is not None:
        gone = {page.url for page in changed}
        previous.entries = [entry for entry in previous.entries if entry["location"].partition("#")[0] not in gone]
