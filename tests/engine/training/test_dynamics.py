"""Training dynamics against the papers they come from and against torch."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ironlaw.core.errors import EngineError
from ironlaw.training import dynamics


def test_goyal_rate_for_a_batch_of_8192_is_3_2() -> None:
    # arXiv 1706.02677: 0.1 for 256 images becomes 3.2 for 8,192.
    assert dynamics.linear_scaling(0.1, 256, 8192) == pytest.approx(3.2)


@given(warmup=st.integers(1, 100), decay=st.integers(1, 400), step=st.integers(0, 600))
def test_schedule_equals_torchs_cosine_after_a_linear_warm_up(warmup: int, decay: int, step: int) -> None:
    peak, floor, total = 6e-4, 6e-5, warmup + decay
    parameter = torch.nn.Parameter(torch.zeros(1))
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(torch.optim.SGD([parameter], lr=peak), decay, floor)
    ours = dynamics.warmup_cosine(step, peak, warmup, total, floor)
    if step <= warmup:
        assert ours == pytest.approx(peak * step / warmup)
    elif step >= total:
        assert ours == floor
    else:
        closed_form = cosine._get_closed_form_lr
        cosine.last_epoch = step - warmup
        assert ours == pytest.approx(float(closed_form()[0]))


def test_at_the_critical_batch_steps_and_examples_are_twice_their_least() -> None:
    assert dynamics.steps_to_target(1000, 1000, 50) == 100
    assert dynamics.examples_to_target(1000, 1000, 50_000) == 100_000


@given(batch=st.floats(1, 1e7), critical=st.floats(1, 1e7), least=st.floats(1, 1e6))
def test_steps_times_batch_is_examples(batch: float, critical: float, least: float) -> None:
    steps = dynamics.steps_to_target(batch, critical, least)
    examples = dynamics.examples_to_target(batch, critical, least * critical)
    assert steps * batch == pytest.approx(examples)
    assert dynamics.steps_to_target(2 * batch, critical, least) <= steps


def test_kaplan_critical_batch_grows_as_the_loss_falls() -> None:
    assert dynamics.critical_batch_tokens(3.0) == pytest.approx(2e8 / 3 ** (1 / 0.21))
    assert dynamics.critical_batch_tokens(2.5) > dynamics.critical_batch_tokens(3.0)


def test_adam_is_claimed_to_need_a_third_of_sgds_steps() -> None:
    assert dynamics.convergence("sgd").steps == 3 * dynamics.convergence("adam").steps == 150_000
    assert [dynamics.convergence(name).text for name in ("sgd", "momentum", "adam")] == ["150,000+", "90,000", "50,000"]


def test_chinchilla_70b_wants_1_4_trillion_tokens() -> None:
    assert dynamics.chinchilla_tokens(70 * 10**9) == 1.4e12


def test_effective_batch() -> None:
    assert dynamics.effective_batch(16, 4, 8) == 512


def test_bad_input_is_one_line() -> None:
    with pytest.raises(EngineError, match="warmup_steps 11 is not allowed; it must be 0 to 10"):
        dynamics.warmup_cosine(1, 1.0, 11, 10)
    with pytest.raises(EngineError, match="allowed: sgd, momentum, adam"):
        dynamics.convergence("lion")
