"""Memory by component equals the engine's prediction byte for byte: on fake tensors, so without a GPU.

What a configuration holds is counted by the same code that measures on a GPU; the tensors only have no contents.
"""

from __future__ import annotations

import gc
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from gpu_bench.cases.case import TrainingCase
from gpu_bench.cases.sizes import SIZES
from gpu_bench.measure import memory
from gpu_bench.measure.techniques.flat import BLOCK, codes
from gpu_bench.measure.training import Trainer
from gpu_bench.predict.prediction import predict
from gpu_bench.record.shape import Held
from tests.gpu_bench.tiny import tiny_case

# The tracker warns about gradients that hooks have already freed and about code outside modules; both are meant.
pytestmark = pytest.mark.filterwarnings("ignore:Module is None", "ignore:Expected a tensor", "ignore:.*lr_scheduler")
CPU = torch.device("cpu")
PEAK_TOLERANCE = 0.02
"""The engine leaves out short-lived tensors inside an update, and the optimizer's counts of steps."""

CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "fp32": {},
    "amp-bf16": {"precision": "amp-bf16"},
    "sgd": {"optimizer": "sgd"},
    "momentum": {"optimizer": "momentum"},
    "8-bit": {"optimizer": "adamw-8bit", "update": "flat"},
    "in backward": {"optimizer_in_backward": True, "clip_norm": None},
    "accumulated": {"accumulate": 2},
    "padded": {"vocab_multiple": 100},
    "dropout": {"dropout": 0.1},
    "standard": {"attention": "standard", "precision": "amp-bf16"},
    "selective": {"attention": "standard", "checkpointing": "selective"},
    "full": {"checkpointing": "full", "precision": "amp-bf16"},
    "chunked": {"loss": "chunked:4", "precision": "amp-bf16"},
    "one sequence": {"batch": 1},
    "one chunked sequence": {"batch": 1, "loss": "chunked:4"},
    "everything": {
        "precision": "bf16-rounded", "optimizer": "adamw-8bit", "update": "flat", "checkpointing": "full",
        "loss": "chunked:8", "optimizer_in_backward": True, "clip_norm": None,
    },
}  # fmt: skip


def _forget_fakes() -> None:
    codes.cache_clear()


def _counted(case: TrainingCase) -> tuple[Held, memory.Tracked]:
    """What the second step of a case holds, and what is alive at its peak."""
    # Fake tensors of earlier calls, and cached tables of them, must not mix with those of this call.
    gc.collect()
    _forget_fakes()
    try:
        with FakeTensorMode():
            trainer = Trainer(case, CPU)
            window = torch.zeros(case.batch * case.accumulate, case.sequence + 1, dtype=torch.long)
            trainer.step(window)
            return memory.held_memory(trainer, window[: case.batch].clone()), memory.track_step(trainer, window)
    finally:
        _forget_fakes()


@pytest.mark.parametrize(
    ("name", "model"),
    [*((name, "nano") for name in CONFIGURATIONS), pytest.param("in backward", "gpt2", marks=pytest.mark.full)],
)
@pytest.mark.sampled(12)
def test_components_are_the_engines(name: str, model: str) -> None:
    usual = {"model": model, "batch": 8, "sequence": 256, "optimizer": "adamw"}
    case = tiny_case(**{**usual, **CONFIGURATIONS[name]})
    held, tracked = _counted(case)
    predicted = predict(case, {"type": "cpu", "name": None})["memory"]
    steps = held.optimizer.get("step", 0)
    found = {
        "parameters": held.parameters,
        "gradients": held.gradients,
        "optimizer": sum(held.optimizer.values()) - steps,
        "activations": held.activations,
        "cast_weights": held.cast_weights,
    }
    expected = {key: predicted[key] for key in found}
    expected["activations"] += predicted["logits"]
    if case.update == "flat":
        # Parameters lie in vectors, where each begins at a multiple of a block: what lies between them is held too.
        most = 4 * BLOCK * 148
        assert all(0 <= found[key] - expected[key] <= most for key in ("parameters", "gradients", "optimizer"))
        expected |= {key: found[key] for key in ("parameters", "gradients", "optimizer")}
    assert found == expected
    assert steps <= 4 * 148, "one number per tensor"
    # An update that is not compiled gathers the gradients of a vector and widens a piece of it several times over.
    widened = 8 * 4 * _largest_tensor(model) + held.parameters if case.update == "flat" else 0
    assert abs(sum(tracked.at_peak.values()) - predicted["peak"]) <= PEAK_TOLERANCE * predicted["peak"] + widened


def _largest_tensor(model: str) -> int:
    size = SIZES[model]
    return max(size.vocab * size.hidden, 4 * size.hidden**2)


def test_tiny_shapes_with_real_contents_are_counted_alike() -> None:
    case = tiny_case(precision="amp-bf16", checkpointing="full")
    trainer = Trainer(case, CPU)
    window = torch.zeros(case.batch, case.sequence + 1, dtype=torch.long)
    trainer.step(window)
    held = memory.held_memory(trainer, window)
    fake, _ = _counted(case)
    assert held == fake
