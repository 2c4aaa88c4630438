"""Part 2 of this track. What it is made of is in the room `missions`."""

from __future__ import annotations

from ..missions.mobile_track import MOBILE
from ..missions.race import race_act

ACT = race_act(MOBILE)
