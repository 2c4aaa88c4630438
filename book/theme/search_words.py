"""Every word that the search index has is found.

The search (lunr 2.3.9) folds the graph of all words: two states are one where the labels and numbers of what follows
them are the same text. It writes these one behind the other, so label `1` before state 234 reads as label `1` before
state 2 and label `3` before state 4. In a large index two states that differ may so become one, and a search that
comes by there, as for a digit, finds nothing at all. A sign behind each number keeps them apart, in the copy that is
published.
"""

from __future__ import annotations

from pathlib import Path

from book.theme.patched import patch
from explorable.manifest import Manifest

_JOINED, _APART = "e=e+s+o.id}return e}", 'e=e+s+o.id+";"}return e}'


def keep_apart(site: Path, manifest: Manifest) -> None:
    """Change the search's script in a built site."""
    what = "the search's script has changed; see book/theme/search_words.py"
    patch((site / "assets/javascripts/workers").glob("search.*.min.js"), _APART, kept_apart, what)


def kept_apart(script: str) -> str | None:
    """The script with the change; None unless its place is there once."""
    return script.replace(_JOINED, _APART) if script.count(_JOINED) == 1 else None
