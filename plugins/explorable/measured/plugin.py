"""The MkDocs plugin `measured`: configuration, assets, cache, watch, strict. The work is done by the extension."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mkdocs.config import config_options as option
from mkdocs.config.base import Config
from mkdocs.config.config_options import ExtraScriptValue
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import BasePlugin, event_priority, get_plugin_logger
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from explorable.book import current, library_folder
from explorable.measured import wrong
from explorable.measured.ceilings import contributed as contributed_data
from explorable.measured.claims import data as claims_data
from explorable.measured.claims.judged import Claims
from explorable.measured.claims.listing import Mention
from explorable.measured.claims.mentions import mentions
from explorable.measured.errors import MeasuredError
from explorable.measured.extension import MeasuredExtension, PageContext, Sources, constructs
from explorable.measured.markup import Links
from explorable.measured.reported import data as reported_data
from explorable.measured.tables.waiting import Waiting, waiting
from explorable.measured.values.computed import Computed
from explorable.measured.values.recorded import load
from explorable.shared import locate
from explorable.shared.cache import Cache

log = get_plugin_logger("measured")

_HERE = Path(__file__).parent
STYLESHEETS = (_HERE / "measured.css", _HERE / "claims/claims.css")
SCRIPT = _HERE / "claims/claims.js"
DEVICES = _HERE / "tables/devices.js"
ASSETS = "assets/measured"
PUBLISHED = "measured/records"
"""The folder of the site in which copies of the records are published."""
CACHE = ".cache/measured"

_DOCUMENTED = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
"""The line by which mkdocstrings documents a module."""


class Options(Config):  # type: ignore[no-untyped-call]
    """Options of the plugin.

    engine: the library, by name or as a folder relative to `mkdocs.yml`; by default the book's.
    records: the folder of the records, `<suite>/<case>--<device>.json`, relative to `mkdocs.yml`.
    claims, reported: the folders of the claims and of what others published, relative to `mkdocs.yml`.
    contributed: the folder, inside the docs folder, of what readers measured on their cards.
    claims_page: the page that lists the claims, relative to the docs folder.
    reference: the folder of the engine's reference, relative to the docs folder; empty for numbers without links. A
            module is documented on the page that says `::: module`.
    """

    engine = option.Type(str, default="")
    records = option.Type(str, default="records")
    reference = option.Type(str, default="")
    claims = option.Type(str, default="docs/claims")
    reported = option.Type(str, default="docs/measured/reported")
    contributed = option.Type(str, default="plan/contributed")
    claims_page = option.Type(str, default="claims/index.md")


class MeasuredPlugin(BasePlugin[Options]):  # type: ignore[no-untyped-call]
    """Inline numbers, measured tables and claims for MkDocs."""

    def __init__(self) -> None:
        self._extension: MeasuredExtension | None = None
        self._locate = locate.LocateExtension()
        self._reference: dict[str, str] = {}
        self._claims_page = ""
        self._mentions: dict[str, list[Mention]] = {}
        self._waiting: list[Waiting] = []
        self._form = ""

    def on_config(self, config: MkDocsConfig) -> MkDocsConfig:
        """Read the records, prepare the engine, and add the Markdown extension. Runs again before every rebuild."""
        self._close()
        root = Path(config.config_file_path).parent if config.config_file_path else Path.cwd()
        folder, claims, reported = (
            root / name for name in (self.config.records, self.config.claims, self.config.reported)
        )
        try:
            engine = library_folder(self.config.engine, root) if self.config.engine else current().library
        except LookupError:
            what = f"measured: option 'engine' is '{self.config.engine}', which is not a Python package"
            raise PluginError(what) from None
        loaded, claim_files = load(folder, root), claims_data.load(claims, root)
        published = reported_data.load(reported, root)
        contributed = contributed_data.load(Path(config.docs_dir), self.config.contributed, root, current().cards())
        for defect in (*loaded.defects, *claim_files.defects, *published.defects, *contributed.defects):
            log.warning("%s", defect)
        computed = Computed(engine, Cache(root / CACHE / "values"), root / CACHE / "bytecode")
        self._locate = locate.install(config, constructs())
        self._reference = {}
        self._claims_page = self.config.claims_page
        claimed = Claims(claim_files, computed, loaded)
        sources = Sources(computed, loaded, claimed, published, contributed)
        self._extension = MeasuredExtension(sources, self._context("index.md"))
        extensions: list[Any] = config.markdown_extensions
        extensions.append(self._extension)
        config.extra_css += [posixpath.join(ASSETS, file.name) for file in STYLESHEETS]
        for file in [SCRIPT] * bool(claim_files.claims) + [DEVICES] * (len(loaded.devices) > 1):
            script = ExtraScriptValue(posixpath.join(ASSETS, file.name))
            script.defer = True
            config.extra_javascript.append(script)
        watched = (engine, folder, claims, reported, Path(config.docs_dir) / self.config.contributed)
        config.watch += [str(path) for path in watched if path and path.exists()]
        return config

    # Late, so that a reference page that another plugin generates is already among the files.
    @event_priority(-50)
    def on_files(self, files: Files, *, config: MkDocsConfig) -> Files:
        """Publish the assets, the raw records and the schemas; find the pages that speak of claims."""
        assert self._extension is not None
        sources = self._extension.sources
        loaded = sources.records
        published = [(posixpath.join(ASSETS, file.name), file) for file in STYLESHEETS]
        if len(loaded.devices) > 1:
            published.append((posixpath.join(ASSETS, DEVICES.name), DEVICES))
        if sources.claims.files.claims:
            published.append((posixpath.join(ASSETS, SCRIPT.name), SCRIPT))
            published.append(
                (posixpath.join(posixpath.dirname(self.config.claims_page), "schema.json"), claims_data.SCHEMA)
            )
        schemas = {PUBLISHED: current().records.schema_file}
        if (Path(config.docs_dir) / self.config.contributed).is_dir():
            schemas[self.config.contributed] = contributed_data.SCHEMA
        published += [(posixpath.join(folder, "schema.json"), schema) for folder, schema in schemas.items() if schema]
        suites: dict[str, list[Mapping[str, Any]]] = {}
        for record in loaded.records:
            suites.setdefault(record.suite, []).append(record.document)
            published.append((posixpath.join(PUBLISHED, str(record.file)), loaded.folder / record.file))
        for uri, path in published:
            files.append(File.generated(config, uri, abs_src_path=str(path)))
        for suite, documents in suites.items():
            for form, content in current().records.tables(documents).items():
                files.append(File.generated(config, posixpath.join(PUBLISHED, f"{suite}.{form}"), content=content))
        if self.config.reference:
            self._reference = _documented_modules(files, self.config.reference)
            if not self._reference:
                log.warning("option 'reference': no page in '%s' documents a module", self.config.reference)
        if files.get_file_from_path(self._claims_page) is None:
            self._claims_page = ""
        pages = [(file.src_uri, file.content_string) for file in files.documentation_pages()]
        self._mentions = mentions(pages, self._claims_page)
        self._waiting = waiting(pages, loaded)
        for defect in sources.claims.defects:
            log.warning("%s", defect)
        return files

    def on_page_markdown(self, markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> None:
        """Tell the extension which page comes next."""
        assert self._extension is not None
        self._locate.enter(page, markdown, config)
        self._form = self._form_of(page, config)
        self._extension.page = self._context(page.file.src_uri)

    def on_page_context(self, context: Any, *, page: Page, config: MkDocsConfig, nav: object) -> Any:
        """Tell the template the form for a wrong number on this page."""
        context["wrong_number"] = self._form_of(page, config)
        return context

    @staticmethod
    def _form_of(page: Page, config: MkDocsConfig) -> str:
        return wrong.form_of(config.extra, page.canonical_url or page.url)

    def on_post_build(self, *, config: MkDocsConfig) -> None:
        """End the child process."""
        self._close()

    def on_build_error(self, error: Exception) -> None:
        """End the child process."""
        self._close()

    def _context(self, src_uri: str) -> PageContext:
        links = Links(src_uri, self._reference, PUBLISHED, self._claims_page, self._form)
        return PageContext(links, self._report, self._mentions, self._waiting)

    def _report(self, line: int | None, error: MeasuredError) -> None:
        """A mistake of an author: a warning, which fails the strict build."""
        log.warning("%s", self._locate.defect(line, error.what, error.fix))

    def _close(self) -> None:
        if self._extension is not None:
            self._extension.sources.computed.close()


def _documented_modules(files: Files, folder: str) -> dict[str, str]:
    """Module of the engine -> source path of its page, for the pages in a folder of the docs."""
    return {
        module: file.src_uri
        for file in files.documentation_pages()
        if file.src_uri.startswith(f"{folder.rstrip('/')}/")
        for module in _DOCUMENTED.findall(file.content_string)
    }
