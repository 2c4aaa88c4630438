"""Number formats: bytes of a value, every bit of a float, and the precisions of training."""

from __future__ import annotations

from engine.numerics.dtypes import dtype
from engine.numerics.formats import FloatFormat, float_format, loss_scale_window
from engine.numerics.precision import list_precisions, precision
