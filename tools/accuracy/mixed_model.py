"""The statistics: a linear model of ln(published / physics) with a random level and slope for each source.

    ln(published / physics) = level + category effects + slope * doublings      (what an unseen source would show)
                            + source's own level, Student's t + source's own slope * doublings
                            + noise of a run, Student's t

Coefficients have normal priors around zero, so that few rows move them little: this is ridge regression whose strength
is declared. Sources' own terms are pooled: their variances are estimated from the rows, with a declared prior worth a
few sources. Both Student's t have four degrees of freedom: a run, or a whole source, pulls less the farther it lies.
Everything is found by expectation conditional maximization, without random numbers: a fit repeats to the digit.
Sources: Gelman et al., Bayesian Data Analysis, 3rd edition, chapters 5, 15 (partial pooling) and 17 (Student's t);
Lange, Little and Taylor 1989, Robust statistical modeling using the t distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ironlaw.calibration import Features, doublings

Array = npt.NDArray[np.floating[Any]]

CATEGORIES = ("family", "execution", "numbers", "software")
FREEDOM = 4.0
"""Degrees of freedom of both Student's t: a usual choice of robust regression (Lange et al. 1989)."""

T_TO_NORMAL = (2.1318 / 1.6449) ** 2
"""Squared ratio of the 95 % points of Student's t with 4 degrees of freedom and of a normal distribution."""

ROUNDS, TOLERANCE = 2000, 1e-11


@dataclass(frozen=True)
class Prior:
    """What is assumed before any row is seen: standard deviations of ln(published / physics).

    Attributes:
        level: Of the common level.
        category: Of the effect of each of `CATEGORIES`, in their order.
        doubling: Of the slope per doubling of the nodes.
        between: Between sources.
        between_slope: Between the sources' slopes per doubling.
        within: Between runs of a source.
        weight: How many observed terms (sources, or runs for `within`) the last three are worth.
    """

    level: float
    category: tuple[float, float, float, float]
    doubling: float
    between: float
    between_slope: float
    within: float
    weight: float = 3.0


PRIORS = {
    "time": Prior(0.20, (0.10, 0.03, 0.05, 0.10), 0.01, 0.08, 0.02, 0.08),
    "allocated": Prior(0.05, (0.03, 0.03, 0.03, 0.03), 0.005, 0.06, 0.005, 0.07),
    "device memory": Prior(0.10, (0.05, 0.03, 0.03, 0.05), 0.005, 0.06, 0.005, 0.07),
}
"""Declared, not fitted. The spreads between and within sources together are those at which nine errors in ten stay
within the project's goals: 20 % for times, 15 % for memory. Times may lie well above physics. An allocator's peak is
counted tensor by tensor and proven against autograd, so its level may move less; a driver also shows what no tensor
explains."""


@dataclass(frozen=True)
class Sample:
    """One row as the statistics see it."""

    source: str
    features: Features
    log_ratio: float


@dataclass(frozen=True)
class Fit:
    """The fitted model; the fields mean what `ironlaw.calibration.Model` says."""

    terms: tuple[str, ...]
    mean: Array
    covariance: Array
    unseen: dict[str, float]
    between: float
    between_slope: float
    within: float


def fit(samples: Sequence[Sample], prior: Prior) -> Fit:
    """The model of the samples; without samples, the prior alone."""
    seen = [(c, v) for c in CATEGORIES for v in sorted({getattr(s.features, c) for s in samples})]
    unseen = dict(zip(CATEGORIES, (sd**2 for sd in prior.category), strict=True))
    terms = ("level", "doublings", *(f"{category} {value}" for category, value in seen))
    variances = np.array([prior.level**2, prior.doubling**2, *(unseen[category] for category, _ in seen)])
    if not samples:
        zero, alone = np.zeros(len(terms)), np.diag(variances)
        return Fit(terms, zero, alone, unseen, prior.between**2, prior.between_slope**2, prior.within**2)
    scale = np.array([doublings(s.features.devices) for s in samples])
    categories = [[float(getattr(s.features, category) == value) for category, value in seen] for s in samples]
    fixed = np.column_stack([np.ones(len(samples)), scale, np.array(categories)])
    sources = sorted({s.source for s in samples})
    member = np.array([[float(s.source == source) for source in sources] for s in samples])
    design = np.hstack([fixed, member, member * scale[:, None]])
    ratios = np.array([s.log_ratio for s in samples])
    mean, covariance, (between, slope, within) = _maximize(design, ratios, variances, len(sources), prior)
    count = len(terms)
    between, within = between * T_TO_NORMAL, within * T_TO_NORMAL
    return Fit(terms, mean[:count], covariance[:count, :count], unseen, between, slope, within)


def _maximize(
    design: Array, ratios: Array, fixed: Array, sources: int, prior: Prior
) -> tuple[Array, Array, tuple[float, float, float]]:
    """Mean and covariance of all terms; squared scales between sources, between their slopes, and within a source."""
    start = len(fixed)
    levels, slopes = slice(start, start + sources), slice(start + sources, start + 2 * sources)
    expected = (prior.between**2 / T_TO_NORMAL, prior.between_slope**2, prior.within**2 / T_TO_NORMAL)
    between, slope, within = expected
    weights, trust = np.ones(len(ratios)), np.ones(sources)
    for _ in range(ROUNDS):
        before = (between, slope, within)
        precision = np.concatenate([1 / fixed, trust / between, np.full(sources, 1 / slope)])
        weighted = design * weights[:, None] / within
        covariance = np.linalg.inv(weighted.T @ design + np.diag(precision))
        mean = covariance @ (weighted.T @ ratios)
        squares = mean**2 + np.diag(covariance)
        misses = (ratios - design @ mean) ** 2 + np.sum((design @ covariance) * design, axis=1)
        between = _pooled(trust * squares[levels], expected[0], prior.weight)
        slope = _pooled(squares[slopes], expected[1], prior.weight)
        within = _pooled(weights * misses, expected[2], prior.weight)
        weights = (FREEDOM + 1) / (FREEDOM + misses / within)
        trust = (FREEDOM + 1) / (FREEDOM + squares[levels] / between)
        if max(abs(a - b) for a, b in zip(before, (between, slope, within), strict=True)) < TOLERANCE:
            break
    return mean, covariance, (between, slope, within)


def _pooled(squares: Array, expected: float, weight: float) -> float:
    """A variance from squares, with a prior that counts as `weight` further squares of the expected size."""
    return float((weight * expected + squares.sum()) / (weight + len(squares)))
