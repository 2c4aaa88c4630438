"""All tracks, in the order of their devices' size. A new one is added here."""

from __future__ import annotations

from .facts import Track

NAMES = ("cloud", "edge", "mobile", "tiny")


def track_of(name: str) -> Track:
    """The track of this name. Its modules alone are imported: a page sends its reader no other track's."""
    match name:
        case "cloud":
            from .cloud_track import CLOUD as TRACK
        case "edge":
            from .edge_track import EDGE as TRACK
        case "mobile":
            from .mobile_track import MOBILE as TRACK
        case "tiny":
            from .tiny_track import TINY as TRACK
        case _:
            raise ValueError(f"there is no track {name!r}; allowed: {', '.join(NAMES)}")
    return TRACK


def tracks() -> tuple[Track, ...]:
    """Every track."""
    return tuple(map(track_of, NAMES))
