"""A fingerprint of runs, by which a record notices that one of their numbers was changed after the measurement."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def digest(runs: Mapping[str, Mapping[str, Any]]) -> str:
    """SHA-256 of the settings and seeds of all runs, in hexadecimal. No signature: who edits can compute it too."""
    held = {name: [run["settings"], run["seeds"]] for name, run in runs.items()}
    return hashlib.sha256(json.dumps(held, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
