"""Part 3 of this track; the modules of `missions` make it."""

from __future__ import annotations

from ..missions.cloud_track import CLOUD
from ..missions.wall import wall_act

ACT = wall_act(CLOUD)
