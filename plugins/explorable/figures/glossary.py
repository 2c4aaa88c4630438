"""The glossary: one page with a definition list; on other pages of the chapter its terms show their definition."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

from explorable.shared.scan import scan

_ENTRY = re.compile(r"^(?P<term>[^\s:*#|].*)\n(?:\n)?:   (?P<definition>.+(?:\n    .+)*)", re.MULTILINE)
_MARKUP = re.compile(r"`\{[^`]*`|[*_`$\\]|\[([^\]]*)\]\([^)]*\)|\{[^}]*\}")


def definitions(markdown: str) -> dict[str, str]:
    """Term -> definition in plain words, of a page with a definition list."""
    return {found["term"].strip(): _plain(found["definition"]) for found in _ENTRY.finditer(scan(markdown).text)}


def abbreviations(terms: Mapping[str, str]) -> list[str]:
    """The terms as the lines that Markdown's `abbr` extension reads."""
    return [f"*[{term}]: {definition}" for term, definition in terms.items()]


def _plain(text: str) -> str:
    return " ".join(_MARKUP.sub(lambda found: found[1] or "", text).split())


class FirstOnly(Extension):
    """Explains a term only where a page first uses it: a page full of dotted words is hard to read."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name is Python-Markdown's
        """Run after the `abbr` extension (7), before the table of contents (5) copies headings."""
        md.treeprocessors.register(_FirstOnly(md), "book_first_only", 6)


class _FirstOnly(Treeprocessor):
    def run(self, root: Element) -> None:
        seen: set[str] = set()
        self._visit(root, seen, bare=False)

    def _visit(self, node: Element, seen: set[str], *, bare: bool) -> None:
        bare = bare or node.tag in ("a", "h1", "h2", "h3", "h4", "summary", "math")
        for child in list(node):
            term = child.text or ""
            if child.tag == "abbr" and (bare or term in seen):
                _unwrap(node, child)
            elif child.tag == "abbr":
                seen.add(term)
            else:
                self._visit(child, seen, bare=bare)


def _unwrap(parent: Element, child: Element) -> None:
    """Put the child's text in its place."""
    place = list(parent).index(child)
    text: Any = (child.text or "") + (child.tail or "")
    if place:
        parent[place - 1].tail = (parent[place - 1].tail or "") + text
    else:
        parent.text = (parent.text or "") + text
    parent.remove(child)
