"""The MkDocs plugin `explorable`: tells the parts what MkDocs knows of a site, and MkDocs what they give.

    plugins:
      - explorable:
          id: queues
          library: queues

What stands there is `explorable.options.Options`.
"""

from __future__ import annotations

import logging
import sysconfig
from contextlib import suppress
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemBytecodeCache, TemplateNotFound
from mkdocs.config.base import ConfigErrors, ConfigWarnings, LegacyConfig
from mkdocs.config.config_options import ExtraScriptValue
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort, MkDocsException, PluginError
from mkdocs.plugins import BasePlugin, get_plugin_logger
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page as MkDocsPage

from explorable.build import Build, Builds
from explorable.hosts.mkdocs.links import Places
from explorable.manifest import Manifest, PageFacts
from explorable.measured import wrong
from explorable.shared import log
from explorable.shared.errors import UnbuildableError, in_a_line
from explorable.shared.heard import Heard
from explorable.shared.locate import source_path
from explorable.site import Asset, Page

# What the parts say, MkDocs hears: its strict build fails at a warning.
logging.getLogger(log.ALL).parent = get_plugin_logger(log.ALL).logger


_INSTALLED = sysconfig.get_path("purelib")
"""Where what is installed lies: it changes between two runs of a server, and not beside one."""


class ExplorablePlugin(BasePlugin[LegacyConfig]):  # type: ignore[no-untyped-call]
    """The toolkit for MkDocs, which keeps it from one build of a server to the next, because it has `on_startup`."""

    def __init__(self) -> None:
        self._builds, self._dirty = Builds(), False
        self._heard, self._places = Heard(), Places()

    def load_config(
        self, options: dict[str, Any], config_file_path: str | None = None
    ) -> tuple[ConfigErrors, ConfigWarnings]:
        """Read the options, and make the parts."""
        try:
            self.build = Build(options, Path(config_file_path).parent if config_file_path else Path.cwd())
        except UnbuildableError as error:
            of, _, what = str(error).partition(": ")
            return [(of, UnbuildableError(what))], []
        return [], []

    def on_startup(self, *, command: str, dirty: bool) -> None:
        """Forget what an earlier server of this process has built, and listen to all plugins."""
        self._builds, self._dirty = Builds(serving=command == "serve"), dirty
        self._heard.begin()
        logging.getLogger("mkdocs").addHandler(self._heard)

    def on_config(self, config: MkDocsConfig) -> None:
        """Begin a build: which book it is, and what each part adds to the site."""
        extensions: list[Any] = config.markdown_extensions
        docs, theme = Path(config.docs_dir), config.theme.custom_dir
        about = Manifest(
            name=config.site_name,
            short_name=str(config.extra.get("short_name") or ""),
            description=config.site_description or "",
            address=config.site_url or "",
        )
        self._sources: list[str] = []
        try:
            for offer in self.build.begin(about, docs, Path(theme) if theme else None, self._builds):
                extensions += offer.extensions
                config.extra_css += offer.styles
                config.extra_javascript += [_script(uri, "type", "module") for uri in offer.modules]
                config.extra_javascript += [_script(uri, "defer", True) for uri in offer.scripts]
                self._sources += [str(path) for path in offer.watched if path and path.exists()]
                config.extra.update(offer.extra)
        except UnbuildableError as error:
            raise PluginError(str(error)) from None
        config.watch += [path for path in self._sources if not Path(path).is_relative_to(_INSTALLED)]
        self._places.listen(self.build.site)

    def on_env(self, env: Environment, *, config: MkDocsConfig, files: Files) -> None:
        """Compile a template of the theme once: a server makes a new environment for each build."""
        if self._builds.serving:
            folder = self.build.root / ".cache/templates"
            with suppress(OSError):  # On a disk that takes no files they are compiled each time.
                folder.mkdir(parents=True, exist_ok=True)
                env.bytecode_cache = FileSystemBytecodeCache(str(folder))

    def on_files(self, files: Files, *, config: MkDocsConfig) -> None:
        """Leave out what is no source of the book, and let be pages what the parts make pages of."""
        for file in list(files):
            made = self.build.makes(file.src_uri)
            if made or not self.build.publishes(file.src_uri, _path(file)):
                files.remove(file)
            if made:
                files.append(_MadePage(file, config, self.build))

    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> None:
        """Publish what the parts add, now that all plugins have made their pages, and number what the chapter shows."""
        self._pages = files.documentation_pages()
        for file in self._pages:
            if bad := self.build.undecodable(_path(file)):
                file.content_string = f"# {file.name}\n\n{bad}\n"
        for asset in self.build.files([_page(file) for file in self._pages]):
            files.append(_file(asset, config))
        if self._dirty:
            made = {file.src_uri: Path(file.abs_dest_path) for file in self._pages}
            sources = [*config.watch, *self._sources]
            self.build.date(Path(config.config_file_path), sources, config.theme.dirs, made)
        pages = {page.file.src_uri: page for page in nav.pages}
        for chapter in self.build.number([_page(page.file) for page in nav.pages]):
            page = pages[chapter.page]
            page.title = f"{chapter.number}. {page.title or chapter.title}"

    def on_page_markdown(self, markdown: str, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str:
        """Check a page as its author wrote it, and tell the parts that it comes next."""
        self._heard.enter()
        address = f"{page.canonical_url or page.url}"
        title = page.meta.get("title", "")
        # A list may stand for more words than memory holds, a number for more digits, before they are refused.
        words = title if isinstance(title, str) else ""
        given = _page(page.file, words, wrong.form_of(config.extra, address))
        markdown, readable = self.build.enter(given, markdown)
        if not readable:
            # MkDocs reads more than is allowed here, and a title may stand for more than memory holds.
            page.meta.clear()
        page.meta["wrong_number"] = given.report
        if self.build.book.search:
            page.meta["search"] = {**self.build.book.search(given.source), **(page.meta.get("search") or {})}
        return markdown

    def on_page_content(self, content: str, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str | None:
        """While serving, say at the top of the page what is wrong with it."""
        return self._heard.shown(page.file.src_uri, content) if self._builds.serving else None

    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Finish the site."""
        self._end()
        pages = {
            file.dest_uri: PageFacts(
                source_path(file.abs_src_path or file.src_uri, self.build.root),
                str(file.page.title or ""),
                next((str(one.title or "") for one in reversed([*file.page.ancestors])), ""),
            )
            for file in self._pages
            if file.page
        }
        self.build.finish(Path(config.site_dir), pages, [str(script) for script in config.extra_javascript])

    def on_build_error(self, *, error: Exception) -> None:
        """Leave no process behind, and end the build in one line where the machine ends it."""
        self._end()
        if isinstance(error, TemplateNotFound):  # Of which the text is the name alone.
            raise Abort(f"The build ended: the theme has no template '{error.name}'.") from None
        if not isinstance(error, MkDocsException) and (said := in_a_line(error)):
            raise Abort(f"The build ended: {said}.") from None

    def _end(self) -> None:
        self._heard.begin()
        self.build.end()


class _MadePage(File):
    """A page that a part makes of a file, when MkDocs reads it."""

    def __init__(self, file: File, config: MkDocsConfig, build: Build) -> None:
        self.file, self._build = file, build
        inclusion = file.inclusion
        super().__init__(file.src_uri, file.src_dir, config.site_dir, config.use_directory_urls, inclusion=inclusion)

    def is_documentation_page(self) -> bool:
        """It is one."""
        return True

    @property  # type: ignore[misc]
    def content_string(self) -> str:
        """The Markdown of the page."""
        return self._build.text(_page(self))


def _path(file: File) -> Path | None:
    return Path(file.abs_src_path) if file.abs_src_path else None


def _page(file: File, title: str = "", report: str = "") -> Page:
    written = file.file if isinstance(file, _MadePage) else file
    # MkDocs calls the page at the site's root "./".
    return Page(file.src_uri, _path(file), file.url.removeprefix("./"), written.content_string, title, report)


def _script(uri: str, name: str, value: object) -> ExtraScriptValue:
    script = ExtraScriptValue(uri)
    setattr(script, name, value)
    return script


def _file(asset: Asset, config: MkDocsConfig) -> File:
    if isinstance(asset.content, Path):
        source: dict[str, Any] = {"abs_src_path": str(asset.content)}
    else:
        source = {"content": asset.content}
    return File.generated(config, asset.uri, inclusion=InclusionLevel.INCLUDED, **source)
