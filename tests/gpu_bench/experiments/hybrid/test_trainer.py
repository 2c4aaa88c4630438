"""The hybrid trainer: what predicted steps do, what a divergence undoes, what each option of memory changes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gpu_bench.experiments.hybrid.predictors import DynamicModes, LastUpdate, LinearFit, MeanUpdate, NoOp, Predictor
from gpu_bench.experiments.hybrid.recurrent import Recurrent
from gpu_bench.experiments.hybrid.schedule import Phase, Schedule
from gpu_bench.experiments.hybrid.snapshot import state_bytes
from gpu_bench.experiments.hybrid.trainer import HybridTrainer, LossOf, OptimizerState, Options
from gpu_bench.experiments.hybrid.verdict import speedup

ALWAYS = Schedule(warmup_steps=6, full_steps=3, max_predict_steps=6, confidence_threshold=0, correction_interval=3)
PREDICTORS: list[Callable[[], Predictor]] = [
    NoOp, LastUpdate, lambda: MeanUpdate(3), lambda: LinearFit(4), lambda: DynamicModes(4, 2), lambda: Recurrent(3, 4)
]  # fmt: skip


def network() -> nn.Module:
    """A small network with every kind of state: weights, and buffers that a forward pass moves."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))


def batch(step: int) -> LossOf:
    """The loss on the batch of a step."""
    draw = torch.Generator().manual_seed(step)
    inputs, targets = torch.randn(16, 6, generator=draw), torch.randint(3, (16,), generator=draw)
    return lambda model: nn.functional.cross_entropy(model(inputs), targets)


def trainer(predictor: Predictor, options: Options | None = None, rules: Schedule = ALWAYS) -> HybridTrainer:
    model = network()
    return HybridTrainer(model, torch.optim.AdamW(model.parameters(), lr=1e-2), rules, predictor, options)


def weights(trained: HybridTrainer) -> list[Tensor]:
    return [tensor.detach().clone() for tensor in trained.model.state_dict().values()]


def same(one: list[Tensor], other: list[Tensor]) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def run_to_prediction(trained: HybridTrainer) -> int:
    """Train up to the first predicted step. Its number."""
    step = 0
    while trained.phase != "predict":
        trained.step(batch(step))
        step += 1
    return step


@pytest.mark.parametrize("make", PREDICTORS)
def test_predicted_steps_move_the_weights_by_what_is_predicted_and_no_op_leaves_them(
    make: Callable[[], Predictor],
) -> None:
    trained = trainer(make(), Options(forward=False))
    step = run_to_prediction(trained)
    before = [p.detach().clone() for p in trained.model.parameters()]
    expected = trained.predictor.predict(1)
    assert trained.step(batch(step)).loss is None
    assert expected is not None
    for old, new, update in zip(before, trained.model.parameters(), expected, strict=True):
        assert torch.equal(new, old + update)
    assert same(before, list(trained.model.parameters())) == isinstance(trained.predictor, NoOp)


def test_without_predicted_steps_it_is_plain_training_to_the_bit() -> None:
    trained = trainer(LastUpdate(), rules=Schedule(warmup_steps=50))
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(12):
        halves = batch(2 * step), batch(2 * step + 1)
        trained.step(*halves)
        optimizer.zero_grad()
        for loss_of in halves:
            (loss_of(model) / 2).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert same(weights(trained), list(model.state_dict().values()))


@pytest.mark.parametrize("state", ["keep", "offload", "drop"])
@pytest.mark.parametrize("late", [1, 4, 6], ids=["at once", "in the corrected step", "after it"])
def test_a_divergence_goes_back_to_exactly_what_was_there(state: OptimizerState, late: int) -> None:
    trained = trainer(LastUpdate(), Options(optimizer_state=state))
    step = run_to_prediction(trained)
    then = copy.deepcopy((trained.model.state_dict(), trained.optimizer.state_dict()))
    for more in range(late - 1):
        trained.step(batch(step + more))
    assert trained.phase == ("correct" if late == 4 else "predict")
    moved = late > 1
    assert moved == (not same(weights(trained), list(then[0].values())))
    gone = trained.step(lambda model: batch(step)(model) * float("nan"))
    assert gone.diverged
    assert same(weights(trained), list(then[0].values()))
    now = trained.optimizer.state_dict()["state"]
    assert now.keys() == then[1]["state"].keys()
    for index, old in then[1]["state"].items():
        assert all(torch.equal(now[index][name], value) for name, value in old.items())
    assert gone.phase in ("predict", "correct")
    assert str(trained.phase) == "full"
    assert trained.statistics.divergences == 1
    for more in range(12):
        loss = trained.step(batch(step + more)).loss
        assert loss is not None
        assert loss < 100


def micro_batches(step: int, count: int) -> list[LossOf]:
    """The losses on the micro-batches of a step."""
    return [batch(count * step + part) for part in range(count)]


def test_each_option_of_memory_changes_what_training_computes_and_offloading_alone_does_not() -> None:
    def trained(parts: int = 1, **options: Any) -> list[Tensor]:
        whole = trainer(LastUpdate(), Options(**options))
        for step in range(28):
            whole.step(*micro_batches(step, parts))
        return weights(whole)

    plain = trained()
    assert same(trained(optimizer_state="offload"), plain)
    for other in (trained(optimizer_state="drop"), trained(autocast=torch.bfloat16), trained(parts=3)):
        assert not same(other, plain)


def test_what_is_dropped_is_gone_while_steps_are_predicted() -> None:
    kept, dropped = (trainer(LastUpdate(), Options(optimizer_state=state)) for state in ("keep", "drop"))
    for trained in (kept, dropped):
        run_to_prediction(trained)
    parameters = sum(p.nbytes for p in kept.model.parameters())
    assert state_bytes(kept.optimizer.state_dict()) >= 2 * parameters
    assert state_bytes(dropped.optimizer.state_dict()) == 0
    assert kept.statistics.snapshot_bytes - dropped.statistics.snapshot_bytes >= 2 * parameters


def test_statistics_count_every_step_and_every_byte_that_prediction_keeps() -> None:
    trained = trainer(LinearFit(4))
    seen = [trained.step(batch(step)).phase for step in range(40)]
    counted = trained.statistics
    assert counted.steps == {phase: seen.count(phase) for phase in counted.steps}
    assert 0 < counted.extra_seconds < sum(counted.seconds.values())
    assert counted.history_bytes == 4 * sum(p.nbytes for p in trained.model.parameters())
    assert {ahead for ahead, _, _ in counted.comparisons} == {1, 4}


def test_the_speed_up_is_against_computed_steps_without_what_prediction_adds_to_them() -> None:
    """By hand: 40 computed steps of 0.1 s and 60 predicted ones of 0.02 s; prediction adds 0.8 s to the computed."""
    steps: dict[Phase, int] = {"warmup": 20, "full": 15, "predict": 60, "correct": 5}
    seconds: dict[Phase, float] = {"warmup": 2.4, "full": 1.8, "predict": 1.2, "correct": 0.6}
    assert speedup(steps, seconds, extra=0.8) == pytest.approx(100 * 0.1 / 6)
    nothing: dict[Phase, int] = dict.fromkeys(steps, 0)
    assert speedup(nothing, nothing, 0.0) == 1


def test_a_trainer_that_may_not_predict_is_plain_training_and_remembers_nothing() -> None:
    trained = trainer(LastUpdate(), Options(predicts=False))
    model = network()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(20):
        trained.step(batch(step))
        optimizer.zero_grad()
        batch(step)(model).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    assert same(weights(trained), list(model.state_dict().values()))
    counted = trained.statistics
    assert counted.steps["warmup"] == 20
    assert (counted.extra_seconds, counted.history_bytes, counted.comparisons) == (0, 0, [])


def test_confidence_is_the_cosine_of_updates_and_keeps_predictions_out_where_it_is_low() -> None:
    """With gradients that are noise, no update predicts the next."""
    rules = Schedule(warmup_steps=20, full_steps=3, confidence_threshold=0.9)
    model = nn.Linear(64, 64)
    plain = torch.optim.SGD(model.parameters(), lr=1e-3)
    trained = HybridTrainer(model, plain, rules, LastUpdate())
    draw = torch.Generator().manual_seed(0)

    def noise(of: nn.Module) -> Tensor:
        return sum(((p * torch.randn(p.shape, generator=draw)).sum() for p in of.parameters()), torch.zeros(()))

    assert "predict" not in {trained.step(noise).phase for _ in range(60)}
    assert trained.confidence < 0.2

    steady = HybridTrainer(model, plain, rules, LastUpdate())
    assert "predict" in {steady.step(lambda of: sum((p.sum() for p in of.parameters()), torch.zeros(()))).phase
                         for _ in range(60)}  # fmt: skip
    assert steady.confidence == pytest.approx(1)


def test_a_step_without_a_loss_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        trainer(NoOp()).step()


def test_autocast_computes_in_the_asked_format() -> None:
    seen: set[Any] = set()
    trained = trainer(LastUpdate(), Options(autocast=torch.bfloat16))
    first = next(iter(trained.model.children()))
    first.register_forward_hook(lambda _module, _inputs, result: seen.add(result.dtype))
    for step in range(8):
        trained.step(batch(step))
    assert seen == {torch.bfloat16}
    assert {p.dtype for p in trained.model.parameters()} == {torch.float32}
