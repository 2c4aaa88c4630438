"""What everything else stands on: units, errors, sourced records, sizes as polynomials, arrays."""

from __future__ import annotations

from engine.core.errors import EngineError
from engine.core.units import GB, GIB, unit_of
