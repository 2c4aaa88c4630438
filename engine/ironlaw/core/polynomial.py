"""Polynomials in batch and sequence length with any coefficients, ready for fast evaluation at many points.

`ironlaw.core.sizes.Size` counts elements exactly and symbolically. A `Polynomial` is a size times a factor, e.g.
seconds per byte, evaluated over products of batch and sequence that are computed once per point.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.core.errors import EngineError
from ironlaw.core.sizes import Size
from ironlaw.core.units import Count

POWERS = ((1, 0), (0, 1), (1, 1), (0, 2), (1, 2))
"""Exponents of batch and sequence that occur in a transformer: B, T, B T, T^2, B T^2."""

Point = tuple[Count, Count, Count, Count, Count]
"""The products of `POWERS` at one batch and sequence length."""


def point(batch: Count, sequence: Count) -> Point:
    """The products of `POWERS`; arguments may be NumPy arrays."""
    tokens = batch * sequence
    return batch, sequence, tokens, sequence * sequence, tokens * sequence


@dataclass(frozen=True, slots=True)
class Polynomial:
    """`constant` plus a coefficient for some of `POWERS`, given as index and coefficient."""

    constant: float
    terms: tuple[tuple[int, float], ...]

    def __call__(self, at: Point) -> float:
        """The value at a `point`."""
        total = self.constant
        for index, coefficient in self.terms:
            total = total + coefficient * at[index]
        return total


def polynomial(size: Size, factor: float = 1.0) -> Polynomial:
    """A size times a factor. Raises `EngineError` for a power of batch or sequence that no transformer has."""
    constant, terms = 0.0, []
    for power, coefficient in size.terms:
        if power == (0, 0):
            constant = coefficient * factor
        elif power in POWERS:
            terms.append((POWERS.index(power), coefficient * factor))
        else:
            raise EngineError("power", power, POWERS)
    return Polynomial(constant, tuple(terms))
