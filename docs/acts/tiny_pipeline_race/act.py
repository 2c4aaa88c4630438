"""Part 2 of this track; the modules of `missions` make it."""

from __future__ import annotations

from ..missions.race import race_act
from ..missions.tiny_track import TINY

ACT = race_act(TINY)
