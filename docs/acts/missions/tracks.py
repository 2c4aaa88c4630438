"""All tracks, in the order of their devices' size. A new one is added here."""

from __future__ import annotations

from .cloud_track import CLOUD
from .edge_track import EDGE
from .facts import Track
from .mobile_track import MOBILE
from .tiny_track import TINY

TRACKS: tuple[Track, ...] = (CLOUD, EDGE, MOBILE, TINY)
