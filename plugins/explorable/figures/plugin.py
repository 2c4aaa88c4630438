"""The MkDocs plugin: numbers figures, tables and equations, appends the glossary to pages, checks typed numbers."""

from __future__ import annotations

import posixpath
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url

from explorable.book import current, library_folder
from explorable.figures import glossary
from explorable.figures.bibliography import BibliographyError, Work, load
from explorable.figures.config import BookConfig
from explorable.figures.contents import chapters
from explorable.figures.extension import CONSTRUCTS, Book, BookExtension
from explorable.figures.figures import Figures
from explorable.figures.labels import Labels
from explorable.shared import locate
from explorable.shared.cache import Cache, digest
from explorable.shared.errors import Defect
from explorable.shared.typed_numbers import typed_numbers

log = get_plugin_logger("book")

STYLESHEET = "assets/book/book.css"
STATES = "assets/book/figures"
"""Where the states of moving figures are, under the site's root."""


class BookPlugin(BasePlugin[BookConfig]):  # type: ignore[no-untyped-call]
    """Numbered figures, tables and equations, citations, a glossary, and a check of typed numbers."""

    def __init__(self) -> None:
        self._book: Book | None = None
        self._locate = locate.LocateExtension()
        self._terms: dict[str, str] = {}
        # The states of moving figures by their address, under the site's root.
        self._states: dict[str, str] = {}
        self._url = ""

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig | None:
        """Read the bibliography and add the Markdown extension. Runs again before every rebuild."""
        self._close()
        self._book = None
        if not self.config.enabled:
            return None
        root = Path(config.config_file_path).parent if config.config_file_path else Path.cwd()
        docs, cache = Path(config.docs_dir), root / self.config.cache_dir
        engine = library_folder(self.config.engine, root) if self.config.engine else current().library
        drawings = Cache(cache / "figures" if self.config.cache else None)
        figures = Figures(docs / self.config.figures, engine, drawings, cache / "bytecode")
        self._book = Book(figures, self._works(docs / self.config.bibliography, config), self.config.figures)
        self._book.publish = self._publish
        self._book.complain = lambda defect: log.warning("%s", defect)
        self._locate = locate.install(config, CONSTRUCTS)
        extensions: list[Any] = config.markdown_extensions
        extensions.append(BookExtension(self._book))
        config.extra_css.append(STYLESHEET)
        config.watch += [str(engine)] if engine else []
        return config

    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Publish the style sheet and read the glossary."""
        if self._book is None:
            return files
        files.append(File.generated(config, STYLESHEET, abs_src_path=str(Path(__file__).with_name("book.css"))))
        page = files.get_file_from_path(self.config.glossary)
        self._terms = glossary.definitions(page.content_string) if page else {}
        return files

    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> None:
        """Number what the chapter's pages show, in the order of the navigation."""
        if self._book is None:
            return
        pages = [page for page in nav.pages if self._numbers(page.file.src_uri)]
        texts = [(page.file.src_uri, page.file.content_string) for page in pages]
        self._book.labels = Labels.of(texts)
        self._book.chapters = chapters(texts)
        for page, chapter in zip(pages, self._book.chapters, strict=True):
            page.title = f"{chapter.number}. {page.title or chapter.title}"
        for name, second, first in self._book.labels.doubles:
            what = f"'{name}' is already the name of {first.title} in {first.page}:{first.line}"
            path = locate.source_path(posixpath.join(config.docs_dir, second.page), config)
            log.warning("%s", Defect(path, second.line, what, "give it another name"))

    # Last, so that the other plugins see the author's text without the glossary that is appended here.
    @event_priority(-100)
    def on_page_markdown(self, markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str | None:
        """Tell the extension which page comes next, check its numbers, and append the glossary."""
        if self._book is None:
            return None
        self._locate.enter(page, markdown, config)
        self._book.page, self._book.report = page.file.src_uri, self._report
        self._url = page.url
        if not self._serves(page.file.src_uri):
            return None
        for line, text in typed_numbers(markdown):
            fix = "compute it with `{engine} …`, cite its source in the same sentence, or mark a definition with <dfn>"
            self._report(self._locate.first_line + line - 1, f"'{text}' is a typed number", fix)
        if page.file.src_uri == self.config.glossary:
            return None
        return f"{markdown}\n\n{glossary.abbreviations(self._terms)}\n"

    def on_page_content(self, html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str | None:
        """Say above the heading which chapter this is, and how long it takes to read."""
        found = (
            next((one for one in self._book.chapters if one.page == page.file.src_uri), None) if self._book else None
        )
        if found is None:
            return None
        time = f"{found.minutes} minute{'s' if found.minutes > 1 else ''} to read"
        return f'<p class="il-eyebrow">Chapter {found.number} · {time}</p>\n{html}'

    def on_env(self, env: Any, *, config: MkDocsConfig, files: Files) -> None:
        """Publish the states of the moving figures. All pages are rendered by now."""
        for uri, content in self._states.items():
            files.append(File.generated(config, uri, content=content))

    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """End the child process."""
        self._close()

    def on_build_error(self, error: Exception) -> None:
        """End the child process."""
        self._close()

    def _serves(self, page: str) -> bool:
        """Whether a page belongs to the chapter."""
        return page.startswith(f"{self.config.chapter}/")

    def _numbers(self, page: str) -> bool:
        """Whether a page of the chapter has a number: its contents, its glossary and its cheat sheet have none."""
        unnumbered = {f"{self.config.chapter}/{name}.md" for name in ("index", "cheat-sheet")} | {self.config.glossary}
        return self._serves(page) and page not in unnumbered

    def _publish(self, name: str, states: str) -> str:
        uri = f"{STATES}/{name}-{digest(states)[:12]}.json"
        self._states[uri] = states
        return get_relative_url(uri, self._url)

    @staticmethod
    def _works(path: Path, config: MkDocsConfig) -> dict[str, Work] | None:
        if not path.is_file():
            return {}
        try:
            return load(path)
        except BibliographyError as error:
            log.warning("%s", Defect(locate.source_path(str(path), config), error.line, str(error)))
            return None

    def _report(self, line: int | None, what: str, fix: str) -> None:
        """A mistake of an author: a warning, which fails the strict build."""
        log.warning("%s", self._locate.defect(line, what, fix))

    def _close(self) -> None:
        if self._book is not None:
            self._book.figures.close()
