"""How a predicted time or rate differs from a published one: rows of both can be compared by the time they take."""

from __future__ import annotations

from typing import Any

import pint

from explorable.measured.reported.table import percent


def off(quantity: pint.Quantity[Any], times: float) -> str:
    """By which share the engine is off; of a rate also by which the time is.

    Args:
        quantity: What the engine says.
        times: How many times what was reported.
    """
    # Energy has a time in its dimension too, and is none.
    power = 0.0 if "[mass]" in quantity.dimensionality else float(str(quantity.dimensionality.get("[time]", 0)))
    own, slower = percent(times), percent(1 / times if power < 0 else times)
    if not power or slower.lstrip("+-−") == "0 %":
        return own
    said = f"{slower.lstrip('+-−')} too {'fast' if (times < 1) == (power > 0) else 'slow'}"
    return f"{own}, so {said}" if power < 0 else said
