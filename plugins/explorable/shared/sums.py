"""Hashes of content, and data as text that is hashed."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def digest(*parts: str | bytes) -> str:
    """A hash of the parts, in which their borders count: 32 hexadecimal digits."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "big") + data)
    return state.hexdigest()[:32]


def json_text(value: Any) -> str:
    """JSON in which equal values are equal text."""
    return json.dumps(value, sort_keys=True)
