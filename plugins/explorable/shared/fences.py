"""A page's Markdown without its code; lines keep their numbers, so that messages can name them."""

from __future__ import annotations

import re

_FENCE = re.compile(r"[> \t]*(?P<fence>`{3,}|~{3,})")


def without_fences(markdown: str) -> str:
    """The text with every line of a code fence emptied."""
    lines: list[str] = []
    fence = ""
    for line in markdown.split("\n"):
        found = _FENCE.match(line)
        if fence:
            lines.append("")
            if found and found["fence"].startswith(fence) and line.strip() == found["fence"]:
                fence = ""
        elif found:
            fence = found["fence"]
            lines.append("")
        else:
            lines.append(line)
    return "\n".join(lines)
