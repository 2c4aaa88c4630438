"""Part 2 of this track; the modules of `missions` make it."""

from __future__ import annotations

from ..missions.edge_track import EDGE
from ..missions.race import race_act

ACT = race_act(EDGE)
