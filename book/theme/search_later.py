"""MkDocs hook of the theme: the search index is fetched when a reader opens the search, not with every page.

The index is the largest file of most visits, and to read it takes half of a page's processor time. Material has the way
for this: a site that is opened from files, without a server, loads its index at the first search. Two places of its
script decide; both are changed in the copy that is published.
"""

from __future__ import annotations

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.plugins import get_plugin_logger
from mkdocs.structure.files import File, Files

log = get_plugin_logger("theme")

SCRIPT = re.compile(r"assets/javascripts/bundle\.\w+\.min\.js")
_WORKER = re.compile(
    r"""(?P<merge>\w+)\(\$\(location\.protocol!=="file:"\)(?P<between>,\w+\("search"\)\)\.pipe\(\w+\(\w+=>\w+\),)"""
    r"""(?P<switch>\w+)(?=\(\(\)=>\w+\)\)\.subscribe\()"""
)
"""The search's worker gets the index at once, or when the search is opened."""
_HIGHLIGHT = re.compile(r"index\$:(?P<index>\w+),location\$:(?P<location>\w+)(?=\}\):)")
"""What marks the words of a search in a page waits for the index, also in pages that no search has led to."""


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Publish Material's script with both changes. A script in which a place is not found is published as it is."""
    for file in [file for file in files if SCRIPT.fullmatch(file.dest_uri)]:
        changed = postponed(file.content_string)
        if changed is None:
            log.warning("%s: Material's script has changed; see book/theme/search_later.py", file.dest_uri)
            continue
        files.remove(file)
        files.append(File.generated(config, file.dest_uri, content=changed))
    return files


def postponed(script: str) -> str | None:
    """The script with both changes; None unless each place is there once."""
    found = _WORKER.search(script)
    if found is None:
        return None
    script, workers = _WORKER.subn(r"\g<merge>($(!1)\g<between>\g<switch>", script)
    visits = rf"{found['merge']}($(new URL(location.href)),\g<location>)"
    index = rf"{visits}.pipe({found['switch']}(u=>u.searchParams.has('h')?\g<index>:[]))"
    script, highlights = _HIGHLIGHT.subn(rf"index$:{index},location$:\g<location>", script)
    return script if (workers, highlights) == (1, 1) else None
