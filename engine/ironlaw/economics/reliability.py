"""Failures of a long job: how often they come, how often to save, and what share of the time both cost.

One failed device stops a synchronous job. The job starts again from its last checkpoint, the file with weights and
optimizer state that it wrote now and then. (Activation checkpointing shares the word and nothing else.)

Sources: Young 1974, "A first order approximation to the optimum checkpoint interval", doi 10.1145/361147.361115; Daly
2006, "A higher order estimate of the optimum checkpoint interval for restart dumps", doi 10.1016/j.future.2004.11.016.
"""

from __future__ import annotations

from math import exp

from ironlaw.core.arrays import require_above_zero, require_at_least, sqrt
from ironlaw.core.units import Count, Ratio, Seconds


def time_between_failures(devices: Count, device_seconds: Seconds) -> Seconds:
    """Mean seconds between failures of a job, when one device alone would run `device_seconds` between two of its own.

    Failures of independent devices add up, so a job of n devices fails n times as often.
    """
    require_at_least("devices", devices, 1)
    require_above_zero("time between failures of a device", device_seconds)
    return device_seconds / devices


def checkpoint_interval(save: Seconds, between_failures: Seconds) -> Seconds:
    """Seconds of work between two checkpoints that lose the least, for failures that come at random.

    To first order Young's `sqrt(2 C M)`, with C the time of a save and M the mean time between failures; here with
    Daly's two further terms, less the save itself: `sqrt(2 C M) (1 + r/3 + r^2/9) - C` with `r = sqrt(C / (2 M))`, and
    M when a save takes more than twice that.
    """
    require_above_zero("time of a save", save)
    require_above_zero("time between failures", between_failures)
    if save >= 2 * between_failures:
        return between_failures
    root = sqrt(save / (2 * between_failures))
    return sqrt(2 * save * between_failures) * (1 + root / 3 + root * root / 9) - save


def failure_overhead(interval: Seconds, save: Seconds, between_failures: Seconds, restart: Seconds = 0.0) -> Ratio:
    """Time that saves, lost work and restarts add, over the time of the work alone.

    `M e^(R/M) (e^((t+C)/M) - 1) / t - 1` for work of t seconds between saves of C, restarts of R, and failures that
    come at random every M seconds on average; about `C/t + (t/2 + R) / M` when failures are rare. Source: Daly 2006,
    equation for the complete run time.

    Raises:
        EngineError: A time that is not positive, or a negative restart.
    """
    require_above_zero("interval", interval)
    require_at_least("time of a save", save, 0)
    require_above_zero("time between failures", between_failures)
    require_at_least("time of a restart", restart, 0)
    spent = between_failures * exp(restart / between_failures) * (exp((interval + save) / between_failures) - 1)
    return spent / interval - 1
