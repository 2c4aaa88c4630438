"""A link that leads nowhere is reported with the line on which it stands. MkDocs names the file only."""

from __future__ import annotations

import logging
import re

from explorable.shared.errors import Defect
from explorable.shared.locate import line_of_link, source_path
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
            place, line = source_path(path, self._site.root), line_of_link(path, found["link"])
            record.msg, record.args = str(Defect(place, line, f"it contains {found['what']}")), ()
        return True
