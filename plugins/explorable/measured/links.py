"""Where numbers link to, and what stands in the place of one that cannot be shown."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from explorable.measured import wrong
from explorable.shared.errors import AuthorError
from explorable.shared.markup import element


def defect_box(error: AuthorError, tag: str = "span") -> Element:
    """What stands in the page where a number or table should be; the strict build fails, `mkdocs serve` shows it."""
    return element(tag, f"⚠ {error}", class_="il-defect")


@dataclass(frozen=True)
class Links:
    """Where numbers link to, as source paths in the docs folder; MkDocs turns them into URLs and checks them.

    page: the page that the links stand on.
    reference: module of the engine -> the page that documents it; empty for no links.
    records: the folder under which the raw records are published.
    claims: the claims page, or empty when there is none.
    checks: the page that says how each claim is checked; empty where the claims page says it.
    form: the form for a wrong number on this page, by `wrong.form`; empty when there is none.
    """

    page: str
    reference: Mapping[str, str]
    records: str
    claims: str = ""
    form: str = ""
    checks: str = ""

    def to_reference(self, origin: str) -> str:
        """The link to a public name of the engine; empty when no page documents its module."""
        module = origin
        while module and module not in self.reference:
            module = module.rpartition(".")[0]
        return f"{self._relative(self.reference[module])}#{origin}" if module else ""

    def to_record(self, file: str) -> str:
        """The link to the published copy of a record."""
        return self._relative(posixpath.join(self.records, file))

    def to_claim(self, name: str) -> str:
        """The link to a claim; empty when the site has no claims page."""
        return f"{self._relative(self.claims)}#{name}" if self.claims else ""

    def to_check(self, name: str) -> str:
        """The link to how a claim is checked; empty where the claims page says it."""
        return f"{self._relative(self.checks)}#{name}" if self.checks else ""

    def to_claims(self, verdict: str = "") -> str:
        """The link to the list of claims, to those with a verdict if one is named; empty without a claims page."""
        query = f"?verdict={verdict}" if verdict else ""
        return f"{self._relative(self.claims)}{query}#claims-list" if self.claims else ""

    def report(self, number: str, origin: str) -> list[Element]:
        """The link to the form, filled with a number and where it comes from; nothing when there is no form."""
        address = wrong.filled(self.form, number, origin)
        return [element("a", "Number wrong? Tell us", href=address)] if address else []

    def to_page(self, page: str) -> str:
        """The link to another page."""
        return self._relative(page)

    def _relative(self, target: str) -> str:
        return posixpath.relpath(target, posixpath.dirname(self.page) or ".")
