"""Part 1 of this track; the modules of `missions` make it."""

from __future__ import annotations

from ..missions.audit import audit_act
from ..missions.tiny_track import TINY

ACT = audit_act(TINY)
