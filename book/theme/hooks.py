"""MkDocs hooks of the theme: formulas know their page, for messages, and pages get their content security policy."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import event_priority, get_plugin_logger
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from book.theme.scripts import Found, drawing, scripts
from explorable.hosts.policy import with_policy
from explorable.shared.errors import Defect
from explorable.shared.locate import source_path

log = get_plugin_logger("theme")

_serves = False


def on_startup(*, command: Literal["build", "gh-deploy", "serve"], dirty: bool) -> None:
    """Note whether this is `mkdocs serve`, which adds a script of its own to pages that have their policy already."""
    global _serves
    _serves = command == "serve"


# Last: whatever else changes a page has done so.
@event_priority(-100)
def on_post_page(output: str, /, *, page: Page, config: MkDocsConfig) -> str:
    """Give a page its policy, and report every script that nobody listed."""
    source = Path(page.file.abs_src_path or "")
    if not source.is_file():
        return _governed(output, config, page.file.src_uri, "")
    # A notebook's page is made from JSON or Python, whose lines are the author's too.
    text = _read(source)
    return _governed(output, config, source_path(str(source), config), text)


def on_post_template(output: str, /, *, template_name: str, config: MkDocsConfig) -> str:
    """Give the page for addresses that do not exist its policy."""
    return _governed(output, config, template_name, "") if template_name.endswith(".html") else output


def _governed(html: str, config: MkDocsConfig, name: str, source: str) -> str:
    if _serves:
        return html
    files = {str(script) for script in config.extra_javascript}
    found = list(scripts(html, files))
    for script in found:
        if script.refused:
            fix = "Remove it, or read it and add its hash to book/theme/scripts.toml"
            built = html.count("\n", 0, script.start) + 1
            what = f"on line {built} of the built page, {script.refused}"
            log.warning("%s", Defect(name, _line(script, source), what, fix))
    release = config.extra.get("release", {})
    allowed = [script.hash for script in found if not script.refused and script.hash]
    return with_policy(html, allowed, release.get("folders", ()))


def _line(script: Found, source: str) -> int | None:
    """The line of the page's source on which the script begins, if anything of it stands there as in the built page."""
    first = next((line.strip() for line in script.text.splitlines() if line.strip()), "")
    for words in (first, script.clue):
        if words and (at := source.find(words)) >= 0:
            return source.count("\n", 0, at) + 1
    return None


_OUTSIDE = (".html", ".htm", ".xhtml", ".xht", ".xml", ".mht", ".mhtml", ".shtml")
"""Files that a browser shows as a page."""


# Late: other plugins have added their files. Nobody else may let a page in that has no policy.
@event_priority(-100)
def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Leave out and report files that a browser would show as a page, and drawings that run a script."""
    for file in list(files):
        path = Path(file.abs_src_path or "")
        name = source_path(str(path), config)
        if file.is_documentation_page() or not path.is_relative_to(config.docs_dir):
            continue
        if path.suffix.lower() in _OUTSIDE:
            defect = Defect(name, 1, "this page has no content security policy", "Write it as a page of Markdown")
        elif path.suffix.lower() == ".svg" and (found := drawing(text := _read(path))):
            line = text.count("\n", 0, found.start) + 1
            defect = Defect(name, line, found.refused, "Remove it from the drawing")
        else:
            continue
        log.warning("%s", defect)
        files.remove(file)
    return files


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8-sig", errors="replace")


def on_page_markdown(markdown: str, /, *, page: Page, config: MkDocsConfig, files: Files) -> None:
    """Name the page, so that a broken formula is reported with file and line.

    MkDocs makes one Markdown converter per page from `mdx_configs`, which is how an extension learns of its page.
    """
    options = {"page": page.file.src_uri, "text": markdown}
    if page.file.abs_src_path is not None:
        path = Path(page.file.abs_src_path)
        root = Path(config.config_file_path).parent if config.config_file_path else Path.cwd()
        options = {
            "page": path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix(),
            # The file itself, not what other plugins made of it: its lines are the author's lines.
            "text": path.read_text(encoding="utf-8-sig"),
        }
    config.mdx_configs["book.theme.mathml"] = options
