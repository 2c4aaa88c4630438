"""Part 1 of this track. What it is made of is in the room `missions`."""

from __future__ import annotations

from ..missions.audit import audit_act
from ..missions.tiny_track import TINY

ACT = audit_act(TINY)
