"""The charts of this act, which all tracks share."""

from __future__ import annotations

from typing import Any

from docs.acts.missions.audit_charts import asked
from docs.acts.missions.audit_charts import waterfall as draw_waterfall
from docs.acts.missions.cloud_track import CLOUD


def each() -> Any:
    """What the question is about."""
    return asked(CLOUD.audit.unit[0], CLOUD.audit.ask.top)


def waterfall() -> Any:
    """The memory, part by part: eight parts, what is gone at the peak, and what is needed."""
    return draw_waterfall(CLOUD.audit.unit[0], 10)
