"""The Markdown extension: blocks with a number and a caption, references to them, citations and the list of works.

    /// figure | a-plot        `{ref} fig-a-plot`        `{cite} kaplan2020scaling`

A reference knows its number while the page is parsed, because all pages were counted before (`labels`). Pictures and
the list of references are put in place when the page is complete.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.preprocessors import Preprocessor
from markdown.treeprocessors import Treeprocessor
from pymdownx.blocks import BlocksExtension, BlocksProcessor  # type: ignore[import-untyped]
from pymdownx.blocks.block import Block  # type: ignore[import-untyped]

from explorable.book import current
from explorable.figures.bibliography import Work
from explorable.figures.contents import Chapter, listed
from explorable.figures.figures import Figures
from explorable.figures.glossary import FirstOnly, abbreviations
from explorable.figures.labels import Kind, Labels, label
from explorable.figures.mounted import mounted
from explorable.figures.moving import WIDTH
from explorable.shared.errors import Defect, LineError, nearest
from explorable.shared.locate import Constructs, RoleProcessor, located, unstamp
from explorable.shared.markup import element
from explorable.shared.svg import embedded
from explorable.shared.typed_numbers import typed_numbers

CONSTRUCTS = Constructs(
    blocks=("figure", "instrument", "table", "equation", "strip", "contents"), roles=("ref", "cite")
)

_FIGURE, _CITED, _STRIP = "data-il-figure", "data-il-cite", "data-il-strip"

Report = Callable[[int | None, str, str], None]
"""Report a mistake of the author: line, what is wrong, what to do."""


def _unheard(line: int | None, what: str, fix: str) -> None:
    raise AssertionError(f"no page is being read: {line}: {what}. {fix}")


def _unpublished(name: str, states: str) -> str:
    raise AssertionError(f"nothing publishes the states of {name}")


@dataclass
class Book:
    """What the pages of a build share, and the page that is being converted.

    Attributes:
        figures: Draws them.
        works: The bibliography by key; None when it cannot be read.
        docs: How messages name the figures' folder.
        labels: All numbered things of the chapter.
        chapters: Its numbered pages.
        page: The page, relative to the docs folder.
        report: A mistake on the page.
        complain: A mistake in another file.
        terms: What the glossary defines.
        checks: Whether typed numbers are mistakes on the page.
        explains: Whether the page shows definitions of the terms that it uses.
        told: Messages that are reported once for all pages.
        publish: Takes a figure's name and all its states, and gives their address, relative to the page.
    """

    figures: Figures
    works: Mapping[str, Work] | None
    docs: str
    labels: Labels = field(default_factory=Labels)
    chapters: Sequence[Chapter] = ()
    page: str = ""
    report: Report = _unheard
    complain: Callable[[Defect], None] = print
    terms: Mapping[str, str] = field(default_factory=dict)
    checks: bool = False
    explains: bool = False
    told: set[str] = field(default_factory=set)
    publish: Callable[[str, str], str] = _unpublished


class BookExtension(BlocksExtension):  # type: ignore[misc]
    """Numbered blocks, references and citations."""

    def __init__(self, book: Book, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.book = book

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name is Python-Markdown's
        """Register the inline syntax before code spans (190), and the filling between inline (20) and contents (5)."""
        super().extendMarkdown(md)
        FirstOnly().extendMarkdown(md)
        md.inlinePatterns.register(_Inline(md, self.book), "book", 194)
        md.treeprocessors.register(_Filler(md, self.book), "book", 14)
        # Before the lines are stamped (1000), while the text is as its author wrote it.
        md.preprocessors.register(_Prose(md, self.book), "book", 1001)
        # Behind all others: MkDocs looks for the title in what stands first (-1).
        md.treeprocessors.register(_Eyebrow(md, self.book), "book_eyebrow", -100)

    def extendMarkdownBlocks(self, md: Markdown, block_mgr: BlocksProcessor) -> None:  # noqa: N802
        """Register the blocks."""
        blocks = (_FigureBlock, _InstrumentBlock, _TableBlock, _EquationBlock, _StripBlock, _ContentsBlock)
        for block in blocks:
            block_mgr.register(block, {"book": self.book})


class _Prose(Preprocessor):
    """Reports typed numbers, and appends the terms of the glossary in the form that the extension `abbr` reads."""

    def __init__(self, md: Markdown, book: Book) -> None:
        super().__init__(md)
        self._book = book

    def run(self, lines: list[str]) -> list[str]:
        fix = "compute it with `{engine} …`, cite its source in the same sentence, or mark a definition with <dfn>"
        first = located(self.md).first_line
        for line, text in typed_numbers("\n".join(lines)) if self._book.checks else ():
            self._book.report(first + line - 1, f"'{text}' is a typed number", fix)
        return [*lines, "", *abbreviations(self._book.terms)] if self._book.explains else lines


class _Eyebrow(Treeprocessor):
    """Says above the heading which chapter this is, and how long it takes to read."""

    def __init__(self, md: Markdown, book: Book) -> None:
        super().__init__(md)
        self._book = book

    def run(self, root: Element) -> None:
        found = next((one for one in self._book.chapters if one.page == self._book.page), None)
        if found is not None:
            time = f"{found.minutes} minute{'s' if found.minutes > 1 else ''} to read"
            root.insert(0, element("p", f"Chapter {found.number} · {time}", class_="il-eyebrow"))
            root[0].tail = "\n"


class _Numbered(Block):  # type: ignore[misc]
    """A block with a name, an id and a number."""

    ARGUMENT = None
    KIND: Kind

    def on_create(self, parent: Element) -> Element:
        name, self.line = unstamp(self.argument or "")
        self.name = name.strip()
        self.label = label(self.KIND, self.name)
        target = self.book.labels.targets.get(self.label)
        if target is None or target.page != self.book.page:
            fix = f"write '/// {self.KIND} | a-name' on a page of the chapter"
            self.book.report(self.line, f"the {self.KIND} '{self.name}' has no number", fix)
        self.number = target.number if target else "?"
        tag = "div" if self.KIND == "equation" else "figure"
        return SubElement(parent, tag, {"id": self.label, "class": f"il-numbered il-numbered--{self.KIND}"})

    @property
    def book(self) -> Book:
        book: Book = self.config["book"]
        return book

    def captioned(self, caption: Element) -> None:
        """Begin the caption with kind and number."""
        first = next(iter(caption), None)
        if first is None or first.tag != "p":
            self.book.report(self.line, f"the {self.KIND} '{self.name}' has no caption", "say in words what it shows")
            return
        prefix = element("span", f"{self.KIND.capitalize()} {self.number}.", class_="caption-prefix")
        prefix.tail, first.text = f" {first.text or ''}", None
        first.insert(0, prefix)


PICTURES = ("figure", "instrument")
"""The blocks that show a drawing."""


class _FigureBlock(_Numbered):
    """`/// figure | name`: the drawing of `figures/name.py`, and its caption as content."""

    NAME = "figure"
    KIND = "figure"

    def on_create(self, parent: Element) -> Element:
        made = super().on_create(parent)
        SubElement(made, "div", {_FIGURE: f"{self.name} {self.line or ''}", "data-search-exclude": ""})
        self.caption = SubElement(made, "figcaption")
        return made

    def on_add(self, block: Element) -> Element:
        return self.caption

    def on_end(self, block: Element) -> None:
        self.captioned(self.caption)
        if len(self.caption) and self.book.figures.file(self.name).is_file():
            file = posixpath.join(self.book.docs, self.book.figures.file(self.name).name)
            href, said = _relative(self.book.page, file), f"Code of figure {self.number}"
            link = element("a", "Code", class_="il-figure-source", href=href, aria_label=said)
            _add_behind_space(self.caption[-1], link)


class _InstrumentBlock(Block):  # type: ignore[misc]
    """`/// instrument | name`: a figure that moves, on any page, without number and caption."""

    NAME = "instrument"
    ARGUMENT = True

    def on_create(self, parent: Element) -> Element:
        name, line = unstamp(self.argument)
        return SubElement(parent, "div", {_FIGURE: f"{name.strip()} {line or ''}", "data-search-exclude": ""})


class _TableBlock(_Numbered):
    """`/// table | name`: a caption, an empty line, and a Markdown table."""

    NAME = "table"
    KIND = "table"

    def on_end(self, block: Element) -> None:
        caption = Element("figcaption")
        if len(block) and block[0].tag == "p":
            caption.append(block[0])
            block.remove(block[0])
        block.insert(0, caption)
        self.captioned(caption)
        if block.find("table") is None:
            self.book.report(self.line, f"the block '{self.name}' has no table", "after the caption, write one")


class _EquationBlock(_Numbered):
    """`/// equation | name`: one formula between double dollar signs."""

    NAME = "equation"
    KIND = "equation"

    def on_end(self, block: Element) -> None:
        if len(block) != 1:
            fix = "write '$$ … $$' and nothing else"
            self.book.report(self.line, f"the equation '{self.name}' is not one formula", fix)
        block.append(element("span", f"({self.number})", class_="il-equation-number"))


class _StripBlock(Block):  # type: ignore[misc]
    """`/// strip | page`: where the run of the book stands; the content says what the page changed in it."""

    NAME = "strip"
    ARGUMENT = None

    def on_create(self, parent: Element) -> Element:
        name, line = unstamp(self.argument or "")
        story = current().story
        if story is None:
            self.words = SubElement(parent, "div")
            self.config["book"].report(line, "this book has no story", "remove the strip, or give the Book a story")
            return self.words
        holder, self.words = story.strip(parent)
        holder.set(_STRIP, f"{name.strip()} {line or ''}")
        return self.words

    def on_add(self, block: Element) -> Element:
        return self.words


class _ContentsBlock(Block):  # type: ignore[misc]
    """`/// contents`: the numbered pages of the chapter, with the time that reading takes."""

    NAME = "contents"
    ARGUMENT = None

    def on_create(self, parent: Element) -> Element:
        book: Book = self.config["book"]
        return listed(parent, book.chapters, [_relative(book.page, chapter.page) for chapter in book.chapters])


class _Inline(RoleProcessor):
    """Turns `{ref}` and `{cite}` into links."""

    def __init__(self, md: Markdown, book: Book) -> None:
        super().__init__(md, CONSTRUCTS.roles, self._linked)
        self._book = book

    def _linked(self, role: str, text: str, line: int | None) -> Element:
        return self._reference(text, line) if role == "ref" else self._citation(text, line)

    def _reference(self, name: str, line: int | None) -> Element:
        target = self._book.labels.targets.get(name)
        if target is None:
            self._book.report(line, f"nothing is called '{name}'", nearest(name, list(self._book.labels.targets)))
            return element("span", f"{name}?")
        page = "" if target.page == self._book.page else _relative(self._book.page, target.page)
        return element("a", target.title, class_="il-ref", href=f"{page}#{name}")

    def _citation(self, keys: str, line: int | None) -> Element:
        links: list[Element | str] = []
        for key in (part.strip() for part in keys.split(",")):
            work = (self._book.works or {}).get(key)
            if work is None:
                # Where the bibliography cannot be read, only that is reported, not every citation.
                if self._book.works is not None:
                    self._book.report(line, f"the bibliography has no '{key}'", nearest(key, list(self._book.works)))
                continue
            link = element("a", work.short, href=f"#ref-{key}", title=work.title, **{_CITED: key})
            links += ["; " if links else "(", link]
        return element("span", *(links or ["("]), *([")"] if links else []), class_="il-cite")


class _Filler(Treeprocessor):
    """Puts the pictures in place, and the list of what the page cites at its end."""

    def __init__(self, md: Markdown, book: Book) -> None:
        super().__init__(md)
        self._book = book

    def run(self, root: Element) -> None:
        cited: dict[str, Work] = {}
        for node in list(root.iter()):
            if (figure := node.attrib.pop(_FIGURE, None)) is not None:
                name, _, line = figure.partition(" ")
                self._picture(node, name, int(line) if line else None)
            if (stop := node.attrib.pop(_STRIP, None)) is not None:
                name, _, line = stop.partition(" ")
                self._strip(node, name, int(line) if line else None)
            if (key := node.attrib.pop(_CITED, None)) is not None:
                cited[key] = (self._book.works or {})[key]
        if cited:
            root.append(element("h2", "References"))
            works = SubElement(root, "ul", {"class": "il-references"})
            for key, work in sorted(cited.items(), key=lambda item: item[1].short.lower()):
                works.append(_listed(key, work))

    def _strip(self, holder: Element, name: str, line: int | None) -> None:
        file = posixpath.normpath(posixpath.join("docs", self._book.docs, "..", self._book.figures.story.name))
        try:
            stops = self._book.figures.stops()
        except LineError as error:
            if error.line is None:
                self._book.report(line, f"the strip '{name}' has no numbers: {error}", f"mend {file}")
            elif str(error) not in self._book.told:
                # Every page with a strip needs the same file, so its mistake is reported only once.
                self._book.told.add(str(error))
                self._book.complain(Defect(file, error.line, str(error), "no strip has numbers before it is mended"))
            return
        names = [stop["page"] for stop in stops]
        if name not in names:
            close = nearest(name, names)
            add = f'write ("{name}", {{}}) where the page comes in CHANGES of {file}'
            fix = f"{close}, or {add}" if close.startswith("perhaps") else add
            self._book.report(line, f"the story has no stop '{name}'", fix)
            return
        page = posixpath.splitext(posixpath.basename(self._book.page))[0]
        if name != page:
            there = f"write /// strip | {page}" if page in names else "remove it: the story has no stop of this page"
            self._book.report(line, f"the strip of the page '{name}' stands on the page '{page}'", there)
            return
        story = current().story
        assert story is not None
        story.fill(holder, stops, names.index(name))

    def _picture(self, node: Element, name: str, line: int | None) -> None:
        try:
            drawn = self._book.figures.draw(name)
        except LineError as error:
            if error.line is None:
                self._book.report(line, f"figure '{name}': {error}", "")
            else:
                path = posixpath.join("docs", self._book.docs, self._book.figures.file(name).name)
                self._book.complain(Defect(path, error.line, str(error)))
            return
        if drawn.moving is None:
            node.append(embedded(drawn.svg, drawn.alternative, width=WIDTH))
        else:
            node.append(mounted(drawn, f"moving-{name}", self._book.publish(name, drawn.moving["states"])))


def _listed(key: str, work: Work) -> Element:
    """One work in the list of references."""
    place: list[Element | str] = [". ", element("em", work.where)] if work.where else []
    link = element("a", work.title, href=work.url)
    return element("li", f"{work.people} ({work.year}). ", link, *place, ".", id=f"ref-{key}")


def _add_behind_space(parent: Element, child: Element) -> None:
    """Make it the last child, with a space before it."""
    if len(parent):
        parent[-1].tail = f"{parent[-1].tail or ''} "
    else:
        parent.text = f"{parent.text or ''} "
    parent.append(child)


def _relative(page: str, target: str) -> str:
    """How a link on one page names another file, both relative to the docs folder."""
    return Path(posixpath.relpath(target, posixpath.dirname(page) or ".")).as_posix()
