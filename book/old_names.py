"""Anchors of the engine's reference from before it was called `ironlaw`: `#engine.core.units` leads where it led."""

from __future__ import annotations

import re
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor

_NAMED = re.compile(r'<\w+ (?:[^<>]* )?id="ironlaw(?P<name>\.[\w.]+)"')


class _OldNames(Postprocessor):
    def run(self, text: str) -> str:
        return _NAMED.sub(r'<a id="engine\g<name>"></a>\g<0>', text)


class OldNamesExtension(Extension):
    """Puts the old anchor before each new one."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (Python-Markdown's name)
        """Run after raw HTML (30) is in its place."""
        md.postprocessors.register(_OldNames(md), "il-old-names", -10)


def makeExtension(**options: Any) -> OldNamesExtension:  # noqa: N802 (Python-Markdown's name)
    """Entry point for `markdown_extensions`."""
    return OldNamesExtension(**options)
