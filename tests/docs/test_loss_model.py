"""Part 3's loss model held against recorded trainings: what fails there fails in it, and the same things cure it."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import pytest

from docs.acts.missions.cloud_track import CLOUD
from docs.acts.missions.wall_levers import NORM
from gpu_bench.record.load import read
from ironlaw.training.noisy_quadratic import Course, Guard, Outlier, course

FOLDER = Path(__file__).parents[2] / "gpu_bench" / "results" / "failures"
HUGE = Outlier(1e12, 0.5)
"""A batch whose gradient FP16 cannot hold, with or without a loss scale."""


def arms(failure: str) -> Any:
    """The recorded runs of a failure."""
    [path] = FOLDER.glob(f"failure-{failure}--*.json")
    record, faults = read(path)
    assert record is not None, faults
    return record["arms"]


def failed(run: Any) -> bool:
    """Whether most seeds of a recorded run failed."""
    return bool(2 * run["summary"]["failed"] > run["summary"]["trained"])


def measured_outliers() -> list[float]:
    """By what the strange batch multiplied the gradient's norm, for each seed; measured before clipping."""
    run = arms("clipping")["runs"]["fp32-clipped"]
    found = []
    for seed in run["seeds"]:
        norms, at = seed["curves"]["norm"], run["settings"]["outlier_step"] // seed["every"]
        assert max(norms) == norms[at]
        found.append(norms[at] / median(norms[:at]))
    return found


def simulated(run: Any, *, noise: float, outlier: Outlier | None = None) -> Course:
    """The model with a recorded run's settings. It has no momentum, so a higher rate stands for it."""
    how = run["settings"]
    guard = Guard(how["products"] == "fp16", how["scaling"], None if how["clip"] is None else NORM)
    strange = () if outlier is None or how["outlier_step"] is None else (outlier,)
    rate = how["learning_rate"] / (1 - how["momentum"])
    return course(how["steps"], how["batch"], rate, noise=noise, guard=guard, outliers=strange)


def lost(run: Course, reference: Course, worse: float) -> bool:
    """The records' rule: not finite, or so many times the reference's loss."""
    return run.exploded_at is not None or run.final > worse * reference.final


def test_an_outlier_as_large_as_the_recorded_one_ends_a_run_and_clipping_saves_it() -> None:
    recorded = arms("clipping")
    runs = recorded["runs"]
    factors = measured_outliers()
    assert 0.5 < CLOUD.wall.outliers[0].factor / median(factors) < 2, "the mission's batch is about as strange"
    clean = simulated(runs["clean"], noise=1.0)
    for name, run in runs.items():
        model = simulated(run, noise=1.0, outlier=Outlier(median(factors), 0.5))
        assert lost(model, clean, recorded["worse"]) == failed(run), name


def test_an_overflow_ends_a_run_clipped_or_not_and_a_dynamic_scale_leaves_it_out() -> None:
    recorded = arms("outlier")
    runs = recorded["runs"]
    clean = simulated(runs["clean"], noise=1.0)
    for name, run in runs.items():
        model = simulated(run, noise=1.0, outlier=HUGE)
        assert lost(model, clean, recorded["worse"]) == failed(run), name
    assert simulated(runs["fp16-scaled"], noise=1.0, outlier=HUGE).skipped == 1
    for seed in runs["fp16-scaled"]["seeds"]:
        scales, at = seed["curves"]["scale"], runs["fp16-scaled"]["settings"]["outlier_step"] // seed["every"]
        assert scales[at + 1] < 0.51 * scales[at], "the recorded scaler halved its scale there"


def test_the_model_lacks_the_forward_pass_in_which_the_recorded_run_overflowed() -> None:
    """As the page says: for an outlier of the recorded size, clipping saves the model, but it did not save the runs."""
    factor = median(measured_outliers())
    clipped = arms("outlier")["runs"]["fp16-clipped"]
    assert failed(clipped)
    assert simulated(clipped, noise=1.0, outlier=Outlier(factor, 0.5)).exploded_at is None


def test_a_rate_scaled_with_the_batch_diverges_where_the_recorded_one_did() -> None:
    runs = arms("linear-scaling")["runs"]
    for name in ("batch-16", "batch-128", "batch-128-8x"):
        assert (simulated(runs[name], noise=0).exploded_at is not None) == failed(runs[name]), name
    assert simulated(runs["batch-128-8x"], noise=0).reason == "rate"


@pytest.mark.parametrize("failure", ["linear-scaling", "large-batch"])
def test_a_large_batch_at_the_old_rate_learns_less_from_the_same_samples(failure: str) -> None:
    runs = arms(failure)["runs"]
    small, large = runs["batch-16"], runs["batch-128"]
    assert small["settings"]["batch"] * small["settings"]["steps"] == 128 * large["settings"]["steps"]
    assert large["summary"]["test_loss"] > small["summary"]["test_loss"]
    assert simulated(large, noise=0).final > simulated(small, noise=0).final


def test_a_scaled_rate_that_training_bears_makes_up_for_it() -> None:
    recorded = arms("large-batch")
    runs = recorded["runs"]
    reference = simulated(runs["batch-16"], noise=0)
    for name in ("batch-128", "batch-128-8x"):
        model = simulated(runs[name], noise=0)
        assert lost(model, reference, recorded["worse"]) == failed(runs[name]), name


def test_small_gradients_are_lost_in_fp16_and_a_loss_scale_saves_them() -> None:
    """The recorded runs used Adam, the model takes plain steps: so the model has a rate of its own."""
    recorded = arms("underflow")
    runs = recorded["runs"]

    def model(run: Any) -> Course:
        how = run["settings"]
        return course(how["steps"], how["batch"], 0.1, noise=0, guard=Guard(how["products"] == "fp16", how["scaling"]))

    for name in ("fp16", "bf16", "fp16-static", "fp16-dynamic"):
        assert lost(model(runs[name]), model(runs["fp32"]), recorded["worse"]) == failed(runs[name]), name
