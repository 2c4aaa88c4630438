"""What the next updates of the weights will be, guessed from the last ones.

Every predictor but the learned one predicts each update as a weighted sum of the updates it remembers, so it needs
their inner products at most, and never works on more than one vector of the size of the model at a time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

Update = list[Tensor]


class Predictor(ABC):
    """Guesses updates from the last ones, of which it remembers as many as `history`: all before its first guess."""

    def __init__(self, history: int) -> None:
        if history < 1:
            raise ValueError(f"history {history} is not allowed; it must be at least 1")
        self.history = history
        self.updates: list[Update] = []

    def observe(self, update: Update) -> None:
        """Learn from the update that a computed step made: one tensor for each parameter, which it may keep."""
        self.updates = [*self.updates, update][-self.history :]

    @abstractmethod
    def predict(self, ahead: int) -> Update | None:
        """The update `ahead` steps after the last one observed, counted from 1; None while too few are observed."""


class Weighted(Predictor):
    """Predicts each update as a weighted sum of those remembered; the subclasses choose the weights."""

    def predict(self, ahead: int) -> Update | None:
        """The weighted sum, or None before enough is remembered."""
        if len(self.updates) < self.history:
            return None
        return self.sum_of(self.weights(ahead).tolist())

    @abstractmethod
    def weights(self, ahead: int) -> Tensor:
        """The weight of each remembered update, the oldest first."""

    def sum_of(self, weights: Sequence[float]) -> Update:
        """The sum of the remembered updates, each times its weight."""
        total = [torch.zeros_like(tensor) for tensor in self.updates[-1]]
        for weight, update in zip(weights, self.updates, strict=True):
            if weight:
                torch._foreach_add_(total, update, alpha=weight)
        return total

    def products(self) -> Tensor:
        """The inner products of all remembered updates with each other: (history, history) in FP64."""
        rows = [
            torch.stack([_dot(one, other) for other in self.updates[: index + 1]])
            for index, one in enumerate(self.updates)
        ]
        lower = torch.zeros(self.history, self.history, dtype=torch.float64)
        for index, row in enumerate(rows):
            lower[index, : index + 1] = row.double().cpu()
        return lower + lower.T - torch.diag(lower.diagonal())


class NoOp(Weighted):
    """The control: a predicted step leaves the weights as they are, so its data is skipped."""

    def __init__(self) -> None:
        super().__init__(1)

    def weights(self, ahead: int) -> Tensor:
        """Weight 0: the sum is zero."""
        return torch.zeros(1)


class LastUpdate(Weighted):
    """Predicts that the last update is repeated."""

    def __init__(self) -> None:
        super().__init__(1)

    def weights(self, ahead: int) -> Tensor:
        """Weight 1 for the last update."""
        return torch.ones(1)


class MeanUpdate(Weighted):
    """The mean of the last updates: the straight line through the last positions of the weights."""

    def weights(self, ahead: int) -> Tensor:
        """The same weight for each update."""
        return torch.full((self.history,), 1 / self.history, dtype=torch.float64)


class LinearFit(Weighted):
    """A line of least squares through the last updates of each weight, continued."""

    def __init__(self, history: int = 8) -> None:
        if history < 2:
            raise ValueError(f"history {history} is not allowed; a line needs at least 2 updates")
        super().__init__(history)

    def weights(self, ahead: int) -> Tensor:
        """What each update contributes to the line at a later step."""
        steps = torch.arange(self.history, dtype=torch.float64)
        centered = steps - steps.mean()
        later = self.history - 1 + ahead - steps.mean()
        return 1 / self.history + centered * later / (centered**2).sum()


class DynamicModes(Weighted):
    """Dynamic mode decomposition: a linear map takes each update to the next, of low rank on those remembered.

    The map is never formed. With X the updates but the last, Y those but the first and X'X = V S^2 V', the map in the
    leading directions U = X V / S is U'Y V / S, which inner products of updates give.

    Attributes:
        rank: Directions that are kept.
    """

    def __init__(self, history: int = 8, rank: int = 3) -> None:
        if not 0 < rank < history:
            raise ValueError(f"rank {rank} is not allowed with history {history}; allowed: 1 to {history - 1}")
        super().__init__(history)
        self.rank = rank

    def weights(self, ahead: int) -> Tensor:
        """The modes after so many more steps, as weights of the remembered updates."""
        products = self.products()
        squares, vectors = torch.linalg.eigh(products[:-1, :-1])
        squares, vectors = squares[-self.rank :], vectors[:, -self.rank :]
        kept = squares > squares[-1] * 1e-10
        basis = vectors[:, kept] / squares[kept].clamp_min(torch.finfo(torch.float64).tiny).sqrt()
        step = basis.T @ products[:-1, 1:] @ basis
        # A mode that grows is a fit to noise, and would grow without bound over many steps.
        step = _without_growth(step)
        last = basis.T @ products[:-1, -1]
        moved = torch.linalg.matrix_power(step, ahead) @ last
        return torch.cat([basis @ moved, torch.zeros(1, dtype=torch.float64)])


def _without_growth(step: Tensor) -> Tensor:
    """A map with the eigenvalues outside the unit circle moved onto it."""
    values, vectors = torch.linalg.eig(step)
    size = values.abs().clamp_min(1.0)
    if bool((size == 1).all()):
        return step
    held: Tensor = vectors @ torch.diag(values / size) @ torch.linalg.inv(vectors)
    return held.real


def _dot(one: Update, other: Update) -> Tensor:
    """The inner product of two updates."""
    return torch.stack([(a.double() * b.double()).sum() for a, b in zip(one, other, strict=True)]).sum()


def likeness(predicted: Update, real: Update) -> tuple[float, float]:
    """How near a prediction is: the cosine of the angle to the real update, and the error relative to its length.

    A prediction of zero has cosine 0 and relative error 1.
    """
    across, own, length = (float(_dot(a, b)) for a, b in ((predicted, real), (predicted, predicted), (real, real)))
    if length == 0:
        return 0.0, float("inf") if own else 0.0
    cosine = across / (own * length) ** 0.5 if own else 0.0
    return cosine, max(own - 2 * across + length, 0.0) ** 0.5 / length**0.5
