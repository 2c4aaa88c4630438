"""Part 2 of this track; the modules of `missions` make it."""

from __future__ import annotations

from ..missions.mobile_track import MOBILE
from ..missions.race import race_act

ACT = race_act(MOBILE)
