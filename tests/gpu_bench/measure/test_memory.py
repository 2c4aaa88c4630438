"""Memory by component: exact states, exact casts, and a peak that the components meet."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from gpu_bench.cases.case import OptimizerName, Precision
from gpu_bench.cases.sizes import SIZES, remainder_tolerance
from gpu_bench.measure import memory
from gpu_bench.measure.data import draw_windows, read_corpus
from gpu_bench.measure.training import Trainer
from ironlaw import Transformer
from tests.gpu_bench.tiny import tiny_case

CPU = torch.device("cpu")
TENSORS = 40
ONE_COPY = 174_656 * 4


def _after_one_step(precision: Precision = "fp32", optimizer: OptimizerName = "adam") -> tuple[Trainer, Tensor]:
    trainer = Trainer(tiny_case(precision=precision, optimizer=optimizer), CPU)
    window = trainer.load(draw_windows(read_corpus(2**16), 1, 2, 32, seed=3)[0])
    trainer.step(window)
    return trainer, window


@pytest.mark.parametrize(
    ("optimizer", "vectors"),
    [
        ("sgd", {}),
        ("momentum", {"momentum_buffer": ONE_COPY}),
        ("adam", {"exp_avg": ONE_COPY, "exp_avg_sq": ONE_COPY, "step": TENSORS * 4}),
    ],
)
def test_optimizer_state_is_zero_one_or_two_copies_of_the_weights(
    optimizer: OptimizerName, vectors: dict[str, int]
) -> None:
    trainer, _ = _after_one_step(optimizer=optimizer)
    assert memory.optimizer_vectors(trainer.optimizers) == vectors


def test_gradients_are_as_large_as_the_weights_and_a_tied_matrix_counts_once() -> None:
    held = memory.held_memory(*_after_one_step())
    assert held.parameters == held.gradients == ONE_COPY


def test_autocast_keeps_a_16_bit_copy_of_every_weight_matrix_and_none_without_it() -> None:
    trainer, window = _after_one_step("amp-bf16")
    matrices = {id(m.weight): m.weight.numel() for m in trainer.model.modules() if isinstance(m, nn.Linear)}
    assert memory.held_memory(trainer, window).cast_weights == 2 * sum(matrices.values())
    assert memory.held_memory(*_after_one_step("fp32")).cast_weights == 0


def test_saved_activations_grow_with_the_batch_by_the_same_bytes_per_sequence() -> None:
    trainer, window = _after_one_step()
    one, two, three = (memory.held_memory(trainer, window.repeat(copies, 1)).activations for copies in (1, 2, 3))
    assert three - two == two - one > 0


@pytest.mark.parametrize("precision", ["fp32", "amp-bf16"])
def test_tracked_components_meet_the_allocators_own_count(precision: Precision) -> None:
    trainer, window = _after_one_step(precision)
    tracked = memory.track_step(trainer, window)
    peak = memory.cpu_allocator_peak(lambda: trainer.step(window), tracked.at_rest)
    assert abs(peak - sum(tracked.at_peak.values())) <= remainder_tolerance(trainer.case, peak, "cpu")


def test_at_the_peak_adam_costs_two_copies_more_than_sgd() -> None:
    adam = memory.track_step(*_after_one_step(optimizer="adam")).at_peak
    sgd = memory.track_step(*_after_one_step(optimizer="sgd")).at_peak
    assert adam["optimizer_state"] - sgd["optimizer_state"] == 2 * ONE_COPY + TENSORS * 4


def test_a_storage_seen_through_two_views_counts_once() -> None:
    tensor = torch.zeros(10, 10)
    assert memory.storage_bytes([tensor, tensor.view(100), tensor[2:4].t()]) == 400


@pytest.mark.parametrize(
    ("model", "rounded"), [("gpt2-xl", 86_784), ("gpt2", 0), ("gpt2-medium", 0), ("gpt2-large", 0)]
)
@pytest.mark.sampled(4)
def test_on_a_gpu_parameters_and_state_are_counted_to_the_byte(model: str, rounded: int) -> None:
    """The tracker rounds each tensor up to 512 bytes there, which adds to GPT-2 XL, whose width is 12.5 times 512."""
    command = [sys.executable, "-m", "tests.gpu_bench.measure.fake_cuda", "held", model]
    done = subprocess.run(command, cwd=Path(__file__).parents[3], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    shape = SIZES[model]
    exact = 4 * Transformer(model, shape.layers, shape.hidden, shape.heads, shape.vocab, shape.max_seq).parameters
    assert found["recorded"] == found["held"] == exact
    assert found["state"]["exp_avg"] == found["state"]["exp_avg_sq"] == exact
    assert found["tracked"] - exact == rounded, "what would be recorded beyond the parameters"
