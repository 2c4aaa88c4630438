"""The extension to Markdown `explorable.prepared`: gives a generator the pages as `explorable prepare` has made them.

    markdown_extensions:
      - explorable.prepared

Zensical says which page it converts by a preprocessor called `rendering_context`. Where there is none, as under MkDocs,
whose adapter converts pages itself, the extension does nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor
from markdown.preprocessors import Preprocessor

from explorable.manifest import FILE, Manifest, Prepared, PreparedPage, read
from explorable.shared.scan import Scan, scan
from explorable.shared.sums import digest

NAME = "explorable.prepared"
_AGAIN = "run `python -m explorable prepare`"
_read: dict[tuple[Path, int], Manifest] = {}
"""The manifest by its file and the time of its last change."""


def holds(page: Scan, fences: Collection[str], blocks: Collection[str], roles: Collection[str]) -> bool:
    """Whether a page holds one of these constructs."""
    return (
        any(fence.language in fences for fence in page.fences)
        or any(block.barred and block.name in blocks for block in page.blocks)
        or any(role.name in roles for role in page.roles)
    )


def digest_of(lines: Sequence[str]) -> str:
    """A hash of a page's text without front matter. What generators change at the ends of lines does not count."""
    return digest("\n".join(line.rstrip() for line in lines).strip())


class PreparedExtension(Extension):
    """Puts prepared pages in the place of what they were made from."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 - the name is Python-Markdown's
        """Register the first preprocessor and the last postprocessor."""
        taken = _Taken(md)
        md.preprocessors.register(taken, "explorable_prepared", 2000)
        md.postprocessors.register(_Given(taken), "explorable_prepared", -2000)


class _Taken(Preprocessor):
    """Takes the text of a prepared page out of the conversion."""

    page: PreparedPage | None = None

    def run(self, lines: list[str]) -> list[str]:
        self.page = None
        told = [one for one in self.md.preprocessors if getattr(one, "name", "") == "rendering_context"]
        if not told:
            return lines
        context: Any = told[0]
        file = Path(context.config["root_dir"], FILE)
        page, text = str(context.page.path), "\n".join(lines)
        made = _prepared(file, page)
        self.page = made.pages.get(page)
        if self.page is None and holds(scan(text, whole=False), made.fences, made.blocks, made.roles):
            raise ValueError(f"{page}: the page was not prepared; {_AGAIN}")
        if self.page is None:
            return lines
        if self.page.text != digest_of(lines):
            raise ValueError(f"{page}: the page has changed since it was prepared; {_AGAIN}")
        return []


class _Given(Postprocessor):
    """Gives the prepared page, and its table of contents."""

    def __init__(self, taken: _Taken) -> None:
        super().__init__(taken.md)
        self._taken = taken

    def run(self, text: str) -> str:
        page = self._taken.page
        if page is None:
            return text
        vars(self.md)["toc_tokens"] = [*page.contents]
        return f"{page.html}\n{page.mark}"


def _prepared(file: Path, page: str) -> Prepared:
    try:
        key = file, file.stat().st_mtime_ns
        if key not in _read:
            _read.clear()
            _read[key] = read(file.read_text(encoding="utf-8"))
        made = _read[key].prepared
    except (OSError, ValueError) as error:
        raise ValueError(f"{page}: {file} cannot be read ({error}); {_AGAIN}") from None
    if made is None:
        raise ValueError(f"{page}: the last build was not prepared; {_AGAIN}")
    return made


def makeExtension(**options: Any) -> PreparedExtension:  # noqa: N802 - the name is Python-Markdown's
    """The extension, for Python-Markdown, which makes it by its module's name."""
    return PreparedExtension(**options)
