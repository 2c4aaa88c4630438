"""What everything else stands on: units, errors, sourced records, sizes as polynomials, arrays."""

from __future__ import annotations

from ironlaw.core.errors import EngineError
from ironlaw.core.units import GB, GIB, unit_of
