"""Part 3 of this track. What it is made of is in the room `missions`."""

from __future__ import annotations

from ..missions.cloud_track import CLOUD
from ..missions.wall import wall_act

ACT = wall_act(CLOUD)
