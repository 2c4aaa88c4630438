"""Number formats: bytes of a value, every bit of a float, and the precisions of training."""

from __future__ import annotations

from ironlaw.numerics.dtypes import dtype
from ironlaw.numerics.formats import FloatFormat, float_format, loss_scale_window
from ironlaw.numerics.precision import list_precisions, precision
