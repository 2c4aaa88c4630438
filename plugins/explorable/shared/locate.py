"""Gives each of our Markdown constructs the line it stands on in its source file.

Markdown has no line numbers once blocks are nested in tabs, lists or quotes. So before anything else happens, a
preprocessor writes the line into the construct itself, as characters from Unicode's private area that survive every
later step. The code that renders a construct takes them out again with `unstamp`. Characters that are left are removed
from the page at the end; outside a code sample they mean that nothing rendered the construct, which is a defect.

A site has one `LocateExtension`: each part adds its constructs to `known`, and a host calls `enter` before every page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.inlinepatterns import InlineProcessor
from markdown.postprocessors import Postprocessor
from markdown.preprocessors import Preprocessor

from explorable.shared.apart import Elements
from explorable.shared.errors import Defect
from explorable.shared.log import logger
from explorable.shared.scan import scan
from explorable.site import Page

log = logger("shared")


@dataclass(frozen=True)
class Constructs:
    """What a plugin adds to Markdown.

    fences: languages of fenced code. blocks: names behind `///`. roles: names in braces at the start of a code span.
    """

    fences: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    roles: tuple[str, ...] = ()

    def __or__(self, other: Constructs) -> Constructs:
        """Both together, each name once."""
        fences, blocks, roles = (
            tuple(dict.fromkeys([*mine, *others]))
            for mine, others in (
                (self.fences, other.fences),
                (self.blocks, other.blocks),
                (self.roles, other.roles),
            )
        )
        return Constructs(fences, blocks, roles)


_HEAD = re.compile(r"(?P<indent>[ ]*)/{3,}\s*(?P<name>[\w-]+)")
_DIGITS = [chr(0xE000 + digit) for digit in range(10)]
_FENCE, _BLOCK, _INLINE = "\ue00a", "\ue00b", "\ue00c"
_STAMP = re.compile(f"([{_FENCE}{_BLOCK}{_INLINE}])([{_DIGITS[0]}-{_DIGITS[9]}]+)")

_MADE = re.compile(r"(?:</?|///+\s*html\s*\|\s*)(live-(?:act|ceilings|exercise|figure|keep|snippet))\b", re.IGNORECASE)
"""Elements whose attributes name programs and pictures; those of a ledger and of a class an author writes."""
_ROLE = re.compile(r"`\{(?P<name>[\w-]+)\}")
_PRE = re.compile(r"<pre\b.*?</pre>|<!--.*?-->", re.DOTALL)
_CODE = re.compile(r"<code\b.*?</code>", re.DOTALL)


def unstamp(text: str) -> tuple[str, int | None]:
    """Return the text without stamps, and the source line of the first one, or None if there was none."""
    found = _STAMP.search(text)
    return _STAMP.sub("", text), None if found is None else _line(found)


def stamp(lines: list[str], known: Constructs, first_line: int = 1) -> list[str]:
    """Write its line into every known construct. `first_line` is the number of `lines[0]` in the source file.

    A fence carries the stamp at the start of its code, a block at the end of its argument, an inline construct behind
    its braces. Code fences in other languages are left as they are.
    """
    page, shift = scan("\n".join(lines), whole=False), first_line - 1
    stamped = [
        _ROLE.sub(partial(_marked, _mark(_INLINE, number), known.roles), line) if seen else line
        for number, (line, seen) in enumerate(zip(lines, page.prose, strict=False), first_line)
    ]
    for block in page.blocks:
        if block.barred and block.name in known.blocks:
            begins = lines[block.line - 1].rstrip()
            bar = "" if "|" in begins else " |"
            stamped[block.line - 1] = f"{begins}{bar} {_mark(_BLOCK, block.line + shift)}"
    for fence in reversed(page.fences):
        # One that is left open is told where pages are checked.
        if fence.language in known.fences and fence.closed:
            begins = fence.prefix + _mark(_FENCE, fence.line + shift)
            if fence.last == fence.line + 1:
                # An empty fence has no line of code to carry the stamp, so it gets one.
                stamped.insert(fence.line, begins)
            else:
                stamped[fence.line] = begins + lines[fence.line][len(fence.prefix) :]
    return stamped


def _marked(mark: str, roles: tuple[str, ...], role: re.Match[str]) -> str:
    return role[0] + mark if role["name"] in roles else role[0]


def unclaimed(html: str) -> list[tuple[str, int]]:
    """The constructs that nobody rendered and that no code sample explains, as (kind, source line)."""
    visible = _PRE.sub("", html)
    found = [("fence", _line(match)) for match in _STAMP.finditer(visible) if match[1] == _FENCE]
    # Braces in inline code may be an example, so they are not reported; slashes at the start of a line never are one.
    prose = _CODE.sub("", visible)
    kinds = {_BLOCK: "block", _INLINE: "inline"}
    found += [(kinds[match[1]], _line(match)) for match in _STAMP.finditer(prose) if match[1] in kinds]
    return sorted(found, key=lambda item: item[1])


class LocateExtension(Extension):
    """Stamps every page before any other step, and checks and cleans it after the last."""

    def __init__(self, root: Path | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.root = root or Path.cwd()
        self.file, self.page = "<markdown>", Page("", None, "", "")
        self.known = Constructs()
        """What all parts of the site have registered."""
        self.elements = Elements()
        """Makes the blocks that take long."""
        self._first_line = 1
        self._as_written = True

    def enter(self, page: Page, markdown: str) -> None:
        """Say which page comes next. `markdown` is its text without front matter, not yet changed by anybody.

        Of a page that was made from something else, a notebook, the lines of the source file are not known.
        """
        self.file, self.page = source_path(page.path or page.source, self.root), page
        written = page.written.rstrip()
        self._as_written = written.endswith(markdown.rstrip())
        front_matter = written.removesuffix(markdown.rstrip())
        self._first_line = 1 + front_matter.count("\n")

    def defect(self, line: int | None, what: str, fix: str = "") -> Defect:
        """A defect on the current page."""
        return Defect(self.file, line if self._as_written else None, what, fix)

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name is Python-Markdown's
        """Register the first preprocessor and the last postprocessor, and say where others find this."""
        md.registerExtension(self)
        md.preprocessors.register(_Stamper(md, self), "locate", 1000)
        # Behind includes and fences, before HTML is put aside.
        md.preprocessors.register(_ByHand(md, self), "locate-by-hand", 22)
        md.postprocessors.register(_Cleaner(md, self), "locate", -1000)

    @property
    def first_line(self) -> int:
        """The line of the source file on which the page's Markdown starts."""
        return self._first_line


def located(md: Markdown) -> LocateExtension:
    """The `LocateExtension` of a converter; a plain one where nobody says which page it converts."""
    return next((one for one in md.registeredExtensions if isinstance(one, LocateExtension)), LocateExtension())


def source_path(path: Path | str, root: Path) -> str:
    """How messages name a source file: relative to the book's folder where it lies within."""
    resolved = Path(path).resolve()
    return resolved.relative_to(root.resolve()).as_posix() if resolved.is_relative_to(root.resolve()) else str(path)


def line_of_link(path: Path, link: str) -> int | None:
    """The first line of a page on which a link stands: in brackets, as a definition, or as an attribute."""
    try:
        prose = scan(path.read_text(encoding="utf-8")).prose
    except (OSError, ValueError):
        return None
    written = re.compile(rf"""[(<"':\s]{re.escape(link)}(?:[)>"'\s]|$)""")
    return next((number for number, line in enumerate(prose, 1) if written.search(line)), None)


class RoleProcessor(InlineProcessor):
    """Turns code spans that begin with one of these roles into elements.

    A span that does not is passed over whole, so an example in a longer span stays an example.

    Args:
        md: the converter.
        roles: the names.
        make: gives the element of a role, of the text behind it, and of its line in the source.
    """

    def __init__(self, md: Markdown, roles: tuple[str, ...], make: Callable[[str, str, int | None], Element]) -> None:
        super().__init__(r"(?<![\\`])(`+)(?!`)(.+?)(?<!`)\1(?!`)", md)
        self._ours = re.compile(rf"\{{({'|'.join(roles)})\}}(.*)", re.DOTALL)
        self._make = make

    def handleMatch(  # type: ignore[override] # noqa: N802
        self, m: re.Match[str], data: str
    ) -> tuple[Element | None, int | None, int | None]:
        """The element of a span, and where the span begins and ends."""
        if not (found := self._ours.match(m[2].strip())):
            return None, None, None
        text, line = unstamp(found[2])
        return self._make(found[1], " ".join(text.split()), line), m.start(0), m.end(0)


class _Stamper(Preprocessor):
    def __init__(self, md: Markdown, extension: LocateExtension) -> None:
        super().__init__(md)
        self._extension = extension

    def run(self, lines: list[str]) -> list[str]:
        if _STAMP.search("\n".join(lines)):
            what = "the page has characters of Unicode's private area (U+E000 to U+E00C)"
            log.warning("%s", self._extension.defect(None, what, "leave them out: the build marks lines with them"))
            lines = [_STAMP.sub("", line) for line in lines]
        return stamp(lines, self._extension.known, self._extension.first_line)


class _ByHand(Preprocessor):
    """Tells elements that the build makes where an author has written them: they start what their attributes name."""

    def __init__(self, md: Markdown, extension: LocateExtension) -> None:
        super().__init__(md)
        self._extension = extension

    def run(self, lines: list[str]) -> list[str]:
        # What is left of a stamp is taken out of the page at its end, and may join a name again.
        plain = [_STAMP.sub("", line) for line in lines]
        by_hand = {number: found for number, line in enumerate(plain) if (found := _MADE.search(line))}
        places: dict[str, int] = {}
        for number, line in enumerate(self._extension.page.written.split("\n") if by_hand else (), 1):
            for one in _MADE.finditer(line):
                places.setdefault(one[0], number)
        for number, found in by_hand.items():
            what = f"the element '{found[1].lower()}' is one that the build makes"
            log.warning("%s", self._extension.defect(places.get(found[0]), what, "write its block or its fence"))
            lines[number] = _MADE.sub(r"\1", plain[number])
        return lines


class _Cleaner(Postprocessor):
    def __init__(self, md: Markdown, extension: LocateExtension) -> None:
        super().__init__(md)
        self._extension = extension

    def run(self, text: str) -> str:
        shapes = {
            "fence": 'write the options as name="…" with quotes',
            "block": "it needs an empty line before it, known options, and the matching slashes at its end",
            "inline": "close it with a backtick on the same paragraph",
        }
        for kind, line in unclaimed(text):
            option = self._option(line) if kind == "block" else None
            what, fix = option or (f"this {kind} was not understood", shapes[kind])
            log.warning("%s", self._extension.defect(line, what, fix))
        return _STAMP.sub("", text)

    def _option(self, line: int) -> tuple[str, str] | None:
        """What is wrong with the options of the block on a line, and what to do; None where it is something else."""
        head, *rest = self._extension.page.written.split("\n")[line - 1 :] or [""]
        block = _HEAD.match(head)
        known = getattr(self.md.parser.blockprocessors["blocks"], "blocks", {})
        if block is None or block["name"] not in known:
            return None
        options = takewhile(re.compile(rf" {{{len(block['indent']) + 4},}}\S").match, rest)
        names = (one.partition(":")[0].strip() for one in options)
        allowed = known[block["name"]].OPTIONS
        wrong = next((name for name in names if name not in (*allowed, "attrs")), None)
        if wrong is None:
            return None
        fix = f"allowed: {', '.join(allowed)}" if allowed else "it has none: write its content without spaces before it"
        return f"the block '{block['name']}' was not understood: it has no option '{wrong}'", fix


def _mark(kind: str, line: int) -> str:
    return kind + "".join(_DIGITS[int(digit)] for digit in str(line))


def _line(match: re.Match[str]) -> int:
    return int("".join(str(_DIGITS.index(digit)) for digit in match[2]))
