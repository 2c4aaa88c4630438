"""Ways to write head and loss beside PyTorch's, by what a real step keeps and holds at its peak.

The references are plain PyTorch, written from the published code that `parts.head` names: they make the tensors that it
makes, in its order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch.nn import functional

from ironlaw import training_memory
from tests.engine.memory.adapted import LLAMA, llama, with_adapters
from tests.engine.memory.test_peak_of_adapters import Storages

SHAPE = replace(LLAMA, layers=2, hidden=64, ffn=160, vocab=5_000, max_seq=256)
BATCH, SEQUENCE = 2, 128
Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class FusedLoss(torch.autograd.Function):
    """Cross-entropy that keeps the logits and a log-sum-exp a row, and writes the gradient over the logits."""

    @staticmethod
    def forward(ctx: Any, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        lse, each = torch.empty(len(logits)), torch.empty(len(logits))
        for row in range(len(logits)):  # no tensor as large as the logits, and none as large as a row
            lse[row] = logits[row].logsumexp(-1)
            each[row] = lse[row] - logits[row, targets[row]]
        ctx.save_for_backward(logits, lse, targets)
        return each.mean()

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor, None]:
        logits, lse, targets = ctx.saved_tensors
        for row in range(len(logits)):
            logits[row].sub_(lse[row]).exp_()
            logits[row, targets[row]] -= 1
        return logits.mul_(gradients[0].item() / len(logits)), None


def plain(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(logits, targets)


def fused(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    loss: torch.Tensor = FusedLoss.apply(logits, targets)  # type: ignore[no-untyped-call]
    return loss


def as_they_are(logits: torch.Tensor, targets: torch.Tensor, loss: Loss) -> torch.Tensor:
    return loss(logits.view(-1, logits.size(-1)), targets.view(-1))


def cast(logits: torch.Tensor, targets: torch.Tensor, loss: Loss) -> torch.Tensor:
    """As transformers since 4.49."""
    logits = logits.float()
    logits = logits.view(-1, logits.size(-1))
    return loss(logits, targets.view(-1))


def shifted(logits: torch.Tensor, targets: torch.Tensor, loss: Loss) -> torch.Tensor:
    """As transformers from 4.46 to 4.48."""
    return moved(logits.float(), targets, loss)


def moved(logits: torch.Tensor, targets: torch.Tensor, loss: Loss) -> torch.Tensor:
    """All but the last token's logits, beside all but the first target."""
    rest, targets = logits[..., :-1, :].contiguous(), targets[..., 1:].contiguous()
    rest = rest.view(-1, logits.size(-1))
    return loss(rest, targets.view(-1))


def held(network: Any, tokens: torch.Tensor, prepare: Any, loss: Loss) -> torch.Tensor:
    """A model's function that hands its logits to a function for the loss."""
    hidden = network.model(tokens, use_cache=False)[0]
    logits = network.lm_head(hidden)
    made: torch.Tensor = prepare(logits, tokens, loss)
    return made


def early(network: Any, tokens: torch.Tensor, loss: Loss) -> torch.Tensor:
    """As transformers up to 4.45: the model's own function casts, and nothing holds what it has cast."""
    hidden = network.model(tokens, use_cache=False)[0]
    logits = network.lm_head(hidden).float()
    return shifted(logits, tokens, loss)


WAYS: dict[str, Callable[..., torch.Tensor]] = {
    "16-bit": lambda network, tokens, loss: held(network, tokens, as_they_are, loss),
    "16-bit-shifted": lambda network, tokens, loss: held(network, tokens, moved, loss),
    "fp32": lambda network, tokens, loss: held(network, tokens, cast, loss),
    "fp32-shifted": lambda network, tokens, loss: held(network, tokens, shifted, loss),
    "fp32-shifted-early": early,
}


def measured(run: Callable[[Any, torch.Tensor], torch.Tensor], network: Any) -> int:
    """Bytes at the peak of a second step, without an update."""
    tokens = torch.zeros(BATCH, SEQUENCE, dtype=torch.long)
    with Storages([*network.parameters(), *network.buffers()]) as storages:
        for _step in range(2):
            storages.peak = storages.now
            loss = run(network, tokens)
            loss.backward()  # type: ignore[no-untyped-call]
            del loss
            for parameter in network.parameters():
                parameter.grad = None
    return int(storages.peak)


@pytest.mark.parametrize("adapters", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", ["full", "fused"])
def test_the_peak_with_a_loss_is_that_of_the_storages(form: str, way: str, adapters: bool) -> None:
    network = llama(SHAPE, torch.bfloat16)
    words: dict[str, Any] = {}
    if adapters:
        network = with_adapters(network, "all-linear").base_model.model
        words = {"method": "lora", "lora_rank": 4}
    run = WAYS[way]
    loss = fused if form == "fused" else plain
    ledger = training_memory(
        SHAPE, batch=BATCH, sequence=SEQUENCE, backend="cpu", precision="bf16", optimizer="sgd", update="fused",
        loss=form, logits=way, **words,
    )  # fmt: skip
    peak = measured(lambda network, tokens: run(network, tokens, loss), network)
    assert ledger.peak.name.endswith("loss")
    # The token numbers, which the ledger counts with the embedding that keeps them, and a few scalars.
    assert abs(ledger.allocated_peak - peak) <= 8 * BATCH * SEQUENCE + 100
