"""Sizes that depend on the batch: polynomials in batch B and sequence length T, so that one trace serves every batch.

An operation list is traced once per model and precision with symbols, then evaluated for any B and T: scalars in the
browser, NumPy arrays in a sweep. `B * T * 768` is the number of elements of a hidden state. A `Size` counts exactly; a
`Polynomial` is a size times a factor, e.g. seconds per byte, evaluated over products of batch and sequence that are
computed once per point.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ironlaw.core.arrays import minimum
from ironlaw.core.errors import EngineError
from ironlaw.core.units import Count


@dataclass(frozen=True, slots=True)
class Size:
    """A count of elements `sum of c * B**i * T**j`; `terms` holds sorted `((i, j), c)` pairs with c not zero."""

    terms: tuple[tuple[tuple[int, int], int], ...]

    def __call__(self, batch: Count, sequence: Count) -> Count:
        """Evaluate for a batch and a sequence length (whole numbers or NumPy arrays of them)."""
        total: Count = 0
        for (i, j), c in self.terms:
            if j:
                c = c * (sequence if j == 1 else sequence**j)
            if i:
                c = c * (batch if i == 1 else batch**i)
            total = total + c
        return total

    def __add__(self, other: Size | int) -> Size:
        other = as_size(other)
        if not (self.terms and other.terms):
            return self if self.terms else other
        merged = dict(self.terms)
        for power, c in other.terms:
            merged[power] = merged.get(power, 0) + c
        return Size(tuple(sorted((power, c) for power, c in merged.items() if c)))

    def __mul__(self, other: Size | int) -> Size:
        if isinstance(other, int):
            return Size(tuple((power, c * other) for power, c in self.terms)) if other else Size(())
        product: dict[tuple[int, int], int] = {}
        for (i, j), c in self.terms:
            for (k, m), d in other.terms:
                product[i + k, j + m] = product.get((i + k, j + m), 0) + c * d
        return Size(tuple(sorted(product.items())))

    __radd__ = __add__
    __rmul__ = __mul__

    def dominates(self, other: Size) -> bool:
        """Whether this is at least as large as `other` for every batch and sequence, term by term."""
        mine = dict(self.terms)
        for power, c in other.terms:  # noqa: SIM110 - asked by the thousand while a plan is prepared
            if c > mine.get(power, 0):
                return False
        return True

    def of_batch(self, batch: int) -> Size:
        """The same for one batch: a polynomial in the sequence alone."""
        return total(Size((((0, j), c * batch**i),)) for (i, j), c in self.terms)

    def split(self, ways: int) -> Size:
        """The share of one of `ways` equal shards. Raises `EngineError` when a coefficient does not divide evenly."""
        if ways == 1:
            return self
        for _, c in self.terms:
            if c % ways:
                raise EngineError("ways", ways, f"a divisor of {c}")
        return Size(tuple((power, c // ways) for power, c in self.terms))


def power_of_two(tokens: Count, ways: Count) -> Count:
    """The smallest power of two that is at least the tokens over `ways`, or all tokens where they are fewer."""
    rows = -(-tokens // ways) - 1
    for shift in (1, 2, 4, 8, 16, 32):
        rows = rows | rows >> shift
    return minimum(rows + 1, tokens)  # type: ignore[return-value]  # whole numbers stay whole


def total(sizes: Iterable[Size]) -> Size:
    """The sum of sizes."""
    merged: dict[tuple[int, int], int] = {}
    for size in sizes:
        for power, c in size.terms:
            merged[power] = merged.get(power, 0) + c
    return Size(tuple(sorted((power, c) for power, c in merged.items() if c)))


def scaled(size: Size, factor: float) -> Size:
    """A size times a factor that keeps its coefficients whole."""
    return Size(tuple((power, int(c * factor)) for power, c in size.terms))


def as_size(value: Size | int) -> Size:
    """A `Size` from a plain count."""
    return value if isinstance(value, Size) else Size((((0, 0), value),) if value else ())


NOTHING = Size(())
BATCH = Size((((1, 0), 1),))
SEQUENCE = Size((((0, 1), 1),))
TOKENS = BATCH * SEQUENCE


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
