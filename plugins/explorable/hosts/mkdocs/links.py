"""A link that leads nowhere is reported with the line on which it stands. MkDocs names the file only."""

from __future__ import annotations

import logging
import re
from pathlib import Path

from explorable.shared.errors import Defect
from explorable.shared.locate import source_path
from explorable.site import Site

_STATE = re.compile(r"#(state|code)=\d+\.")
"""Fragments that carry an act's settings or a snippet's code are no anchors (`desk/address.ts`, `snippet/link.ts`)."""
_MESSAGE = re.compile(r"Doc file '(?P<page>[^']+)' contains (?P<what>(?:a|an)\b[^']* '(?P<link>[^']+)'.*)", re.DOTALL)


class Places(logging.Filter):
    """Puts file and line in front of MkDocs's warnings of links."""

    def listen(self, site: Site) -> None:
        """Hear what MkDocs says of the links of a site."""
        self._site = site
        logging.getLogger("mkdocs.structure.pages").addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite a warning."""
        found = _MESSAGE.match(record.getMessage())
        if found and _STATE.search(found["link"]) and "no such anchor" in found["what"]:
            return False
        if found:
            path = self._site.docs / found["page"]
            place, line = source_path(path, self._site.root), _line(path, found["link"])
            record.msg, record.args = str(Defect(place, line, f"it contains {found['what']}")), ()
        return True


def _line(path: Path, link: str) -> int | None:
    """The first line of a file on which a link stands: in brackets, as a definition, or as an attribute."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return None
    written = re.compile(rf"""[(<"':\s]{re.escape(link)}(?:[)>"'\s]|$)""")
    return next((number for number, line in enumerate(lines, 1) if written.search(line)), None)
