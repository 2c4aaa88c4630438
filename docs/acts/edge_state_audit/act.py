"""Part 1 of this track; the modules of `missions` make it."""

from __future__ import annotations

from ..missions.audit import audit_act
from ..missions.edge_track import EDGE

ACT = audit_act(EDGE)
