"""The noisy quadratic model explodes for the reasons that training does, and each cure cures its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ironlaw.core import EngineError
from ironlaw.training.noisy_quadratic import Guard, Outlier, course

STEPS, BATCH, RATE = 200, 32, 0.5
STRANGE = (Outlier(1e9),)
HALF = Guard(half_precision=True)


def test_loss_falls_to_a_floor_of_noise() -> None:
    quiet = course(STEPS, BATCH, RATE, noise=0)
    assert quiet.final < 1e-3
    small, large = (course(STEPS, batch, RATE, noise=3.0).losses[STEPS // 2 :] for batch in (8, 512))
    assert sum(small) > 10 * sum(large), "a larger batch has less noise"


def test_a_rate_above_two_diverges_by_itself() -> None:
    assert course(STEPS, BATCH, 1.9, noise=0).exploded_at is None
    assert course(STEPS, BATCH, 2.2, noise=0).reason == "rate"


def test_a_larger_batch_learns_less_from_the_same_samples() -> None:
    """At the same rate, because it makes fewer updates."""
    samples = 4096
    finals = [course(samples // batch, batch, RATE, noise=0).final for batch in (16, 64, 256)]
    assert finals == sorted(finals)


def test_an_outlier_explodes_without_clipping_and_not_with_it() -> None:
    assert course(STEPS, BATCH, RATE, outliers=STRANGE).reason == "outlier"
    clipped = course(STEPS, BATCH, RATE, outliers=STRANGE, guard=Guard(clip=3.0))
    assert (clipped.exploded_at, clipped.clipped) == (None, 1)
    assert course(STEPS, BATCH, RATE, guard=Guard(clip=0.1)).clipped > STEPS / 2, "it shortens every long step"


def test_clipping_comes_too_late_for_a_gradient_that_overflowed() -> None:
    static = replace(HALF, scaling="static", clip=3.0)
    assert course(STEPS, BATCH, RATE, outliers=STRANGE, guard=static).reason == "overflow"
    dynamic = course(STEPS, BATCH, RATE, outliers=STRANGE, guard=replace(static, scaling="dynamic"))
    assert (dynamic.exploded_at, dynamic.skipped) == (None, 1)


def test_without_scaling_fp16_loses_small_gradients() -> None:
    plain, scaled = (
        course(4 * STEPS, BATCH, RATE, noise=0, guard=replace(HALF, scaling=s)) for s in ("none", "static")
    )
    assert plain.final > 10 * scaled.final


def test_the_same_seed_gives_the_same_course() -> None:
    course.cache_clear()
    one = course(50, BATCH, RATE)
    course.cache_clear()
    assert course(50, BATCH, RATE) == one
    assert course(50, BATCH, RATE, seed=4) != one


def test_an_unknown_scaling_is_refused() -> None:
    with pytest.raises(
        EngineError, match=r"scaling 'some' is unknown, did you mean none\?; allowed: none, static, dynamic"
    ):
        Guard(scaling="some")
