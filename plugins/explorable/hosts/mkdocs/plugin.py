"""The MkDocs plugin `explorable`: tells the parts what MkDocs knows of a site, and MkDocs what they give.

plugins:
- explorable:
id: queues
library: queues
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from mkdocs.config import load_config
from mkdocs.config.base import ConfigErrors, ConfigWarnings
from mkdocs.config.config_options import ExtraScriptValue
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort, MkDocsException, PluginError
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.nav import Navigation
from mkdocs.structure.pages import Page as MkDocsPage

from explorable import book
from explorable.figures.part import FiguresPart
from explorable.finish import budgets, finish, publish
from explorable.hosts.mkdocs.heard import Heard
from explorable.hosts.mkdocs.incremental import Incremental
from explorable.hosts.mkdocs.links import Places
from explorable.hosts.mkdocs.options import PARTS, ExplorableConfig, book_of
from explorable.live.options import LiveOptions
from explorable.live.part import LivePart
from explorable.manifest import FILE, Manifest, PageFacts
from explorable.measured import wrong
from explorable.shared import intake, log
from explorable.shared.cache import write_atomically
from explorable.shared.errors import UnbuildableError, in_a_line
from explorable.shared.locate import LocateExtension, source_path
from explorable.shared.options import read
from explorable.site import Asset, Page, Part, Site

COLORS = "assets/live/colors.css"

# What the parts say, MkDocs hears: its strict build fails at a warning.
logging.getLogger(log.ALL).parent = get_plugin_logger(log.ALL).logger
strict = log.logger("strict")


class ExplorablePlugin(BasePlugin[ExplorableConfig]):  # type: ignore[no-untyped-call]
    """The toolkit for MkDocs, which keeps it from one build of a server to the next, because it has `on_startup`."""

    def __init__(self) -> None:
        self._serving = False
        self._heard, self._decoded, self._places = Heard(), intake.Decoded(), Places()
        self._incremental = Incremental(dirty=False)

    def load_config(
        self, options: dict[str, Any], config_file_path: str | None = None
    ) -> tuple[ConfigErrors, ConfigWarnings]:
        """Read the options, and make the parts."""
        errors, warnings = super().load_config(options, config_file_path)
        self.root = Path(config_file_path).parent if config_file_path else Path.cwd()
        self.parts: dict[str, Part] = {}
        self.options: dict[str, Any] = {}
        for name in () if errors else self.config.parts:
            kind, part = PARTS[name]
            try:
                given = read(kind, {**self._defaults(name), **self.config[name]})
            except UnbuildableError as error:
                errors.append((name, error))
                continue
            if given.enabled:
                self.parts[name], self.options[name] = part(given), given
        return errors, warnings

    def _defaults(self, part: str) -> dict[str, Any]:
        """The options of a part that the whole says."""
        live = {"acts_dir": self.config.acts, "packages": self.config.packages} if part == "live" else {}
        return {**live, **({} if part == "figures" else {"records": self.config.numbers.records})}

    def use_book(self) -> None:
        """Let this process build this book. Raises `PluginError` for a book that is not there."""
        try:
            self.book = book_of(self.config, self.root)
        except LookupError as error:
            raise PluginError(f"explorable: {error}") from None
        book.use(self.book)

    def on_startup(self, *, command: str, dirty: bool) -> None:
        """Forget what an earlier server of this process has built, and listen to all plugins."""
        self._serving = command == "serve"
        self._incremental = Incremental(dirty=dirty)
        self._decoded = intake.Decoded()
        self._heard.begin()
        logging.getLogger("mkdocs").addHandler(self._heard)

    def on_config(self, config: MkDocsConfig) -> None:
        """Begin a build: which book it is, and what each part adds to the site."""
        self.use_book()
        located = LocateExtension(self.root)
        self._site = Site(self.root, Path(config.docs_dir), located, self._serving)
        self._places.listen(self._site)
        extensions: list[Any] = config.markdown_extensions
        extensions.append(located)
        if self.book.colors and not self.book.styles:
            config.extra_css.append(COLORS)
        for part in self.parts.values():
            try:
                offer = part.begin(self._site)
            except UnbuildableError as error:
                raise PluginError(str(error)) from None
            extensions.append(offer.extension)
            config.extra_css += offer.styles
            config.extra_javascript += [_script(uri, "type", "module") for uri in offer.modules]
            config.extra_javascript += [_script(uri, "defer", True) for uri in offer.scripts]
            config.watch += [str(path) for path in offer.watched if path and path.exists()]
            config.extra.update(offer.extra)
        for extension in self.book.extensions:
            located.known |= extension.constructs
            extensions.append(extension)

    def on_pre_build(self, *, config: MkDocsConfig) -> None:
        """Stop at a file beside the pages that is not UTF-8."""
        try:
            self._decoded.check(Path(config.docs_dir), self.root, changed=self._serving)
        except UnbuildableError as error:
            raise PluginError(str(error)) from None

    # Late, so that pages which other plugins make are among the files, and all is watched that will be.
    @event_priority(-100)
    def on_files(self, files: Files, *, config: MkDocsConfig) -> None:
        """Leave out what is no source of the book, and publish what the parts add."""
        docs = self._site.docs
        links = {file: link for file in files if (link := intake.link_to(Path(file.abs_src_path or "/"), docs))}
        for file in list(files):
            if file in links or ("live" in self.parts and file.src_uri.startswith(f"{self.config.acts}/")):
                files.remove(file)
        for defect in intake.followed(set(links.values()), self.root):
            strict.warning("%s", defect)
        for file in files.documentation_pages():
            if file.abs_src_path and (bad := intake.undecodable(Path(file.abs_src_path), self.root)):
                strict.warning("%s", bad)
                file.content_string = f"# {file.name}\n\n{bad}\n"
        pages = [_page(file) for file in files.documentation_pages()]
        assets = [asset for part in self.parts.values() for asset in part.files(pages)]
        if COLORS in config.extra_css:
            assets.append(Asset(COLORS, self.book.tokens().encode()))
        for asset in assets:
            files.append(_file(asset, config))
        self._files = files
        self._incremental.mark(files, config, self.options.get("live"), self.options.get("figures"))

    def on_nav(self, nav: Navigation, *, config: MkDocsConfig, files: Files) -> None:
        """Number what the chapter's pages show, in the order of the navigation."""
        figures = self.parts.get("figures")
        if isinstance(figures, FiguresPart):
            pages = {page.file.src_uri: page for page in nav.pages}
            for chapter in figures.number([_page(page.file) for page in nav.pages]):
                page = pages[chapter.page]
                page.title = f"{chapter.number}. {page.title or chapter.title}"

    def on_page_markdown(self, markdown: str, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str:
        """Check a page as its author wrote it, and tell the parts that it comes next."""
        self._heard.enter()
        address = f"{page.canonical_url or page.url}"
        given = _page(page.file, str(page.meta.get("title", "")), wrong.form_of(config.extra, address))
        if given.source.endswith(".md") and given.path:
            markdown, defects = intake.checked(markdown, given, self._site)
            for defect in defects:
                strict.warning("%s", defect)
            if any(intake.unread(defect) for defect in defects):
                # MkDocs reads more than is allowed here, and a title may stand for more than memory holds.
                page.meta.clear()
        page.meta["wrong_number"] = given.report
        if self.book.search:
            page.meta["search"] = {**self.book.search(given.source), **(page.meta.get("search") or {})}
        self._site.located.enter(given, markdown)
        for part in self.parts.values():
            part.enter(given)
        return markdown

    def on_page_content(self, content: str, *, page: MkDocsPage, config: MkDocsConfig, files: Files) -> str | None:
        """While serving, say at the top of the page what is wrong with it."""
        return self._heard.shown(page.file.src_uri, content) if self._serving else None

    def on_post_page(self, output: str, *, page: MkDocsPage, config: MkDocsConfig) -> None:
        """While serving, weigh the pages that are made: the whole site is weighed where it is built."""
        if self._serving:
            budgets.weigh_page(source_path(page.file.abs_src_path or page.file.src_uri, self.root), output)

    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """Publish what the pages turned out to need, and finish the site."""
        self._end()
        site, manifest = Path(config.site_dir), self._manifest(config)
        publish(site, [asset for part in self.parts.values() for asset in part.made()])
        write_atomically(self.root / FILE, manifest.text().encode())
        finish(site, self.book, manifest, serving=self._serving)
        self._incremental.built()

    def on_build_error(self, *, error: Exception) -> None:
        """Leave no process behind, and end the build in one line where the machine ends it."""
        self._end()
        if not isinstance(error, MkDocsException) and (said := in_a_line(error)):
            raise Abort(f"The build ended: {said}.") from None

    def _end(self) -> None:
        self._heard.begin()
        for part in self.parts.values():
            part.end()

    def _manifest(self, config: MkDocsConfig) -> Manifest:
        pages = {
            file.dest_uri: PageFacts(
                source_path(file.abs_src_path or file.src_uri, self.root),
                str(file.page.title or ""),
                next((str(one.title or "") for one in reversed([*file.page.ancestors])), ""),
            )
            for file in self._files.documentation_pages()
            if file.page
        }
        live = self.parts.get("live")
        return Manifest(
            root=str(self.root),
            docs=source_path(config.docs_dir, self.root),
            name=config.site_name,
            short_name=str(config.extra.get("short_name") or ""),
            description=config.site_description or "",
            address=config.site_url or "",
            pages=pages,
            scripts=[str(script) for script in config.extra_javascript],
            release=live.release.facts if isinstance(live, LivePart) else None,
            book=self.config.book or self.book.plain(),
        )


def use_book_of(folder: Path) -> LiveOptions:
    """Let this process build the book of the `mkdocs.yml` in a folder. Returns the options of its acts."""
    plugin = load_config(str(folder / "mkdocs.yml")).plugins.get("explorable")
    if not isinstance(plugin, ExplorablePlugin):
        return LiveOptions()
    plugin.use_book()
    given: LiveOptions = plugin.options.get("live", LiveOptions())
    return given


def _page(file: File, title: str = "", report: str = "") -> Page:
    path = Path(file.abs_src_path) if file.abs_src_path else None
    # MkDocs calls the page at the site's root "./".
    return Page(file.src_uri, path, file.url.removeprefix("./"), file.content_string, title, report)


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
