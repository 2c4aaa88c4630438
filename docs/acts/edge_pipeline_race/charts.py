"""The charts of this act, which all tracks share."""

from __future__ import annotations

from docs.acts.missions.race_charts import boxes, twice

__all__ = ["boxes", "twice"]
