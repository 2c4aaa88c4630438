"""The training step: every precision and optimizer trains, a seed fixes the losses, gradients are clipped."""

from __future__ import annotations

from typing import Any, get_args

import pytest
import torch

from gpu_bench.cases.case import NARROW, OptimizerName, Precision, TrainingCase, Update
from gpu_bench.cases.suites import SUITES, TINY
from gpu_bench.measure import training
from gpu_bench.measure.data import draw_windows, read_corpus
from gpu_bench.measure.training import Trainer
from tests.gpu_bench.tiny import tiny_case

CPU = torch.device("cpu")


def _losses(case: TrainingCase, steps: int) -> list[float]:
    trainer = Trainer(case, CPU)
    windows = draw_windows(read_corpus(2**16), steps, case.batch, case.sequence, case.seed)
    return [trainer.step(trainer.load(window)).item() for window in windows]


@pytest.mark.parametrize("precision", get_args(Precision))
def test_loss_falls_in_every_precision(precision: Precision) -> None:
    how: dict[str, Any] = {"optimizer": "adamw", "update": "flat"} if precision in NARROW else {}
    how |= {"scaling": "delayed"} if precision.startswith("fp8") else {}
    losses = _losses(tiny_case(precision=precision, **how), 12)
    assert losses[-1] < losses[0] - 0.5


@pytest.mark.parametrize("optimizer", get_args(OptimizerName))
def test_loss_falls_with_every_optimizer(optimizer: OptimizerName) -> None:
    rate = {"sgd": 0.1, "momentum": 0.05}.get(optimizer, 1e-3)
    update: Update = "flat" if optimizer == "adamw-8bit" else "default"
    losses = _losses(tiny_case(optimizer=optimizer, update=update, learning_rate=rate), 8)
    assert losses[-1] < losses[0] - 0.3


def test_the_same_seed_gives_the_same_losses() -> None:
    assert _losses(tiny_case(), 3) == _losses(tiny_case(), 3)
    assert _losses(tiny_case(), 3) != _losses(tiny_case(seed=1), 3)


def test_a_step_of_plain_sgd_moves_the_weights_by_no_more_than_the_clipped_gradient() -> None:
    case = tiny_case(optimizer="sgd", learning_rate=1.0, clip_norm=0.25)
    trainer = Trainer(case, CPU)
    before = [p.detach().clone() for p in trainer.model.parameters()]
    trainer.step(trainer.load(draw_windows(read_corpus(2**16), 1, 2, 32, seed=0)[0]))
    moved = torch.stack([(p - b).norm() for p, b in zip(trainer.model.parameters(), before, strict=True)]).norm()
    assert moved.item() == pytest.approx(0.25, rel=1e-3)


def test_no_gradient_is_left_after_a_step() -> None:
    trainer = Trainer(tiny_case(), CPU)
    trainer.step(trainer.load(draw_windows(read_corpus(2**16), 1, 2, 32, seed=0)[0]))
    assert all(p.grad is None for p in trainer.model.parameters())


def test_what_is_compiled_before_the_first_step_sees_the_attention_kernel_of_the_case(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A block that is compiled where another kernel is allowed keeps that kernel."""
    seen: list[tuple[bool, bool]] = []
    backends: Any = torch.backends.cuda

    def look(*block: Any) -> None:
        seen.append((backends.flash_sdp_enabled(), backends.math_sdp_enabled()))

    def calibrate(passes: Any) -> None:
        look()
        calibrated(passes)

    monkeypatch.setattr(training, "check_compiled_block", look)
    case = tiny_case(
        precision="fp8-master",
        optimizer="adamw",
        update="flat",
        scaling="delayed",
        compile="default",
        compile_region="block",
        attention_kernel="flash",
    )
    trainer = Trainer(case, CPU)
    assert trainer.scales is not None
    calibrated = trainer.scales.calibrate
    monkeypatch.setattr(trainer.scales, "calibrate", calibrate)
    trainer.prepare(torch.zeros(case.batch, case.sequence + 1, dtype=torch.long))
    assert seen == [(True, False), (True, False)]
    assert backends.math_sdp_enabled(), "and nothing else does"


def test_a_tiny_case_names_a_kernel_where_the_real_one_does() -> None:
    for suite, cases in SUITES.items():
        for case, small in zip(cases, TINY[f"{suite}-tiny"], strict=True):
            if isinstance(case, TrainingCase) and isinstance(small, TrainingCase):
                assert (small.attention_kernel == "auto") == (case.attention_kernel == "auto"), case.name
