"""Update rules for one weight: what an optimizer remembers of its gradients, and which way it moves the weight.

`ironlaw.config.optimizers` says what the rules cost in memory, `ironlaw.time.update` what they move. Here they act.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from ironlaw.core.arrays import require_above_zero, require_at_least
from ironlaw.core.errors import EngineError, entry
from ironlaw.core.units import Count, Ratio

Memory = dict[str, float]
"""What a rule remembers of one weight: a number for each state vector."""

MOMENTUM: Ratio = 0.9
RMSPROP_DECAY: Ratio = 0.99
BETA_1: Ratio = 0.9
BETA_2: Ratio = 0.999
LION_BETAS = (0.9, 0.99)
EPSILON = 1e-8
WEIGHT_DECAY: Ratio = 0.01
"""Defaults of torch.optim; for Lion those of its paper."""


@dataclass(frozen=True, slots=True)
class UpdateRule:
    """An optimizer as a rule for one weight.

    Attributes:
        name: As in `ironlaw.list_optimizers()`.
        direction: From the weight, its gradient, the rule's memory and the number of the step, counted from 1: what
            the learning rate is multiplied with before it is subtracted from the weight. Updates the memory.
        source: Who proposed it.
    """

    name: str
    direction: Callable[[float, float, Memory, Count], float]
    source: str


def _sgd(weight: float, gradient: float, memory: Memory, step: Count) -> float:
    return gradient


def _momentum(weight: float, gradient: float, memory: Memory, step: Count, momentum: Ratio = MOMENTUM) -> float:
    memory["v"] = momentum * memory.get("v", 0.0) + gradient
    return memory["v"]


def _rmsprop(weight: float, gradient: float, memory: Memory, step: Count, momentum: Ratio = 0) -> float:
    memory["s"] = RMSPROP_DECAY * memory.get("s", 0.0) + (1 - RMSPROP_DECAY) * gradient**2
    scaled = gradient / (math.sqrt(memory["s"]) + EPSILON)
    if not momentum:
        return scaled
    memory["v"] = momentum * memory.get("v", 0.0) + scaled
    return memory["v"]


def _adam(weight: float, gradient: float, memory: Memory, step: Count, momentum: Ratio = BETA_1) -> float:
    memory["m"] = momentum * memory.get("m", 0.0) + (1 - momentum) * gradient
    memory["v"] = BETA_2 * memory.get("v", 0.0) + (1 - BETA_2) * gradient**2
    mean = memory["m"] / (1 - momentum**step)
    square = memory["v"] / (1 - BETA_2**step)
    return mean / (math.sqrt(square) + EPSILON)


def _adamw(weight: float, gradient: float, memory: Memory, step: Count) -> float:
    # Torch decays the weight first and then updates it, which is the same sum.
    return _adam(weight, gradient, memory, step) + WEIGHT_DECAY * weight


def _lion(weight: float, gradient: float, memory: Memory, step: Count) -> float:
    now, then = LION_BETAS
    average = memory.get("m", 0.0)
    mixed = now * average + (1 - now) * gradient
    memory["m"] = then * average + (1 - then) * gradient
    return math.copysign(1.0, mixed) if mixed else 0.0


_RULES = {
    rule.name: rule
    for rule in (
        UpdateRule("sgd", _sgd, "Robbins and Monro 1951"),
        UpdateRule("momentum", _momentum, "Polyak 1964"),
        UpdateRule("rmsprop", _rmsprop, "Hinton 2012"),
        UpdateRule("adam", _adam, "arXiv 1412.6980, algorithm 1"),
        UpdateRule("adamw", _adamw, "arXiv 1711.05101, algorithm 2"),
        UpdateRule("lion", _lion, "arXiv 2302.06675, algorithm 2, without weight decay"),
    )
}


_WITH_MOMENTUM = {"momentum": _momentum, "rmsprop": _rmsprop, "adam": _adam}


def update_rule(name: str, momentum: Ratio | None = None) -> UpdateRule:
    """The rule of the optimizer called `name`.

    Args:
        name: As in `ironlaw.list_optimizers()`.
        momentum: For `momentum`, `rmsprop` and `adam` (its first beta): what share of the past is kept, instead of
            torch.optim's default.

    Raises:
        EngineError: There is no such rule, or it takes no momentum, or that is not from 0 to below 1.
    """
    rule = entry("update rule", name, _RULES)
    if momentum is None:
        return rule
    if not 0 <= momentum < 1:
        raise EngineError("momentum", momentum, "at least 0 and below 1")
    return replace(rule, direction=partial(entry("update rule with momentum", name, _WITH_MOMENTUM), momentum=momentum))


def descend(
    name: str,
    rate: float,
    gradient: Callable[[tuple[float, ...]], Sequence[float]],
    start: Sequence[float],
    steps: Count,
    momentum: Ratio | None = None,
) -> tuple[tuple[float, ...], ...]:
    """The weights before the first step and after each one.

    Args:
        name: An update rule.
        rate: The learning rate.
        gradient: The loss's gradient at some weights.
        start: The weights to start from.
        steps: How many updates.
        momentum: As for `update_rule`.
    """
    rule = update_rule(name, momentum)
    require_above_zero("learning rate", rate)
    require_at_least("steps", steps, 0)
    memories: list[Memory] = [{} for _ in start]
    path = [tuple(start)]
    for step in range(1, steps + 1):
        here = path[-1]
        triples = zip(here, gradient(here), memories, strict=True)
        path.append(tuple(w - rate * rule.direction(w, g, memory, step) for w, g, memory in triples))
    return tuple(path)
