"""The part `measured`: numbers with their origin, measured and reported tables, claims. Its extension does the work."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explorable.book import current, library_of
from explorable.measured.ceilings import contributed as contributed_data
from explorable.measured.claims import data as claims_data
from explorable.measured.claims.judged import Claims
from explorable.measured.claims.listing import Mention
from explorable.measured.claims.mentions import mentions
from explorable.measured.extension import MeasuredExtension, PageContext, Sources, constructs
from explorable.measured.links import Links
from explorable.measured.reported import data as reported_data
from explorable.measured.tables.waiting import Waiting, waiting
from explorable.measured.values.computed import Computed
from explorable.measured.values.recorded import load
from explorable.shared.cache import Cache
from explorable.shared.errors import AuthorError
from explorable.shared.log import logger
from explorable.shared.scan import scan
from explorable.site import Asset, Offer, Page, Part, Site

log = logger("measured")

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


@dataclass(frozen=True)
class MeasuredOptions:
    """Options of numbers. Paths are relative to the book's folder unless something else is said.

    enabled: without it, pages keep the syntax as it is written.
    engine: the library, by name or as a folder; by default the book's.
    records: the folder of the records, `<suite>/<case>--<device>.json`.
    claims, reported: the folders of the claims and of what others published.
    contributed: the folder, inside the docs folder, of what readers measured on their cards.
    claims_page: the page that lists the claims, relative to the docs folder.
    checks_page: the page with `/// claims | checks`, where the list is too heavy with them; may be missing.
    reference: the folder of the engine's reference, relative to the docs folder; empty for numbers without links. A
            module is documented on the page that says `::: module`.
    """

    enabled: bool = True
    engine: str = ""
    records: str = "records"
    reference: str = ""
    claims: str = "docs/claims"
    reported: str = "docs/measured/reported"
    contributed: str = "plan/contributed"
    claims_page: str = "claims/index.md"
    checks_page: str = "claims/checks.md"


class MeasuredPart(Part):
    """Inline numbers, measured tables and claims."""

    def __init__(self, options: MeasuredOptions) -> None:
        self.options = options
        self._extension: MeasuredExtension | None = None

    def begin(self, site: Site) -> Offer:
        """Read records, claims and what others published, and prepare the library."""
        options, root = self.options, site.root
        folder, claims, reported = (root / name for name in (options.records, options.claims, options.reported))
        engine = library_of("measured", options.engine, root)
        loaded, claim_files = load(folder, root), claims_data.load(claims, root)
        published = reported_data.load(reported, root)
        contributed = contributed_data.load(site.docs, options.contributed, root, current().cards())
        for defect in (*loaded.defects, *claim_files.defects, *published.defects, *contributed.defects):
            log.warning("%s", defect)
        computed = Computed(engine, Cache(root / CACHE / "values"), root / CACHE / "bytecode")
        self._located, self._docs = site.located, site.docs
        self._located.known |= constructs()
        self._reference: dict[str, str] = {}
        self._claims_page = options.claims_page
        self._checks_page = options.checks_page
        self._mentions: dict[str, list[Mention]] = {}
        self._waiting: list[Waiting] = []
        claimed = Claims(claim_files, computed, loaded)
        self._sources = Sources(computed, loaded, claimed, published, contributed, site.located.elements)
        self._extension = MeasuredExtension(self._sources, self._context("index.md", ""))
        programs = [SCRIPT] * bool(claim_files.claims) + [DEVICES] * (len(loaded.devices) > 1)
        return Offer(
            [self._extension],
            styles=[posixpath.join(ASSETS, file.name) for file in STYLESHEETS],
            scripts=[posixpath.join(ASSETS, file.name) for file in programs],
            watched=[engine, folder, claims, reported, site.docs / options.contributed],
        )

    def files(self, pages: Sequence[Page]) -> Sequence[Asset]:
        """The programs, the raw records and the schemas; find the pages that speak of claims."""
        sources, options = self._sources, self.options
        loaded = sources.records
        published = [(posixpath.join(ASSETS, file.name), file) for file in STYLESHEETS]
        if len(loaded.devices) > 1:
            published.append((posixpath.join(ASSETS, DEVICES.name), DEVICES))
        if sources.claims.files.claims:
            published.append((posixpath.join(ASSETS, SCRIPT.name), SCRIPT))
            published.append(
                (posixpath.join(posixpath.dirname(options.claims_page), "schema.json"), claims_data.SCHEMA)
            )
        schemas = {PUBLISHED: current().records.schema_file}
        if (self._docs / options.contributed).is_dir():
            schemas[options.contributed] = contributed_data.SCHEMA
        published += [(posixpath.join(folder, "schema.json"), schema) for folder, schema in schemas.items() if schema]
        suites: dict[str, list[Mapping[str, Any]]] = {}
        for record in loaded.records:
            suites.setdefault(record.suite, []).append(record.document)
            published.append((posixpath.join(PUBLISHED, str(record.file)), loaded.folder / record.file))
        made = [
            Asset(posixpath.join(PUBLISHED, f"{suite}.{form}"), content.encode())
            for suite, documents in suites.items()
            for form, content in current().records.tables(documents).items()
        ]
        if options.reference:
            self._reference = _documented_modules(pages, options.reference)
            if not self._reference:
                log.warning("option 'reference': no page in '%s' documents a module", options.reference)
        if not any(page.source == self._claims_page for page in pages):
            self._claims_page = ""
        if not any(page.source == self._checks_page for page in pages):
            self._checks_page = ""
        texts = [(page.source, page.written) for page in pages]
        self._mentions = mentions(texts, self._claims_page)
        self._waiting = waiting(texts, loaded)
        for defect in sources.claims.defects:
            log.warning("%s", defect)
        return [*(Asset(uri, path) for uri, path in published), *made]

    def enter(self, page: Page) -> None:
        """Tell the extension which page comes next."""
        assert self._extension is not None
        self._extension.page = self._context(page.source, page.report)

    def end(self) -> None:
        """End the child process."""
        if self._extension is not None:
            self._sources.computed.close()

    def _context(self, source: str, report: str) -> PageContext:
        links = Links(source, self._reference, PUBLISHED, self._claims_page, report, self._checks_page)
        return PageContext(links, self._report, self._mentions, self._waiting)

    def _report(self, line: int | None, error: AuthorError) -> None:
        """A mistake of an author: a warning, which fails the strict build."""
        log.warning("%s", self._located.defect(line, error.what, error.fix))


def _documented_modules(pages: Sequence[Page], folder: str) -> dict[str, str]:
    """Module of the engine -> source path of its page, for the pages in a folder of the docs."""
    return {
        module: page.source
        for page in pages
        if page.source.startswith(f"{folder.rstrip('/')}/")
        for module in _DOCUMENTED.findall(scan(page.written).text)
    }
