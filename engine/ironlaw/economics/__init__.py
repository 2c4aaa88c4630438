"""Money, energy and carbon of a run, and what failures cost it."""

from __future__ import annotations

from ironlaw.economics.cost import (
    NODE_OVERHEAD,
    buy,
    carbon,
    days,
    device_hours,
    dollars_per_billion_tokens,
    energy,
    joules_per_token,
    rent,
    training_seconds,
    worth_of_utilization,
)
from ironlaw.economics.reliability import checkpoint_interval, failure_overhead, time_between_failures
