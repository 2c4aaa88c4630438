"""The Markdown extension: finds live fences, acts and exercises, and puts their HTML in place at the end.

Nothing runs while Markdown is parsed. A parser may look at a fence and then find that it stands in an indented code
sample, and a snippet needs those before it. So parsing only leaves a marker, and the last step replaces the markers
that made it into the page, in reading order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol
from xml.etree import ElementTree

from markdown import Markdown
from markdown.postprocessors import Postprocessor
from pymdownx.blocks import BlocksExtension, BlocksProcessor  # type: ignore[import-untyped]
from pymdownx.blocks.block import Block, type_string  # type: ignore[import-untyped]
from pymdownx.superfences import SuperFencesCodeExtension  # type: ignore[import-untyped]

from explorable.shared.locate import Constructs, unstamp

CONSTRUCTS = Constructs(fences=("live", "exercise"), blocks=("act", "exercise"))

_SNIPPET = re.compile(r'<!--.*?-->|<div data-live-snippet="(\d+)"></div>', re.DOTALL)
_ACT = re.compile(r'<!--.*?-->|<div data-live-act="(\d+)">(.*?)<div data-live-act-end="\1"></div>\s*</div>', re.DOTALL)
_EXERCISE = re.compile(
    r'<!--.*?-->|<div data-live-exercise="(\d+)">(.*?)<div data-live-exercise-end="\1"></div>\s*</div>', re.DOTALL
)
_CLASS = re.compile(r'<!--.*?-->|(<live-class\b[^>]*? data-acts="([^"]*)")', re.DOTALL)
_PART = re.compile(r'<!--.*?-->|<div data-live-part="(\d+)"></div>', re.DOTALL)


@dataclass(frozen=True)
class Fence:
    """A live fence as written: its code, its options, and the source line it starts on."""

    source: str
    options: dict[str, str]
    line: int | None


@dataclass(frozen=True)
class ActReference:
    """An act block as written: the act's name and the source line it starts on."""

    name: str
    line: int | None


@dataclass(frozen=True)
class ExerciseReference:
    """An exercise block as written: its name, its title, and the source line it starts on."""

    name: str
    title: str
    line: int | None


class Renderer(Protocol):
    """Who turns what the author wrote into HTML. One page after the other, each in reading order."""

    def snippet(self, fence: Fence) -> str:
        """The HTML of a live fence."""

    def act(self, reference: ActReference, math_html: str) -> str:
        """The HTML of an act, whose block had the content `math_html`."""

    def exercise(self, reference: ExerciseReference, parts: Sequence[Fence], task_html: str) -> str:
        """The HTML of an exercise with these fences, whose block had besides the content `task_html`."""

    def asked(self, names: Sequence[str]) -> str:
        """What acts ask, as an attribute's value: a page for a class believes no reader's file in that."""

    def stray(self, part: Fence) -> str:
        """What stands in place of an exercise's fence that is in no exercise."""


@dataclass
class _Found:
    """What one Markdown document contains."""

    fences: list[Fence] = field(default_factory=list)
    acts: list[ActReference] = field(default_factory=list)
    exercises: list[ExerciseReference] = field(default_factory=list)
    parts: list[Fence] = field(default_factory=list)


class LiveExtension(BlocksExtension):  # type: ignore[misc]
    """Adds the `live` fence and the `act` block to Markdown."""

    def __init__(self, renderer: Renderer, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._renderer = renderer

    def extendMarkdownBlocks(self, md: Markdown, block_mgr: BlocksProcessor) -> None:  # noqa: N802 - pymdownx's name
        """Register the fence, the block, and the step that renders them."""
        found = _Found()
        block_mgr.register(ActBlock, {"found": found})
        block_mgr.register(ExerciseBlock, {"found": found})
        fences = _superfences(md)
        fences.extend_super_fences("live", _leave_marker("snippet", found.fences), _accept_options, None)
        fences.extend_super_fences("exercise", _leave_marker("part", found.parts), _accept_options, None)
        # 30 is where stashed HTML comes back into the page.
        md.postprocessors.register(_Render(md, found, self._renderer), "live", 20)


class ActBlock(Block):  # type: ignore[misc]
    """`/// act | name`: an interactive act. The content of the block is the math peek."""

    NAME = "act"
    ARGUMENT = None

    def on_create(self, parent: ElementTree.Element) -> ElementTree.Element:
        """Leave a marker around the content."""
        name, line = unstamp(self.argument or "")
        found = getattr(self.config["found"], f"{self.NAME}s")
        self._number = str(len(found))
        found.append(self._reference(name.strip(), line))
        return ElementTree.SubElement(parent, "div", {f"data-live-{self.NAME}": self._number})

    def on_end(self, block: ElementTree.Element) -> None:
        """Mark where the content ends; it may contain divisions of its own."""
        ElementTree.SubElement(block, "div", {f"data-live-{self.NAME}-end": self._number})

    def _reference(self, name: str, line: int | None) -> ActReference | ExerciseReference:
        return ActReference(name, line)


class ExerciseBlock(ActBlock):
    """`/// exercise | name`: a function that the reader completes. The block holds the task and its fences."""

    NAME = "exercise"
    OPTIONS = {"title": ["", type_string]}  # noqa: RUF012 - pymdownx's name and kind

    def _reference(self, name: str, line: int | None) -> ActReference | ExerciseReference:
        return ExerciseReference(name, self.options["title"], line)


class _Render(Postprocessor):
    def __init__(self, md: Markdown, found: _Found, renderer: Renderer) -> None:
        super().__init__(md)
        self._found = found
        self._renderer = renderer

    def run(self, text: str) -> str:
        steps = (
            (_SNIPPET, self._snippet), (_ACT, self._act), (_CLASS, self._class), (_EXERCISE, self._exercise),
            (_PART, self._stray),
        )  # fmt: skip
        for pattern, made in steps:
            text = _replaced(pattern, made, text)
        return text

    def _snippet(self, match: re.Match[str]) -> str:
        return self._renderer.snippet(self._found.fences[int(match[1])])

    def _act(self, match: re.Match[str]) -> str:
        return self._renderer.act(self._found.acts[int(match[1])], match[2].strip())

    def _exercise(self, match: re.Match[str]) -> str:
        parts = [self._found.parts[int(found[1])] for found in _PART.finditer(match[2]) if found[1] is not None]
        task = _PART.sub(lambda found: "" if found[1] else found[0], match[2]).strip()
        return self._renderer.exercise(self._found.exercises[int(match[1])], parts, task)

    def _class(self, match: re.Match[str]) -> str:
        return f'{match[1]} data-asked="{self._renderer.asked(match[2].split())}"'

    def _stray(self, match: re.Match[str]) -> str:
        return self._renderer.stray(self._found.parts[int(match[1])])


def _replaced(pattern: re.Pattern[str], made: Callable[[re.Match[str]], str], text: str) -> str:
    """The text with something made in the place of each marker; comments stay."""
    return pattern.sub(lambda match: match[0] if match[1] is None else made(match), text)


def _superfences(md: Markdown) -> Any:
    if not any(isinstance(one, SuperFencesCodeExtension) for one in md.registeredExtensions):
        # It registers others behind itself.
        md.registerExtensions(["pymdownx.superfences"], {})
    return next(one for one in md.registeredExtensions if isinstance(one, SuperFencesCodeExtension))


def _accept_options(
    language: str, inputs: dict[str, str], options: dict[str, Any], attrs: dict[str, Any], md: Markdown
) -> bool:
    # Accept every option here, so that the renderer can name a wrong one; superfences would show the fence as text.
    options.update(inputs)
    return True


def _leave_marker(kind: str, found: list[Fence]) -> Any:
    def leave(src: str, options: dict[str, str], **_: Any) -> str:
        source, line = unstamp(src)
        found.append(Fence(source, dict(options), line))
        return f'<div data-live-{kind}="{len(found) - 1}"></div>'

    return leave
