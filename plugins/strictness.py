"""MkDocs hooks that leave no mistake unsaid: in a page's source, in its bytes, and, under `mkdocs serve`, in the page.

A strict build fails with file, line and a way out. A server goes on, and an author looks at the page, not at the
terminal: so the page says what is wrong with it.
"""

from __future__ import annotations

import html
import logging
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority, get_plugin_logger
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from plugins.shared.errors import Defect
from plugins.shared.locate import Constructs, installed, source_path
from plugins.shared.sources import mistakes

log = get_plugin_logger("strict")


class _Page(logging.Handler):
    """Hears what is wrong with the page that is being made."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[str] = []
        self.serving = False

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line."""
        self.heard.append(record.getMessage())


_page = _Page()


def on_startup(*, command: str, dirty: bool) -> None:
    """Listen to all plugins."""
    _page.serving = command == "serve"
    logging.getLogger("mkdocs").removeHandler(_page)
    logging.getLogger("mkdocs").addHandler(_page)


# First: a page that cannot be decoded would end the build with a traceback in whatever reads it.
@event_priority(200)
def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Name every page that is not UTF-8, and show where instead of the page."""
    for file in files.documentation_pages():
        if file.abs_src_path is None:
            continue
        raw = Path(file.abs_src_path).read_bytes()
        try:
            raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            place = source_path(file.abs_src_path, config)
            what = f"the byte 0x{raw[error.start]:02x} is not UTF-8"
            log.warning("%s", defect := Defect(place, line, what, "save the file in the encoding UTF-8"))
            file.content_string = f"# {file.name}\n\n{defect}\n"
    return files


@event_priority(200)
def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Look at the source file as the author wrote it."""
    _page.heard.clear()
    path = page.file.abs_src_path
    if path is not None and path.endswith(".md"):
        located = installed(config)
        known = located.known if located else Constructs()
        for line, what, fix in mistakes(page.file.content_string, known):
            log.warning("%s", Defect(source_path(path, config), line, what, fix))


@event_priority(-200)
def on_page_content(content: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str | None:
    """Under `mkdocs serve`, say at the top of the page what is wrong with it and what the page does not say itself."""
    unsaid = [line for line in dict.fromkeys(_page.heard) if html.escape(line) not in content]
    if not unsaid or not _page.serving:
        return None
    said = "".join(f"<li>{html.escape(line)}</li>" for line in unsaid)
    title = '<p class="admonition-title">This page does not pass the strict build</p>'
    return f'<div class="admonition failure" role="alert">{title}<ul>{said}</ul></div>\n{content}'
