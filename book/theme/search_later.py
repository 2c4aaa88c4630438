"""The search index is fetched when a reader opens the search, not with every page.

The index is the largest file of most visits, and to read it takes half of a page's processor time. Material has the way
for this: a site that is opened from files, without a server, loads its index at the first search. Two places of its
script decide; both are changed in the copy that is published.
"""

from __future__ import annotations

import re
from pathlib import Path

from explorable.manifest import Manifest
from explorable.shared.log import logger

log = logger("theme")

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
    """Change Material's script in a built site. One in which a place is not found stays as it is."""
    for file in (site / "assets/javascripts").glob("bundle.*.min.js"):
        script = file.read_text(encoding="utf-8")
        if SCRIPT.fullmatch(file.name) and _DONE not in script:
            if (changed := postponed(script)) is None:
                log.warning("%s: Material's script has changed; see book/theme/search_later.py", file.name)
            else:
                file.write_text(changed, encoding="utf-8")


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
