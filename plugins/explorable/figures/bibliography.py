"""The bibliography: entries of a BibTeX file, how a sentence names them, and how a list of references shows them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from pybtex.backends.plaintext import Backend  # type: ignore[import-untyped]
from pybtex.database import parse_file  # type: ignore[import-untyped]
from pybtex.exceptions import PybtexError  # type: ignore[import-untyped]
from pybtex.richtext import Text  # type: ignore[import-untyped]

from explorable.shared.errors import LineError
from explorable.shared.unchanged import Unchanged

_PLAIN = Backend()
REQUIRED = ("author", "title", "year")
"""The fields that every entry needs. It also needs an address: `doi`, `eprint` (an arXiv number) or `url`."""


@dataclass(frozen=True)
class Work:
    """One entry.

    Attributes:
        key: Its key in the file.
        authors: Last names, in order.
        title: Without TeX.
        year: As printed, with a letter where others of that year have the same authors: `2024b`.
        where: Journal, proceedings, publisher, or the number of a preprint that has none of them; may be empty.
        url: Its lasting address.
    """

    key: str
    authors: tuple[str, ...]
    title: str
    year: str
    where: str
    url: str

    @property
    def short(self) -> str:
        """How a sentence names it: `Kaplan et al., 2020`."""
        shown = {1: self.authors[0], 2: " and ".join(self.authors)}
        return f"{shown.get(len(self.authors), f'{self.authors[0]} et al.')}, {self.year}"

    @property
    def people(self) -> str:
        """Its authors in a list of references; more than four are cut short."""
        names = list(self.authors)
        if len(names) > 4:
            return f"{', '.join(names[:3])} et al."
        return " and ".join([*([", ".join(names[:-1])] if names[:-1] else []), names[-1]])


def load(path: Path) -> dict[str, Work]:
    """The entries of a BibTeX file by key.

    Raises:
        LineError: The file cannot be read, or an entry lacks author, title, year or address.
    """
    try:
        return dict(_read(path))
    except (OSError, PybtexError) as error:
        raise LineError(" ".join(str(error).split()), getattr(error, "lineno", None)) from error


def _works_of(path: Path) -> dict[str, Work]:
    data = parse_file(str(path), bib_format="bibtex", encoding="utf-8")
    found: dict[str, Work] = {}
    for key, entry in data.entries.items():
        try:
            found[key] = _work(key, entry)
        except LineError as error:
            begins = re.compile(rf"@\w+\s*\{{\s*{re.escape(key)}\s*,")
            lines = enumerate(path.read_text("utf-8").splitlines(), 1)
            raise LineError(str(error), next((n for n, text in lines if begins.match(text)), None)) from None
    return _told_apart(found)


_read = Unchanged(_works_of)


def _told_apart(works: dict[str, Work]) -> dict[str, Work]:
    """The same works; those that a sentence would name alike get a letter behind the year, in the order of titles."""
    alike: dict[str, list[Work]] = {}
    for work in sorted(works.values(), key=lambda work: work.title.casefold()):
        alike.setdefault(work.short, []).append(work)
    groups = [zip(group, ascii_lowercase, strict=False) for group in alike.values() if len(group) > 1]
    letters = {work.key: letter for group in groups for work, letter in group}
    return {key: replace(work, year=work.year + letters.get(key, "")) for key, work in works.items()}


def _work(key: str, entry: Any) -> Work:
    fields = {name.lower(): _plain(value) for name, value in entry.fields.items()}
    people = entry.persons.get("author", [])
    authors = tuple(_plain(" ".join([*person.prelast_names, *person.last_names])) for person in people)
    missing = [name for name in REQUIRED if not (authors if name == "author" else fields.get(name))]
    if missing:
        raise LineError(f"the entry '{key}' has no {', no '.join(missing)}")
    preprint = f"arXiv {fields['eprint']}" if fields.get("eprint") else ""
    where = next((fields[name] for name in ("journal", "booktitle", "publisher") if fields.get(name)), preprint)
    return Work(key, authors, fields["title"], fields["year"], where, _address(key, fields))


def _address(key: str, fields: dict[str, str]) -> str:
    for name, start in (("doi", "https://doi.org/"), ("eprint", "https://arxiv.org/abs/"), ("url", "")):
        if fields.get(name):
            return start + fields[name]
    raise LineError(f"the entry '{key}' has no doi, eprint or url: readers must be able to find it")


def _plain(tex: str) -> str:
    """Text of a field without braces and TeX commands."""
    # Not `render_as("text")`, which looks through every installed package for the backend's entry point.
    return str(Text.from_latex(tex).render(_PLAIN))
