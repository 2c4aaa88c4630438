"""What everything else stands on: units, errors, sourced records, sizes as polynomials, arrays."""

from __future__ import annotations

from engine.core.errors import EngineError
from engine.core.records import Source
from engine.core.sizes import Size
from engine.core.units import GB, GIB, Unit, unit_of
