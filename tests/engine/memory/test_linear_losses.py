"""A loss that never keeps the logits whole, by what a real step keeps and holds at its peak.

Liger's runs on GPUs alone (Triton). The referee is its published algorithm in PyTorch, with the tensors that it makes,
in its order: its kernel over logits is a loop over rows, which makes no tensor as large as the logits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch

from ironlaw import EngineError, estimate, setup, training_memory
from ironlaw.core.sizes import power_of_two
from tests.engine.memory.adapted import LLAMA, autocasting, kept_by, llama, with_adapters
from tests.engine.memory.test_peak_of_adapters import Storages

SHAPE = replace(LLAMA, layers=2, hidden=64, head_size=16, ffn=160, vocab=5_000, max_seq=256)
BATCH, SEQUENCE = 2, 128


class FusedLinearLoss(torch.autograd.Function):
    """Liger's `LigerFusedLinearCrossEntropyFunction` (0.7, `ops/fused_linear_cross_entropy.py`), the mean's way."""

    @staticmethod
    def forward(ctx: Any, hidden: torch.Tensor, matrix: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        tokens, width = hidden.shape
        ways = -(-len(matrix) // width)
        size = 1 << (-(-tokens // ways) - 1).bit_length()
        grad_hidden = torch.zeros_like(hidden)
        grad_matrix = torch.zeros_like(matrix) if matrix.requires_grad else None
        losses = torch.zeros(tokens, dtype=torch.float32)
        for start in range(0, tokens, size):
            piece = hidden[start : start + size]
            logits = piece @ matrix.t()
            for row, target in zip(logits, targets[start : start + size], strict=True):
                lse = row.float().logsumexp(-1)
                losses[start] += (lse - row[target]).item()
                row.sub_(lse).exp_()
                row[target] -= 1
            logits.mul_(1 / tokens)
            grad_hidden[start : start + size] = logits @ matrix
            if grad_matrix is not None:
                grad_matrix += torch.mm(logits.t(), piece).float()
        ctx.save_for_backward(grad_hidden, grad_matrix)
        return losses.sum() / tokens

    @staticmethod
    def backward(ctx: Any, *_gradients: torch.Tensor) -> Any:
        return (*ctx.saved_tensors, None)


def step(network: Any, tokens: torch.Tensor) -> torch.Tensor:
    hidden = network.model(tokens, use_cache=False)[0].view(-1, SHAPE.hidden)
    loss: torch.Tensor = FusedLinearLoss.apply(hidden, network.lm_head.weight, tokens.view(-1))  # type: ignore[no-untyped-call]
    return loss


def measured(network: Any, passes: int, *, autocast: bool) -> tuple[int, int]:
    """Bytes kept for the backward pass, and the most in a second step, without an update."""
    tokens = torch.zeros(BATCH, SEQUENCE, dtype=torch.long)
    kept = kept_by(network, lambda: step(network, tokens), autocast=autocast)
    with Storages([*network.parameters(), *network.buffers()]) as storages:
        for _step in range(2):
            storages.peak = storages.now
            for parameter in network.parameters():
                parameter.grad = None
            for _pass in range(passes):
                with autocasting(enabled=autocast):
                    loss = step(network, tokens)
                loss.backward()  # type: ignore[no-untyped-call]
                del loss
    return kept, int(storages.peak)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("method", ["full", "tied", "lora"])
@pytest.mark.parametrize("precision", ["bf16", "fp32", "amp-bf16"])
def test_a_fused_linear_loss_keeps_both_gradients_and_one_piece_of_logits(
    precision: str, method: str, passes: int
) -> None:
    shape = replace(SHAPE, tied=method == "tied")
    network = llama(shape, torch.bfloat16 if precision == "bf16" else torch.float32)
    words: dict[str, Any] = {}
    if method == "lora":
        network = with_adapters(network, "all-linear").base_model.model
        words = {"method": "lora", "lora_rank": 4, "base_format": "16-bit" if precision == "bf16" else "fp32"}
    kept, peak = measured(network, passes, autocast=precision == "amp-bf16")
    ledger = training_memory(
        shape, batch=BATCH, sequence=SEQUENCE, backend="cpu", precision=precision, optimizer="sgd", update="fused",
        loss="fused-linear", accumulate=passes, **words,
    )  # fmt: skip
    assert ledger.saved_bytes == kept
    if method == "lora":  # the peak is elsewhere: in backward passes, whose own tests are in `test_peak_of_adapters`
        assert ledger.allocated_peak == pytest.approx(peak, rel=0.04)
        return
    assert ledger.peak.name == "forward, loss"
    # The token numbers, which the embedding keeps too, and a few scalars.
    assert abs(ledger.allocated_peak - peak) <= 8 * BATCH * SEQUENCE + 100


def test_pieces_are_the_published_powers_of_two() -> None:
    """Liger's own example: 16,384 tokens, 32,000 words and 4,096 columns make eight pieces of 2,048 tokens."""
    assert power_of_two(16_384, -(-32_000 // 4_096)) == 2_048
    assert [power_of_two(tokens, 8) for tokens in (1, 7, 9, 17, 100)] == [1, 1, 2, 4, 16]
    assert power_of_two(3, 1) == 3


def test_a_fused_linear_loss_takes_less_memory_and_little_more_time() -> None:
    words: dict[str, Any] = {"batch": 4, "sequence": 2048, "precision": "bf16"}
    full, linear = (estimate("llama3-8b", "h200", loss=loss, **words) for loss in ("full", "fused-linear"))
    assert linear.memory_bytes.allocated_peak < full.memory_bytes.allocated_peak
    assert linear.flops == full.flops
    assert 0.8 < linear.time.step_s / full.time.step_s < 1.1


@pytest.mark.parametrize(
    "words", [{"execution": "compiled"}, {"metrics": 1}, {"logits": "fp32"}, {"keep_logits": True}, {"tp": 2}], ids=str
)
def test_what_needs_whole_logits_is_refused(words: dict[str, Any]) -> None:
    with pytest.raises(EngineError, match="fused-linear"):
        setup("llama3-8b", loss="fused-linear", **words)
