"""The charts of this act, which all tracks share."""

from __future__ import annotations

from typing import Any

from docs.acts.missions.mobile_track import MOBILE
from docs.acts.missions.wall_charts import curve
from docs.acts.missions.wall_charts import scaling as draw_scaling

__all__ = ["curve", "scaling"]


def scaling() -> Any:
    """MFU by samples in an update."""
    levers = {lever.name: lever.values for lever in MOBILE.wall.levers}
    return draw_scaling([str(value) for value in levers.get("devices", ("both",))])
