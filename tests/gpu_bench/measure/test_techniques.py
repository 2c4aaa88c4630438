"""Techniques change memory and time, not the mathematics: each trains as the plain recipe does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from gpu_bench.cases.case import TrainingCase
from gpu_bench.cases.sizes import config_of
from gpu_bench.measure.data import draw_windows, read_corpus
from gpu_bench.measure.gpt2 import GPT2, SIZES
from gpu_bench.measure.training import Trainer
from tests.gpu_bench.tiny import tiny_case

CPU = torch.device("cpu")
STEPS = 3


def _trained(case: TrainingCase, rows: int = 0) -> tuple[list[float], list[Tensor]]:
    """Losses of a few steps, and the parameters after them."""
    trainer = Trainer(case, CPU)
    batch = rows or case.batch * case.accumulate
    windows = draw_windows(read_corpus(2**16), STEPS, batch, case.sequence, case.seed)
    losses = [trainer.step(trainer.load(window)).item() for window in windows]
    return losses, [parameter.detach() for parameter in trainer.model.parameters()]


def _same(one: TrainingCase, other: TrainingCase, tolerance: float) -> None:
    (losses, weights), (other_losses, other_weights) = _trained(one), _trained(other)
    assert losses == pytest.approx(other_losses, rel=tolerance, abs=0)
    for weight, other_weight in zip(weights, other_weights, strict=True):
        torch.testing.assert_close(weight, other_weight, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dropout", [0.2])
@pytest.mark.parametrize("policy", ["selective", "full"])
def test_checkpointing_computes_the_very_same_numbers_again_even_under_dropout(policy: Any, dropout: float) -> None:
    # The same operations on the same numbers in the same order: no tolerance.
    plain = tiny_case(dropout=dropout)
    _same(plain, replace(plain, checkpointing=policy), 0.0)


def test_selective_checkpointing_of_standard_attention_computes_the_very_same_numbers_again() -> None:
    plain = tiny_case(attention="standard", dropout=0.2)
    _same(plain, replace(plain, checkpointing="selective"), 0.0)


@pytest.mark.parametrize(("policy", "runs"), [("none", 3), ("full", 6), ("selective", 3)])
def test_checkpointed_blocks_run_twice_and_others_once(policy: str, runs: int) -> None:
    trainer = Trainer(tiny_case(checkpointing=policy), CPU)
    counted: list[None] = []
    for block in trainer.model.blocks:
        block.mlp.c_fc.register_forward_hook(lambda *_: counted.append(None))  # type: ignore[union-attr]
    trainer.backward(trainer.loss(draw_windows(read_corpus(2**16), 1, 2, 32, seed=0)[0].long()))
    assert len(counted) == runs


@pytest.mark.parametrize("passes", [4])
def test_accumulated_small_batches_train_as_one_large_batch(passes: int) -> None:
    # Sums in another order, at 24 bits. SGD's weights differ as little as the gradients; Adam would enlarge the
    # difference where a gradient is small, because it divides by the gradient's size.
    large = tiny_case(batch=4, optimizer="sgd", learning_rate=0.1)
    _same(large, replace(large, batch=4 // passes, accumulate=passes), 2e-5)


@pytest.mark.parametrize("pieces", [5, 32])
def test_a_loss_in_pieces_is_the_loss_of_the_whole(pieces: int) -> None:
    # Sums in another order; 5 does not divide the 32 tokens.
    whole = tiny_case(optimizer="sgd", learning_rate=0.1)
    _same(whole, replace(whole, loss=f"chunked:{pieces}"), 2e-5)


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adamw"])
def test_updating_in_the_backward_pass_gives_the_very_same_weights(optimizer: Any) -> None:
    # A tied matrix has two uses: updated after the first of them, its second gradient would come too late.
    plain = tiny_case(optimizer=optimizer, clip_norm=None)
    _same(plain, replace(plain, optimizer_in_backward=True), 0.0)


def test_fused_attention_trains_as_attention_with_its_scores_in_memory() -> None:
    # Softmax over tiles sums in another order.
    flash = tiny_case(optimizer="sgd", learning_rate=0.1)
    _same(flash, replace(flash, attention="standard"), 5e-5)


@pytest.mark.parametrize("optimizer", ["momentum", "adamw"])
def test_a_fused_update_gives_the_same_weights(optimizer: Any) -> None:
    # Fused kernels round once where others round several times; three steps of 1e-3 move a weight by 3e-3.
    plain = tiny_case(optimizer=optimizer)
    _same(plain, replace(plain, update="fused"), 1e-5)


@pytest.mark.parametrize(("optimizer", "update"), [("adamw-8bit", "fused")])
def test_an_implementation_that_does_not_exist_is_refused(optimizer: Any, update: Any) -> None:
    with pytest.raises(ValueError, match=f"update is '{update}' with optimizer '{optimizer}'"):
        tiny_case(optimizer=optimizer, update=update)


def test_rows_that_pad_the_vocabulary_leave_the_other_logits_as_they_are() -> None:
    config = config_of(tiny_case(vocab_multiple=60))
    assert config.vocab == 300
    plain, padded = GPT2(SIZES["pico"]), GPT2(config)
    weights = plain.state_dict()
    rows = torch.cat([weights["wte.weight"], torch.zeros(44, 64)])
    padded.load_state_dict({**weights, "wte.weight": rows, "lm_head.weight": rows})
    tokens = torch.randint(256, (2, 33))
    logits, loss = padded(tokens[:, :-1], tokens[:, 1:])
    expected, plain_loss = plain(tokens[:, :-1], tokens[:, 1:])
    torch.testing.assert_close(logits[..., :256], expected)
    # Rows of zeros have logits of zero, each of which adds e^0 to what the softmax divides by.
    added = torch.log1p(44 / expected.exp().sum(-1)).mean()
    torch.testing.assert_close(loss, plain_loss + added)


@pytest.mark.parametrize(("precision", "weights", "products"), [
    ("fp32", torch.float32, torch.float32), ("tf32", torch.float32, torch.float32),
    ("amp-bf16", torch.float32, torch.bfloat16),
    ("fp8", torch.float32, torch.bfloat16),
])  # fmt: skip
def test_weights_and_products_have_the_formats_of_the_mode(precision: Any, weights: Any, products: Any) -> None:
    scaling: Any = "delayed" if precision == "fp8" else "dynamic"
    trainer = Trainer(tiny_case(precision=precision, scaling=scaling), CPU)
    trainer.prepare(draw_windows(read_corpus(2**16), 1, 2, 32, seed=0)[0].long())
    found: list[torch.dtype] = []
    trainer.model.blocks[0].mlp.c_fc.register_forward_hook(lambda *_: found.append(_[2].dtype))  # type: ignore[union-attr]
    trainer.loss(draw_windows(read_corpus(2**16), 1, 2, 32, seed=0)[0].long())
    assert found == [products]
    assert {parameter.dtype for parameter in trainer.model.parameters()} == {weights}
    assert torch.get_float32_matmul_precision() == ("high" if precision == "tf32" else "highest")


def test_lower_precision_stays_close_to_fp32() -> None:
    # Relative rounding errors of 2^-9 (BF16), 2^-4 (E4M3), averaged over 64 terms and 3 layers.
    plain, _ = _trained(tiny_case(optimizer="sgd", learning_rate=0.0))
    modes: tuple[tuple[dict[str, Any], float], ...] = (
        ({"precision": "amp-bf16"}, 2e-3),
        ({"precision": "fp8", "scaling": "delayed"}, 2e-2),
    )
    for mode, tolerance in modes:
        losses, _ = _trained(tiny_case(**mode, optimizer="sgd", learning_rate=0.0))
        assert losses == pytest.approx(plain, rel=tolerance), mode
        assert losses != plain, mode


@pytest.mark.parametrize("changes", [
    {"optimizer_in_backward": True, "clip_norm": None, "accumulate": 2}, {"optimizer_in_backward": True},
    {"attention": "standard", "attention_kernel": "cudnn"}, {"checkpointing": "every:2"}, {"loss": "chunked:0"},
])  # fmt: skip
def test_techniques_that_exclude_each_other_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="allowed"):
        tiny_case(**changes)
