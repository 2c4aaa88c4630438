"""The search index is fetched when a reader opens the search, not with every page.

The index is the largest file of most visits, and to read it takes half of a page's processor time. Material has the way
for this: a site that is opened from files, without a server, loads its index at the first search. Two places of its
script decide; both are changed in the copy that is published.
"""

from __future__ import annotations

import re
from pathlib import Path

from book.theme.patched import patch
from explorable.manifest import Manifest

SCRIPT = re.compile(r"bundle\.\w+\.min\.js")
_WORKER = re.compile(
    r"""(?P<merge>\w+)\(\$\(location\.protocol!=="file:"\)(?P<between>,\w+\("search"\)\)\.pipe\(\w+\(\w+=>\w+\),)"""
    r"""(?P<switch>\w+)(?=\(\(\)=>\w+\)\)\.subscribe\()"""
)
"""The search's worker gets the index at once, or when the search is opened."""
_HIGHLIGHT = re.compile(r"index\$:(?P<index>\w+),location\$:(?P<location>\w+)(?=\}\):)")
"""What marks the words of a search in a page waits for the index, also in pages that no search has led to."""
_DONE = "u.searchParams.has('h')?"


def postpone(site: Path, manifest: Manifest) -> None:
    """Change Material's script in a built site."""
    what = "Material's script has changed; see book/theme/search_later.py"
    found = (site / "assets/javascripts").glob("bundle.*.min.js")
    patch((file for file in found if SCRIPT.fullmatch(file.name)), _DONE, postponed, what)


def postponed(script: str) -> str | None:
    """The script with both changes; None unless each place is there once."""
    found = _WORKER.search(script)
    if found is None:
        return None
    script, workers = _WORKER.subn(r"\g<merge>($(!1)\g<between>\g<switch>", script)
    visits = rf"{found['merge']}($(new URL(location.href)),\g<location>)"
    index = rf"{visits}.pipe({found['switch']}(u=>{_DONE}\g<index>:[]))"
    script, highlights = _HIGHLIGHT.subn(rf"index$:{index},location$:\g<location>", script)
    return script if (workers, highlights) == (1, 1) else None
