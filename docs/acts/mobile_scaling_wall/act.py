"""Part 3 of this track; the modules of `missions` make it."""

from __future__ import annotations

from ..missions.mobile_track import MOBILE
from ..missions.wall import wall_act

ACT = wall_act(MOBILE)
