"""The scripts of a built page: those that the book has listed and the files that the build names, and nothing else.

Beside them, what asks another host or leads there by itself, which no policy of a page forbids in every browser.

Where a tag begins depends on what stands before it: a comment, a text that is not markup, a quote that does not end.
Browsers have long rules for that, and Python's parser has others. So every `<` before a letter is read as if a tag
began there, by the rules by which browsers read a tag: that finds what any of them may find.

A drawing is XML, where a name may begin with other letters, and where a prefix says nothing: a parser of XML reads it
too, and what that parser would not read, or would add to, is refused. So is every element that is none of a drawing's
(`explorable.finish.drawn`).
"""

from __future__ import annotations

import base64
import hashlib
import html as entities
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NoReturn
from urllib.parse import urlsplit
from xml.parsers import expat

from explorable.finish import drawn

_BLANKS = "\t\n\f\r "
_SPACE = r"[\t\n\f\r ]"
_TAG = re.compile(r"<([a-z][^\t\n\f\r />]*)", re.IGNORECASE)
_ATTRIBUTE = re.compile(
    rf"(?:{_SPACE}|/)*(?P<name>=?[^\t\n\f\r />=]+|=)"
    rf"(?:{_SPACE}*={_SPACE}*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>(?!{_SPACE})[^\t\n\f\r >]*)))?"
)
_END = re.compile(rf"(?:{_SPACE}|/)*>")
_CLOSED = re.compile(r"</script(?=[\t\n\f\r />])|\Z", re.IGNORECASE)
_HANDLER = re.compile(r"on[a-z]+")
# In an address, in a list of them (an animation), and behind the seconds of a page that leads on.
_RUNS = re.compile(r"(?:\A|[;,=])(?:javascript|vbscript):")
# The theme closes its search by such a link, which does nothing.
_NOTHING = "javascript:void(0)"
# Either may add elements and attributes that do not stand in the drawing.
_UNSEEN_PART = re.compile(r"<!doctype|<!entity|<\?xml-stylesheet", re.IGNORECASE)
_IN_UTF_8 = "Save the drawing as XML in the encoding UTF-8"
_BASE = re.compile(r'new URL\("(?:\.|(?:\.\./)*\.\.|/[\w./-]*)",location\)')
_OWNED = "__"
"""How the ids begin by which the theme's program finds its settings, as the address of its worker, and its parts."""
_ASKS = {"link": "href", "base": "href", "iframe": "src", "frame": "src", "form": "action"}
_ONLY_SAYS = frozenset({
    "alternate", "author", "bookmark", "canonical", "cite-as", "copyright", "help", "license", "me", "privacy-policy",
    "terms-of-service",
})  # fmt: skip
"""What a link may be to an address that browsers do not ask for."""
_STAYS = re.compile(r"0*[1-9]\d*(?:\.\d*)?")
"""Seconds after which a page is loaded again."""
_COPIED = ("data-copy", "data-clipboard-text", "data-clipboard-target")
"""Attributes by which the theme's copy button takes another text than the one that is shown."""
_FETCHED = "mermaid"
"""A class for which the theme fetches a program of another host; where the policy refuses that, the theme's ends."""
_LISTS = ("srcset", "imagesrcset")
"""Attributes with several addresses of pictures: a browser may reach for a host before the policy forbids it."""
_ZEROS = re.compile(r"&#(x?)0+(?=[0-9a-f])", re.IGNORECASE)
_BEYOND = re.compile(r"&#(?:\d{8,}|x[0-9a-f]{7,});?", re.IGNORECASE)
"""Numbers of characters that Unicode does not have, in whose place browsers show one that says so."""
_MOST_ATTRIBUTES = 100
"""Of one tag. A tag that does not end takes in all that follow, each of which is read as one that does not end."""
_TIMES, _FREE = 20, 200_000
"""How often each character of a page may be read, and how many more: an open tag takes in all that follow."""
_LONGEST_NAMESPACE = 200
"""Characters of a namespace's name."""
_LONGEST = 60
"""Characters of a script that a message quotes."""


@dataclass(frozen=True)
class Found:
    """A script in a page: where it begins, its text, and the hash by which the page's policy allows it.

    refused: why nobody allows it; "" for one that is listed. clue: the part that is wrong, as its author may have
    written it. mend: what helps, where it is not to remove it.
    """

    start: int
    text: str
    hash: str
    refused: str
    clue: str = ""
    mend: str = ""


Fault = tuple[str, str]
"""Why nobody allows what a tag says, and the part of it that is wrong."""


class _Budget:
    """Characters that may be read for one page: each some times over, by tags that do not end and by frames."""

    def __init__(self, html: str) -> None:
        self._left = _TIMES * len(html) + _FREE

    def spent(self, characters: int) -> bool:
        """Whether the page holds more to read than it may."""
        self._left -= characters
        return self._left < 0


def scripts(
    html: str, files: Collection[str], allowed: Collection[str] = (), *, inside: _Budget | None = None
) -> Iterator[Found]:
    """Every script of a page: elements, and what an attribute would run.

    Args:
        html: a whole page.
        files: addresses of the site's own scripts, from its root.
        allowed: hashes of the texts that may stand in pages.
        inside: of a frame's text, in which no other frame may be, what is left to read of its page.
    """
    budget, read = inside or _Budget(html), 0
    owned: set[str] = set()
    for tag in _TAG.finditer(html):
        if tag.start() < read:
            continue
        attributes, end = _attributes(html, tag.end())
        if budget.spent(end - tag.start()):
            yield Found(tag.start(), tag[0], "", f"at the tag {tag[0]!r} the page takes too long to read", tag[0])
            return
        opened = html[tag.start() : end]
        if attributes is None:
            refused = f"the tag {_short(opened)!r} has more than {_MOST_ATTRIBUTES} attributes"
            yield Found(tag.start(), opened, "", refused, tag[0])
            return
        kind = tag[1].lower().rpartition(":")[2]
        if kind == "script":
            closed = _CLOSED.search(html, end)
            assert closed, "the end of the page closes it"
            budget.spent(closed.start() - end)
            found = _script(tag.start(), opened, attributes, html[end : closed.start()], files, allowed)
            if found is not None:
                yield found
                # Whoever listed a text has read it. In all other texts there may be more.
                read = closed.start() if found.hash and not found.refused else 0
        if (name := (attributes or {}).get("id", "")).startswith(_OWNED):
            if name in owned:
                refused = f"the id {_short(name)!r} is the theme's, whose program takes the first of two on a page"
                yield Found(tag.start(), opened, "", refused, name)
            owned.add(name)
        if attributes:
            for refused, clue in _faults(kind, opened, attributes, budget, framed=inside is not None):
                yield Found(tag.start(), opened, "", refused, clue)


def _faults(
    kind: str, tag: str, attributes: Mapping[str, str], budget: _Budget, *, framed: bool = False
) -> Iterator[Fault]:
    """What the attributes of a tag ask of another host, and what they run."""
    yield from _asks_others(kind, tag, attributes)
    yield from _attributes_that_run(tag, attributes, budget, framed=framed)


def _asks_others(kind: str, tag: str, attributes: Mapping[str, str]) -> Iterator[Fault]:
    """What asks another host, or leads there, without a reader's click."""
    told = attributes.get("http-equiv", "").strip(_BLANKS).lower() if kind == "meta" else ""
    content = attributes.get("content", "")
    if told == "x-dns-prefetch-control" and content.strip(_BLANKS).lower() != "off":
        yield f"{_short(tag)!r} leads to another page before a click: the hosts of links are looked up", tag
    if told == "refresh":
        if not _STAYS.fullmatch(drawn.UNSEEN.sub("", content)):
            yield f"the refresh {_short(content)!r} leads to another page, or never ends", content
        return
    yield from _pictures(tag, attributes)
    for name in dict.fromkeys((_ASKS.get(kind, "formaction"), "formaction")):
        value = attributes.get(name, "")
        address, rels = drawn.UNSEEN.sub("", value).lower(), set(attributes.get("rel", "").lower().split())
        harmless = kind == "link" and (rels <= _ONLY_SAYS or address.startswith("data:"))
        # What would run a script is told as that.
        if drawn.ELSEWHERE.match(address) and not harmless and not _RUNS.search(address):
            yield f"{name}={_short(value)!r} in {_short(tag)!r} is none of this site's", value


def _pictures(tag: str, attributes: Mapping[str, str]) -> Iterator[Fault]:
    """Pictures of another host in a list of several, of which a browser takes one."""
    for name in _LISTS:
        for one in attributes.get(name, "").split(","):
            address = drawn.UNSEEN.sub("", one).lower()
            if drawn.ELSEWHERE.match(address) and not address.startswith("data:"):
                yield f"{name}={_short(one)!r} in {_short(tag)!r} is none of this site's", one.strip()


def _script(
    start: int, tag: str, attributes: Mapping[str, str], text: str, files: Collection[str], allowed: Collection[str]
) -> Found | None:
    """What a script's element runs; None where it holds data, or loads a file of the site."""
    if any(name in attributes for name in ("href", "xlink:href")):
        return Found(start, tag, "", f"the script {_short(tag)!r} is one of a drawing")
    if "src" in attributes:
        address = attributes["src"]
        if not _is_ours(address, files):
            return Found(start, tag, "", f"the script {address!r} is none of this site's", address)
        # Within a drawing the address says nothing, and the text runs.
        return Found(start, tag, "", f"the script {address!r} has a text as well", address) if text.strip() else None
    if attributes.get("type", "").strip(_BLANKS).lower() == "application/json":
        return None
    known = hash_of(_BASE.sub('new URL("BASE",location)', text))
    refused = "" if known in allowed else f"the script {_short(text)!r} (sha256 {known}) is not listed"
    return Found(start, text, hash_of(text), refused, tag)


def _attributes(html: str, at: int) -> tuple[dict[str, str] | None, int]:
    """The attributes of a tag from behind its name, by their names in small letters, and where the tag ends.

    As browsers have it, the first of two attributes of one name counts. None for a tag that has too many, and where
    they were left.
    """
    found: dict[str, str] = {}
    for _ in range(_MOST_ATTRIBUTES + 1):
        if end := _END.match(html, at):
            return found, end.end()
        one = _ATTRIBUTE.match(html, at)
        if not one:
            return found, at
        value = one["double"] or one["single"] or one["bare"] or ""
        found.setdefault(one["name"].lower(), _unescaped(value))
        at = one.end()
    return None, at


def _unescaped(value: str) -> str:
    """An attribute's value as browsers have it, also with numbers of more digits than Python reads."""
    if "&#" in value:
        value = _BEYOND.sub("\ufffd", _ZEROS.sub(r"&#\1", value))
    return entities.unescape(value)


def _attributes_that_run(tag: str, attributes: Mapping[str, str], budget: _Budget, *, framed: bool) -> Iterator[Fault]:
    for name, value in attributes.items():
        # Hundreds of thousands of attributes have no colon, as an address that runs something has.
        address = drawn.UNSEEN.sub("", value).lower() if ":" in value else ""
        leads = _RUNS.search(address) and address != _NOTHING
        if leads or _HANDLER.fullmatch(name):
            yield f"{name}={_short(value)!r} in {_short(tag)!r} would run a script", value if leads else name
        elif name in _COPIED and value:
            yield f"{name}={_short(value)!r} in {_short(tag)!r} copies what is not shown", name
        elif name == "class" and _FETCHED in value.lower().split():
            yield f"the class '{_FETCHED}' in {_short(tag)!r} makes the theme ask another host", value
        elif name == "srcdoc" and framed:
            yield f"{name}={_short(value)!r} in {_short(tag)!r} is a frame within a frame", name
        elif name == "srcdoc" and (inner := next(scripts(value, (), inside=budget), None)):
            yield inner.refused or f"the script {_short(inner.text)!r} is in a frame", name
        # The theme shows a title as markup when the pointer rests on it.
        elif name == "title" and "<" in value and framed:
            yield f"the tooltip {_short(value)!r} holds markup within markup", value
        elif name == "title" and "<" in value and (inner := next(scripts(value, (), inside=budget), None)):
            yield f"the tooltip {_short(value)!r} holds {inner.refused or 'markup that runs'}", value


def drawing(raw: bytes, no_part: Callable[[str, str], str] = drawn.no_element) -> Found | None:
    """What an SVG file would run where a browser shows it as a page of its own, without a policy.

    Args:
        raw: the file, as it will be published.
        no_part: why an element, by its namespace and name, may not stand there; "" for one that may.

    Returns:
        The first thing that is no part of it, runs, asks another host, or cannot be judged: a file that is not UTF-8 or
        says that it is not, one that is no XML, and one with a document type, which may give any element attributes.
        None for nothing.
    """
    try:
        svg = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # What stands before it is UTF-8, so the line is right.
        start = len(raw[: error.start].decode("utf-8-sig"))
        return Found(start, "", "", f"the byte 0x{raw[error.start]:02x} is not UTF-8", mend=_IN_UTF_8)
    if (start := svg.find("\0")) >= 0:
        return Found(start, "", "", "the drawing has a character NUL, as one in another encoding has", mend=_IN_UTF_8)
    if named := _UNSEEN_PART.search(svg):
        return Found(named.start(), named[0], "", f"{named[0]!r} stands for something that nobody sees here")
    if found := next(scripts(svg, ()), None):
        return replace(found, refused=found.refused or f"the script {_short(found.text)!r} is in a drawing")
    return _Drawing(svg, no_part).refused()


def _characters(text: bytes, end: int) -> int:
    """How many characters stand before a byte."""
    return len(text[:end].decode(errors="replace"))


class _RefusedError(Exception):
    """Ends the reading of a drawing at the first thing that is refused."""

    def __init__(self, found: Found) -> None:
        super().__init__(found.refused)
        self.found = found


class _Drawing:
    """What a browser's parser of XML finds in a drawing that runs or asks, by the names without their prefixes."""

    def __init__(self, svg: str, no_part: Callable[[str, str], str]) -> None:
        self._text, self._budget = svg.encode(), _Budget(svg)
        self._no_part = no_part
        # The pieces of the style sheet that is open, which a browser joins.
        self._style: list[str] | None = None
        # The drawing is text by now, so what it says of its encoding is asked below and does not count here.
        self._parser = parser = expat.ParserCreate("utf-8", namespace_separator=" ")
        parser.XmlDeclHandler = self._declared
        parser.StartNamespaceDeclHandler = self._named
        parser.StartElementHandler = self._opened
        parser.EndElementHandler = self._closed
        parser.CharacterDataHandler = self._said

    def refused(self) -> Found | None:
        """The first thing that is refused; None for a drawing that may be shown."""
        try:
            self._parser.Parse(self._text, True)
        except _RefusedError as refused:
            return refused.found
        except expat.ExpatError as error:
            what = f"the drawing is no XML: {expat.errors.messages[error.code]}"
            return self._found("", what, "Write it as XML has it")
        return None

    def _found(self, clue: str, refused: str, mend: str = "") -> Found:
        # To count takes as long as the drawing before it, so it is done of what is at fault alone.
        start = _characters(self._text, self._parser.CurrentByteIndex)
        return Found(start, clue, "", refused, clue, mend)

    def _refuse(self, clue: str, refused: str, mend: str = "") -> NoReturn:
        raise _RefusedError(self._found(clue, refused, mend))

    def _declared(self, _version: str, encoding: str | None, _standalone: int) -> None:
        if encoding and encoding.lower() != "utf-8":
            said = f"the drawing says that its encoding is {_short(encoding)!r}"
            self._refuse(encoding, said, _IN_UTF_8)

    def _named(self, _prefix: str | None, namespace: str | None) -> None:
        # The parser gives every name in it with the whole of it.
        if namespace and len(namespace) > _LONGEST_NAMESPACE:
            said = f"the namespace {_short(namespace)!r} has more than {_LONGEST_NAMESPACE} characters"
            self._refuse(namespace, said)

    def _opened(self, name: str, given: dict[str, str]) -> None:
        namespace, _, kind = name.rpartition(" ")
        tag = f"<{' '.join([kind, *(one.rpartition(' ')[2] for one in given)])}>"
        if kind.lower() == "script":
            self._refuse(tag, f"the script {_short(tag)!r} is in a drawing")
        # A handler has no namespace; an address may be one of XLink's.
        attributes = {
            one.rpartition(" ")[2].lower(): value
            for one, value in given.items()
            if " " not in one or not _HANDLER.fullmatch(one.rpartition(" ")[2].lower())
        }
        for refused, clue in _faults(kind.lower(), tag, attributes, self._budget):
            self._refuse(clue, refused)
        in_style = "" if self._style is None else "an element stands in a style"
        if no_part := self._no_part(namespace, kind) or drawn.asks(kind, given) or in_style:
            self._refuse(tag, f"in {_short(tag)!r}, {no_part}")
        if kind == "style" and namespace in ("", drawn.SVG):
            self._style = []

    def _said(self, text: str) -> None:
        if self._style is not None:
            self._style.append(text)

    def _closed(self, _name: str) -> None:
        pieces, self._style = self._style or (), None
        if asks := drawn.styled("".join(pieces)):
            self._refuse("<style", f"in a style, {asks}")


def hash_of(text: str) -> str:
    """As content security policies write it."""
    return base64.b64encode(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()).decode()


def _is_ours(address: str, files: Collection[str]) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    path = re.sub(r"^(?:/(?!/)|\./|\.\./)+", "", parts.path)
    return not parts.scheme and not parts.netloc and path in files


def _short(text: str) -> str:
    said = " ".join(text.split())
    return said if len(said) <= _LONGEST else f"{said[:_LONGEST]}…"
