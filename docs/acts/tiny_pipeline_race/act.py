"""Part 2 of this track. What it is made of is in the room `missions`."""

from __future__ import annotations

from ..missions.race import race_act
from ..missions.tiny_track import TINY

ACT = race_act(TINY)
