"""All tracks, in the order of their devices' size. A new one is added here."""

from __future__ import annotations

from .cloud import CLOUD
from .edge import EDGE
from .facts import Track
from .mobile import MOBILE
from .tiny import TINY

TRACKS: tuple[Track, ...] = (CLOUD, EDGE, MOBILE, TINY)
