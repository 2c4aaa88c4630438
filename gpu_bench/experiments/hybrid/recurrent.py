"""A learned predictor: a small recurrent network that reads the last updates of a weight and predicts the next."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gpu_bench.experiments.hybrid.predictors import Predictor, Update

SAMPLED = 2048
"""Weights, of all, on whose updates the network learns after each computed step."""


class Recurrent(Predictor):
    """A recurrent network that all weights share, learned while training runs.

    Updates are divided by the root mean square of the tensor that they belong to, so that one network serves all.
    Several steps ahead it reads its own predictions.

    Attributes:
        width: Units of its state; each weight has a state of that width while it predicts.
    """

    def __init__(self, history: int = 8, width: int = 8, seed: int = 0) -> None:
        if history < 2:
            raise ValueError(f"history {history} is not allowed; it must be at least 2")
        super().__init__(history)
        self.width = width
        self._draw = torch.Generator().manual_seed(seed)
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self._cell = nn.GRUCell(1, width)
            self._out = nn.Linear(width, 1)
        self._learner = torch.optim.Adam(self._parameters(), lr=1e-2)
        self._states: list[Tensor] = []
        self._next: Update = []
        self._ahead = 0

    def observe(self, update: Update) -> None:
        """Remember an update, and learn to predict it from those before it."""
        super().observe(update)
        self._ahead = 0
        if len(self.updates) == self.history:
            self._learn()

    def predict(self, ahead: int) -> Update | None:
        """The network's prediction; for steps further ahead it reads its own predictions, one after the other."""
        if len(self.updates) < self.history:
            return None
        with torch.no_grad():
            if ahead <= self._ahead or self._ahead == 0:
                self._states = [tensor.new_zeros(tensor.numel(), self.width) for tensor in self.updates[-1]]
                for update in self.updates:
                    self._read(update)
                self._ahead = 1
            while self._ahead < ahead:
                self._read(self._next)
                self._ahead += 1
        return [tensor.clone() for tensor in self._next]

    def _parameters(self) -> list[nn.Parameter]:
        return [*self._cell.parameters(), *self._out.parameters()]

    def _to(self, device: torch.device) -> None:
        if next(self._cell.parameters()).device != device:
            self._cell.to(device)
            self._out.to(device)

    def _read(self, update: Update) -> None:
        """Move the state of every weight on by one update, and predict the next."""
        self._to(update[0].device)
        said = []
        for index, (tensor, last) in enumerate(zip(update, self.updates[-1], strict=True)):
            size = _size(last)
            state = self._cell((tensor.float() / size).reshape(-1, 1), self._states[index])
            self._states[index] = state
            said.append((self._out(state) * size).reshape(tensor.shape).to(tensor.dtype))
        self._next = said

    def _learn(self) -> None:
        """One step of learning on weights drawn at random: predict the last update from those before it."""
        self._to(self.updates[-1][0].device)
        sequence = self._sample()
        with torch.enable_grad():
            state = sequence.new_zeros(sequence.shape[1], self.width)
            for update in sequence[:-1]:
                state = self._cell(update.unsqueeze(1), state)
            loss = nn.functional.mse_loss(self._out(state).squeeze(1), sequence[-1])
            self._learner.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
        self._learner.step()

    def _sample(self) -> Tensor:
        """The remembered updates of some weights, scaled: (history, sampled)."""
        elements = [tensor.numel() for tensor in self.updates[-1]]
        chosen = torch.randint(sum(elements), (min(SAMPLED, sum(elements)),), generator=self._draw).sort().values
        ends = torch.tensor(elements).cumsum(0)
        rows = []
        for update in self.updates:
            parts, start = [], 0
            for tensor, last, end in zip(update, self.updates[-1], ends.tolist(), strict=True):
                inside = chosen[(chosen >= start) & (chosen < end)] - start
                parts.append(tensor.flatten()[inside.to(tensor.device)].float() / _size(last))
                start = end
            rows.append(torch.cat(parts))
        return torch.stack(rows)


def _size(update: Tensor) -> Tensor:
    """The root mean square of an update, never zero."""
    return update.float().square().mean().sqrt().clamp_min(1e-12)
