"""What a search shows first. Acts and chapter before reference; no page that gives answers away."""

from __future__ import annotations

from typing import Any

BOOSTS = {
    "chapter/glossary": 1.0,
    "lab/act": 8.0,
    "lab/": 4.0,
    "chapter/": 4.0,
    "missions/": 1.5,
    "measured/": 0.7,
    "notebooks/": 0.5,
    "index": 1.0,
    "engine/": 0.5,
    "claims/": 0.4,
    "authoring/": 0.3,
    "reference/": 0.1,
}
"""Beginning of a page's address -> how much a match in it counts. The first that fits is taken."""
SPOILERS = ("lab/instructor.md", "lab/act1-notes.md")
"""Pages that state the acts' answers: a search would show them beside the question."""


def settings(page: str) -> dict[str, Any]:
    """How Material's search is to treat a page, named by its source."""
    boost = next((boost for start, boost in BOOSTS.items() if page.startswith(start)), 1.0)
    return {"boost": boost, **({"exclude": True} if page in SPOILERS else {})}
