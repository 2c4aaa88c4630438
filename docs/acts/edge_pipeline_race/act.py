"""Part 2 of this track. What it is made of is in the room `missions`."""

from __future__ import annotations

from ..missions.edge_track import EDGE
from ..missions.race import race_act

ACT = race_act(EDGE)
