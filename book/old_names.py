"""Old anchors of the references: `#engine.core.units` leads where it led.

The engine was not called `ironlaw` then, and the toolkit not `explorable`; modules have been joined since.
"""

from __future__ import annotations

import re
from typing import Any

from markdown import Markdown
from markdown.extensions import Extension
from markdown.postprocessors import Postprocessor

_NAMED = re.compile(r'<\w+ (?:[^<>]* )?id="(?P<library>ironlaw|explorable)\.(?P<name>[\w.]+)"')
_LIBRARIES = {"ironlaw": "engine", "explorable": "plugins"}
_JOINED = (
    ("answers.estimate.", "answers.expected."),
    ("calibration.coefficients.", "calibration.band."),
    ("calibration.coefficients.", "calibration.features."),
    ("config.resolved.", "config.setup."),
    ("core.sizes.", "core.polynomial."),
    ("graph.tape.", "graph.backends."),
    ("parallel.collectives.", "parallel.multi_node."),
    ("parallel.model_parallel.", "parallel.pipeline_parallel."),
    ("parallel.model_parallel.", "parallel.tensor_parallel."),
    ("time.attention.", "time.attention_io."),
)
"""A module, and one that is a part of it now."""


def _before(found: re.Match[str]) -> str:
    """What may have been linked to, before what is there now."""
    name = found["name"]
    names = [*(before + name.removeprefix(now) for now, before in _JOINED if name.startswith(now)), name]
    return "".join(f'<a id="{_LIBRARIES[found["library"]]}.{one}"></a>' for one in names) + found[0]


class _OldNames(Postprocessor):
    def run(self, text: str) -> str:
        return _NAMED.sub(_before, text)


class OldNamesExtension(Extension):
    """Puts the old anchor before each new one."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802 (Python-Markdown's name)
        """Run after raw HTML (30) is in its place."""
        md.postprocessors.register(_OldNames(md), "il-old-names", -10)


def makeExtension(**options: Any) -> OldNamesExtension:  # noqa: N802 (Python-Markdown's name)
    """Entry point for `markdown_extensions`."""
    return OldNamesExtension(**options)
