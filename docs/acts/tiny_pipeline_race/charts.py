"""The charts of this act, which all tracks share."""

from __future__ import annotations

from docs.acts.missions.race_charts import boxes, change

__all__ = ["boxes", "change"]
