"""How long a case will take on a GPU: what a plan for a short rental needs to know before anything runs.

The steps are the engine's. What surrounds them (starting a process, compiling, counting memory) is an assumption, in
the constants below, to be corrected by what a run's own records say.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpu_bench.cases.card import trial
from gpu_bench.cases.case import SHORTEST_ENERGY_S, Case, TrainingCase
from gpu_bench.cases.kinds import AttentionCase, FitCase, RooflineCase
from gpu_bench.cases.sizes import SIZES
from gpu_bench.experiments.hybrid.arms import Arm
from gpu_bench.experiments.hybrid.case import HybridCase
from gpu_bench.predict.prediction import predicted_batch, predicted_seconds

START_S = 20.0
"""A process, PyTorch's import, the CUDA context, the text from its cache, the model's random weights."""
COMPILE_S_PER_LAYER = 2.5
"""The first compilation, forward and backward; tracing alone takes 0.9 s a layer on a slow core."""
CACHED_SHARE = 0.3
"""Of the first compilation, where its results are in the cache: tracing stays."""
AUTOTUNE = 4.0
"""How many times as long `split-k` takes: every product tries many kernels."""
COUNTING_STEPS = 12
"""Time of counting memory and of finding the attention kernel that ran, in eager steps."""
CEILINGS_S = 6.0
_BLOCK_AND_HEAD = 8
"""Time to compile one block, for all blocks, and the head, in layers. Most of it is fixed cost of the compiler."""
_TRIALS = 3
"""Trials of a policy whose boundary is near the engine's prediction."""
_UNKNOWN_STEP_S = 1.0


@dataclass(frozen=True)
class Duration:
    """Seconds of a case's repeats."""

    first: float  # The first one, which compiles, counts memory and measures the ceilings
    later: float  # Each of the others


def duration_of(case: Case, device_name: str | None) -> Duration:
    """Seconds of a case on the GPU that the driver calls `device_name`; a guess where the engine knows no time."""
    match case:
        case TrainingCase():
            return _training(case, device_name)
        case FitCase():
            batches = {policy: predicted_batch(case, policy, "cuda") or case.batches[0] for policy in case.policies}
            steps = [_step(trial(case, policy, batch), device_name) for policy, batch in batches.items()]
            tried = sum(min(case.time_limit_s / 2, START_S + (case.steps + 5) * step) for step in steps)
            return Duration(_TRIALS * tried, _TRIALS * tried)
        case AttentionCase():
            points = len(case.variants) * len(case.sizes) * len(case.formats)
            return Duration(START_S + points, START_S + points)
        case RooflineCase():
            points = len(case.formats) * len(case.shapes) or len(case.sizes) or 12 * len(case.formats)
            return Duration(START_S + points, START_S + points)
        case HybridCase(task="text"):
            seconds = START_S + sum(
                arm.taken(case.steps) * _arm_step(case, arm, device_name) for arm in case.arms.values()
            )
            return Duration(seconds, seconds)
        case _:
            guess = min(case.time_limit_s, 90.0)
            return Duration(guess, guess)


def _training(case: TrainingCase, device_name: str | None) -> Duration:
    step = _step(case, device_name)
    warm = max(case.warmup * step, case.warm_s) * 1.2
    timed = max(case.steps * step, case.timed_s)
    compiling = 0.0
    if case.compile != "none":
        alike = SIZES[case.model].layers if case.compile_region == "model" else _BLOCK_AND_HEAD
        compiling = COMPILE_S_PER_LAYER * alike
        compiling *= AUTOTUNE if case.compile == "split-k" else 1.0
    energy = max(case.energy_s, SHORTEST_ENERGY_S) if case.energy_s else 0.0
    once = COUNTING_STEPS * step + CEILINGS_S + energy
    later = START_S + CACHED_SHARE * compiling + warm + timed
    return Duration(START_S + compiling + warm + timed + once, later)


def _arm_step(case: HybridCase, arm: Arm, device_name: str | None) -> float:
    """Seconds of a step of one run, as if none were predicted: each of these at least runs forward or moves memory."""
    training = TrainingCase(
        name=case.name,
        model=case.model, precision="amp-bf16" if arm.mixed else case.precision, optimizer="adam",
        learning_rate=case.learning_rate, batch=max(1, case.batch * arm.larger // arm.parts), accumulate=arm.parts,
        sequence=case.sequence,
    )  # fmt: skip
    return _step(training, device_name)


def _step(case: TrainingCase, device_name: str | None) -> float:
    return predicted_seconds(case, device_name) or _UNKNOWN_STEP_S
