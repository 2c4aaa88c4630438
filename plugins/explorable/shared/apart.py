"""Blocks that take long, made in a process of their own from when the pages are known, and kept.

What is kept depends on the block, the library, the files that the block says it reads, and all that was imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from markdown.util import AtomicString

from explorable.book import Apart, current
from explorable.shared import making
from explorable.shared.ahead import Ahead
from explorable.shared.cache import Cache, digest, fingerprint
from explorable.shared.child import Child, ChildError
from explorable.shared.errors import AuthorError
from explorable.shared.scan import scan

TIME_LIMIT_S = 300.0
"""The most seconds that one block may take: a survey of everything that others published is one."""
CACHE = ".cache/apart"

_HERE = Path(__file__).parent

_Asked = tuple[Apart, str, str]
"""A block, its argument and its content."""


class Elements:
    """Makes elements where they are asked for, without a process and without a cache: outside of a build."""

    def element(self, block: Apart, argument: str, content: str = "") -> Element:
        """The element of a block, in whose texts Markdown finds nothing. Raises `AuthorError`."""
        answer = self._answer((block, argument.strip(), content.rstrip()))
        if "element" not in answer:
            raise AuthorError(**answer)
        made = ElementTree.fromstring(answer["element"])
        for one in made.iter():
            one.text, one.tail = (text and AtomicString(text) for text in (one.text, one.tail))
        return made

    def begin(self, pages: Iterable[str]) -> None:
        """Begin to make what pages with these texts will ask for, in their order."""

    def close(self) -> None:
        """Leave no process behind."""

    def _answer(self, asked: _Asked) -> dict[str, Any]:
        block, argument, content = asked
        return making.respond({"make": block.make, "argument": argument, "content": content})


class ElementsApart(Elements):
    """Makes elements in a child process. A new one sees new sources.

    Args:
        blocks: by name, the blocks that are made so.
        root: the book's folder, where modules are looked for and results are kept.
    """

    def __init__(self, blocks: Mapping[str, Apart], root: Path) -> None:
        self._blocks = blocks
        self._cache = Cache(root / CACHE)
        self._version = fingerprint(filter(None, (current().library, _HERE / "making.py")))
        self._read = {block: fingerprint(block.reads) for block in blocks.values()}
        self._child = Child("explorable.shared.making", TIME_LIMIT_S, root / CACHE / "bytecode", [str(root)])
        self._answers: Ahead[_Asked, dict[str, Any]] = Ahead(self._found)

    def begin(self, pages: Iterable[str]) -> None:
        """Begin to make what pages with these texts will ask for, in their order."""
        for page in pages:
            for one in scan(page).blocks:
                if one.barred and (block := self._blocks.get(one.name)):
                    self._answers.begin([(block, one.argument, one.content.rstrip())])

    def close(self) -> None:
        """End the child process; a later request starts it again."""
        self._answers.end(self._child.close)

    def _answer(self, asked: _Asked) -> dict[str, Any]:
        return self._answers.answer(asked)

    def _found(self, asked: _Asked) -> dict[str, Any]:
        """What the cache, or the child, says of a block."""
        block, argument, content = asked
        key = digest("apart", self._version, self._read[block], block.make, argument, content)
        answer: dict[str, Any] | None = self._cache.get(key)
        if answer is None:
            try:
                answer = self._child.request({"make": block.make, "argument": argument, "content": content})
            except ChildError as error:
                return {"what": f"{block.make} gave no answer: {error}"}
            assert answer is not None
            if "element" in answer:
                self._cache.put(key, answer, self._child.imported)
        return answer
