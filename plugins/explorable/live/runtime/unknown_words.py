"""A word that no class of the contract takes: `Slider(whole=True)`, said so that the author finds the right one."""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass

from explorable.live.runtime import contract

_UNKNOWN = re.compile(r"(\w+)\.__init__\(\) got an unexpected keyword argument '(\w+)'")


def unknown_word(error: TypeError) -> str:
    """What is wrong and which words there are; empty when the error is another one."""
    found = _UNKNOWN.match(str(error))
    kind = getattr(contract, found[1], None) if found else None
    if found is None or not isinstance(kind, type) or not is_dataclass(kind):
        return ""
    # Only authors wait for it, not readers.
    import difflib

    words = [one.name for one in fields(kind)]
    close = difflib.get_close_matches(found[2], words, n=1)
    meant = f"did you mean {close[0]!r}? Its" if close else "its"
    return f"{found[1]} takes no {found[2]!r}; {meant} words: {', '.join(words)}"
