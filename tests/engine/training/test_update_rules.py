"""Update rules against torch.optim, step by step."""

from __future__ import annotations

import pytest
import torch

from ironlaw import optimizer
from ironlaw.core.errors import EngineError
from ironlaw.training import descend, update_rule

RATE, STEPS = 0.05, 60


def gradient(weights: tuple[float, ...]) -> list[float]:
    """The gradient of (a^4 + 25 b^2 + a b) / 2, a function without a symmetry that could hide a mistake."""
    a, b = weights
    return [2 * a**3 + b / 2, 25 * b + a / 2]


def torchs(name: str, parameters: list[torch.Tensor], momentum: float | None) -> torch.optim.Optimizer:
    if name in ("sgd", "momentum"):
        default = 0.9 if name == "momentum" else 0.0
        return torch.optim.SGD(parameters, lr=RATE, momentum=default if momentum is None else momentum)
    if momentum is not None and name == "rmsprop":
        return torch.optim.RMSprop(parameters, lr=RATE, momentum=momentum)
    if momentum is not None:
        return torch.optim.Adam(parameters, lr=RATE, betas=(momentum, 0.999))
    kinds = {"rmsprop": torch.optim.RMSprop, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    made: torch.optim.Optimizer = kinds[name](parameters, lr=RATE)
    return made


@pytest.mark.parametrize(
    ("name", "momentum"),
    [(name, None) for name in ("sgd", "momentum", "rmsprop", "adam", "adamw")]
    + [(name, share) for name in ("momentum", "rmsprop", "adam") for share in (0.0, 0.6)],
)
def test_a_rule_walks_as_torch_does(name: str, momentum: float | None) -> None:
    weights = torch.tensor([1.0, -0.7], dtype=torch.float64, requires_grad=True)
    theirs = torchs(name, [weights], momentum)
    for ours in descend(name, RATE, gradient, [1.0, -0.7], STEPS, momentum):
        assert list(ours) == pytest.approx(weights.tolist(), rel=1e-9, abs=1e-12)
        weights.grad = torch.tensor(gradient(tuple(weights.tolist())), dtype=torch.float64)
        theirs.step()


@pytest.mark.parametrize("name", ["sgd", "momentum", "rmsprop", "adam", "adamw", "lion"])
def test_a_rule_remembers_as_many_numbers_as_the_optimizer_has_state_vectors(name: str) -> None:
    memory: dict[str, float] = {}
    update_rule(name).direction(1.0, 0.3, memory, 1)
    assert len(memory) == len(optimizer(name).states)


def test_lion_moves_by_the_rate_whatever_the_gradient() -> None:
    path = descend("lion", RATE, lambda weights: [1000 * w for w in weights], [1.0, -1e-3], 1)
    assert path[1] == pytest.approx((1 - RATE, -1e-3 + RATE))
    assert descend("lion", RATE, lambda _: [0.0], [1.0], 1)[1] == (1.0,)


def test_adams_first_step_has_the_length_of_the_rate_because_of_the_bias_correction() -> None:
    for scale in (1e-3, 1.0, 1e3):
        path = descend("adam", RATE, lambda weights, s=scale: [s * weights[0]], [1.0], 1)  # type: ignore[misc]
        assert path[1][0] == pytest.approx(1 - RATE, rel=1e-4)


def test_mistakes_are_named() -> None:
    with pytest.raises(EngineError, match="update rule 'adagrad'"):
        update_rule("adagrad")
    with pytest.raises(EngineError, match="it must be at least 0 and below 1"):
        update_rule("momentum", 1.0)
    with pytest.raises(EngineError, match="update rule with momentum 'lion'"):
        update_rule("lion", 0.5)
    with pytest.raises(EngineError, match="learning rate"):
        descend("sgd", 0.0, gradient, [1.0, 1.0], 1)
