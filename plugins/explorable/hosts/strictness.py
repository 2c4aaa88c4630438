"""MkDocs hooks that find mistakes in a page's source and encoding, and show all mistakes in the page when serving.

A strict build fails with file, line and a way out. A server goes on, and an author looks at the page, not at the
terminal: so the page says what is wrong with it.
"""

from __future__ import annotations

import html
import logging
import os
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority, get_plugin_logger
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from explorable.shared.errors import Defect, nearest
from explorable.shared.locate import Constructs, installed, source_path
from explorable.shared.sources import NO_YAML, mistakes

log = get_plugin_logger("strict")


class _Page(logging.Handler):
    """Hears what is wrong with the page that is being made."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.heard: list[str] = []
        self.before: list[str] = []
        """What was heard before the first page: of data that any page may show."""
        self.making = False
        self.serving = False

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line."""
        (self.heard if self.making else self.before).append(record.getMessage())


_page = _Page()


def on_startup(*, command: str, dirty: bool) -> None:
    """Listen to all plugins."""
    _page.serving = command == "serve"
    _begin()
    _decoded.clear()
    logging.getLogger("mkdocs").removeHandler(_page)
    logging.getLogger("mkdocs").addHandler(_page)


def _begin() -> None:
    """Hear what the next build says before its pages."""
    _page.making = False
    _page.before.clear()


def on_post_build(*, config: MkDocsConfig) -> None:
    """Forget the build."""
    _begin()


def on_build_error(*, error: Exception) -> None:
    """Forget the build."""
    _begin()


_READ_AS_TEXT = (".py", ".toml", ".bib", ".json")
_decoded: dict[Path, tuple[int, int]] = {}
"""Files that were UTF-8 when they were last looked at, with the time of their last change and their size."""
_INCLUDED = re.compile(r"""^\s*-{1,}8<-{1,}\s+["'](?P<file>[^"':]+)(?::(?P<section>[\w-]+))?["']\s*$""")


@event_priority(200)
def on_pre_build(*, config: MkDocsConfig) -> None:
    """Stop at a file beside the pages that is not UTF-8. Its reader would blame a page, or name no file.

    A build looks at all files, a server that rebuilds only at those that have changed.
    """
    files = (Path(folder, name) for folder, _, names in os.walk(config.docs_dir) for name in names)
    for path in sorted(file for file in files if file.suffix in _READ_AS_TEXT and file.is_file()):
        found = path.stat()
        changed = (found.st_mtime_ns, found.st_size)
        if _page.serving and _decoded.get(path) == changed:
            continue
        if defect := _undecodable(path, config):
            raise PluginError(str(defect))
        _decoded[path] = changed


def _undecodable(path: Path, config: MkDocsConfig) -> Defect | None:
    raw = path.read_bytes()
    try:
        raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        what = f"the byte 0x{raw[error.start]:02x} is not UTF-8"
        return Defect(source_path(str(path), config), line, what, "save the file in the encoding UTF-8")
    return None


# First, because a page that cannot be decoded would end the build with a traceback in any code that reads it.
@event_priority(200)
def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Report every page that is not UTF-8, and show the report in place of the page."""
    for file in files.documentation_pages():
        if file.abs_src_path is None:
            continue
        if defect := _undecodable(Path(file.abs_src_path), config):
            log.warning("%s", defect)
            file.content_string = f"# {file.name}\n\n{defect}\n"
    return files


@event_priority(200)
def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Check the source file as its author wrote it. Includes that are not found are left out: they end a build."""
    _page.heard.clear()
    _page.making = True
    path = page.file.abs_src_path
    if path is not None and path.endswith(".md"):
        located = installed(config)
        known = located.known if located else Constructs()
        for line, what, fix in mistakes(page.file.content_string, known):
            log.warning("%s", Defect(source_path(path, config), line, what, fix))
            if what.startswith(NO_YAML):
                # MkDocs reads more than is allowed here, and a title may stand for more than memory holds.
                page.meta.clear()
        for number, text in enumerate(page.file.content_string.splitlines(), 1):
            if (included := _INCLUDED.match(text)) and (missing := _missing(included, Path(path), config)):
                log.warning("%s", Defect(source_path(path, config), number, *missing))
                markdown = markdown.replace(text, "", 1)
    return markdown


def _missing(included: re.Match[str], page: Path, config: MkDocsConfig) -> tuple[str, str] | None:
    """What is wrong with the file or the section that a line of a page includes, and what to do."""
    root = Path(config.config_file_path or ".").parent
    path = root / included["file"]
    if not path.resolve().is_relative_to(root.resolve()):
        return f"'{included['file']}' lies outside of the project", "include a file of the project"
    if not path.is_file():
        return f"there is no file '{included['file']}' to include", "write its path from the project's folder"
    if page.resolve() in _within(path.resolve(), root):
        through = "itself" if path.samefile(page) else f"'{included['file']}', which includes the page again"
        return f"the page includes {through}", "remove the line"
    if defect := _undecodable(path, config):
        return str(defect), ""
    sections = re.findall(r"-{1,}8<-{1,}\s+\[start:([\w-]+)\]", path.read_text(encoding="utf-8"))
    if included["section"] and included["section"] not in sections:
        what = f"'{included['file']}' has no section '{included['section']}' to include"
        return what, nearest(included["section"], sections)
    return None


def _within(path: Path, root: Path) -> set[Path]:
    """A file, and all that it includes, and what these include."""
    found, waiting = set[Path](), [path]
    while waiting:
        file = waiting.pop()
        if file in found or not file.is_file():
            continue
        found.add(file)
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        waiting += [(root / included["file"]).resolve() for line in lines if (included := _INCLUDED.match(line))]
    return found


@event_priority(-200)
def on_page_content(content: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> str | None:
    """Under `mkdocs serve`, say at the top of the page what is wrong with it and what the page does not say itself."""
    # What is wrong with another page stands there.
    before = [line for line in _page.before if ".md" not in line or page.file.src_uri in line]
    unsaid = [line for line in dict.fromkeys([*before, *_page.heard]) if html.escape(line) not in content]
    if not unsaid or not _page.serving:
        return None
    said = "".join(f"<li>{html.escape(line)}</li>" for line in unsaid)
    title = '<p class="admonition-title">This page does not pass the strict build</p>'
    return f'<div class="admonition failure" role="alert">{title}<ul>{said}</ul></div>\n{content}'
