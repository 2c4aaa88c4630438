"""Makes `mkdocs serve --dirty` right: an edit rebuilds the pages that it can change, and no others.

With `--dirty`, MkDocs builds a page again when its own file is newer than its HTML. Here each page is compared with
everything that it was last built from, and its HTML gets the time that says so.
"""

from __future__ import annotations

import os
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files

from explorable.build import Build
from explorable.built_from import Pages, Sources

OLDER, NEWER = 0, 2**31
"""Seconds since 1970, before and after every edit: one that is made during a build waits for the next."""


class Incremental:
    """What lasts from one build of a server to the next: what each page was built from."""

    def __init__(self, *, dirty: bool) -> None:
        self._dirty = dirty
        self._pages = Pages()

    def mark(self, files: Files, config: MkDocsConfig, build: Build) -> None:
        """Let the HTML of pages that have changed be older than their files, and that of all others newer."""
        if not self._dirty:
            return
        sources = Sources(
            Path(config.config_file_path),
            Path(config.docs_dir),
            watched=[Path(path) for path in config.watch],
            themes=[folder for folder in map(Path, config.theme.dirs) if folder.is_relative_to(build.root)],
            live=build.options.get("live"),
            figures=build.options.get("figures"),
        )
        pages = files.documentation_pages()
        changed = self._pages.changed(sources, {page.src_uri: page.content_string for page in pages})
        for page in pages:
            if (made := Path(page.abs_dest_path)).is_file():
                seconds = OLDER if page.src_uri in changed else NEWER
                os.utime(made, (seconds, seconds))

    def built(self) -> None:
        """Count the pages as built, which a failed build does not reach: the next build then makes its pages again."""
        self._pages.built()
