"""Training dynamics the lab uses: learning rates for larger batches, schedules, the critical batch size, steps."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ironlaw.core.arrays import require_above_zero, require_at_least, require_each
from ironlaw.core.errors import EngineError, entry
from ironlaw.core.units import Count, Ratio


def linear_scaling(base_rate: Ratio, base_batch: Count, batch: Count) -> Ratio:
    """Learning rate for another batch size: k times the batch, k times the rate.

    Holds for SGD with momentum, with a warm-up, and up to a batch of about 8,192 images in the source.
    Source: Goyal et al. 2017, "Accurate, Large Minibatch SGD", arXiv 1706.02677, section 2.1.
    """
    require_above_zero("base batch", base_batch)
    require_above_zero("batch", batch)
    return base_rate * batch / base_batch


def warmup_cosine(step: Count, peak: Ratio, warmup_steps: Count, total_steps: Count, floor: Ratio = 0.0) -> Ratio:
    """Learning rate at `step`: linear from 0 to `peak` during the warm-up, then half a cosine down to `floor`.

    Args:
        step: 0 is before the first update; past `total_steps` the rate stays at `floor`.
        peak: Highest rate.
        warmup_steps: Steps of the linear part, at most `total_steps`.
        total_steps: Steps of the whole schedule.
        floor: Rate at the end, at most `peak`.

    Raises:
        EngineError: A step below 0, a warm-up longer than the schedule, a floor above the peak.

    Source: Loshchilov and Hutter 2016, arXiv 1608.03983; Goyal et al. 2017, arXiv 1706.02677, section 2.2.
    """
    require_at_least("step", step, 0)
    require_at_least("total steps", total_steps, 1)
    if not 0 <= warmup_steps <= total_steps:
        raise EngineError("warmup_steps", warmup_steps, f"0 to {total_steps}")
    if floor > peak:
        raise EngineError("floor", floor, f"at most {peak!r}", {"peak": peak})
    if step < warmup_steps:
        return peak * step / warmup_steps
    if step >= total_steps:
        return floor
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return floor + (peak - floor) * (1 + math.cos(math.pi * progress)) / 2


def steps_to_target(batch: float, critical_batch: float, least_steps: float) -> float:
    """Optimizer steps to a target loss: `S_min (1 + B_crit / B)`. Arguments may be NumPy arrays.

    Source: McCandlish et al. 2018, "An Empirical Model of Large-Batch Training", arXiv 1812.06162, equation 2.11.
    """
    require_above_zero("batch", batch)
    require_at_least("critical batch", critical_batch, 0)
    return least_steps * (1 + critical_batch / batch)


def examples_to_target(batch: float, critical_batch: float, least_examples: float) -> float:
    """Examples (or tokens) to a target loss: `E_min (1 + B / B_crit)`.

    At the critical batch both steps and examples are twice their least: half the time saved for twice the work.
    Source: arXiv 1812.06162, section 2.3; `B_crit = E_min / S_min`.
    """
    require_at_least("batch", batch, 0)
    require_above_zero("critical batch", critical_batch)
    return least_examples * (1 + batch / critical_batch)


def critical_batch_tokens(loss: float) -> float:
    """Critical batch in tokens of a language model at a training loss (nats): `2e8 / loss^(1/0.21)`.

    Source: Kaplan et al. 2020, "Scaling Laws for Neural Language Models", arXiv 2001.08361, equation 1.4.
    """
    require_above_zero("loss", loss)
    critical: float = 2e8 / loss ** (1 / 0.21)
    return critical


@dataclass(frozen=True, slots=True)
class Convergence:
    """Steps in which GPT-2 converges with one optimizer by the course material, which shows no experiment.

    Attributes:
        optimizer: Its name.
        steps: The steps.
        or_more: Whether the source says "or more".
        source: Where it stands.
    """

    optimizer: str
    steps: Count
    or_more: bool
    source: str

    @property
    def text(self) -> str:
        """As the source writes it: `150,000+`."""
        return f"{self.steps:,}{'+' if self.or_more else ''}"


_CONVERGENCE = {
    entry.optimizer: entry
    for entry in (
        Convergence("sgd", 150_000, True, "MLSysBook, chapter Model Training, 2026-02-14"),
        Convergence("momentum", 90_000, False, "MLSysBook, laboratory plan for Model Training"),
        Convergence("adam", 50_000, False, "MLSysBook, chapter Model Training, 2026-02-14"),
    )
}


def convergence(optimizer: str) -> Convergence:
    """The claimed steps of GPT-2 under `sgd`, `momentum` or `adam`. Raises `EngineError` for another optimizer."""
    return entry("convergence record", optimizer, _CONVERGENCE)


def chinchilla_tokens(parameters: Count) -> float:
    """Training tokens that use compute best: about 20 per parameter.

    Source: Hoffmann et al. 2022, "Training Compute-Optimal Large Language Models", arXiv 2203.15556, table 3.
    """
    require_above_zero("parameters", parameters)
    return 20.0 * parameters


def effective_batch(micro_batch: Count, accumulate: Count, data_parallel: Count) -> Count:
    """Samples per optimizer step."""
    require_each(1, {"micro-batch": micro_batch, "accumulate": accumulate, "data parallel": data_parallel})
    return micro_batch * accumulate * data_parallel
