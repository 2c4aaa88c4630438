"""The step's peak against PyTorch's own memory tracker, which follows every storage through a whole training step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from gpu_bench.measure.gpt2 import GPT2, GPT2Config
from ironlaw import Transformer, training_memory

# The tracker warns about gradients that hooks have already freed and about code outside modules; both are meant.
pytestmark = pytest.mark.filterwarnings("ignore:Module is None", "ignore:Expected a tensor")

Run = Callable[[GPT2, torch.Tensor], torch.Tensor]

SHAPES = {
    # Where the peak falls depends on the shape: a large vocabulary puts it at the loss, a small one in the blocks, a
    # small batch at the embedding's gradient or the update.
    "loss": (Transformer("t", 3, 128, 4, 20_000, 512), 4, 512),
    "blocks": (Transformer("t", 4, 256, 4, 300, 512), 8, 512),
    "update": (Transformer("t", 3, 256, 4, 8_000, 512), 1, 32),
}


def whole(network: GPT2, tokens: torch.Tensor) -> torch.Tensor:
    loss: torch.Tensor = network(tokens, torch.zeros_like(tokens))[1]
    return loss


def checkpointed(every: int) -> Run:
    def run(network: GPT2, tokens: torch.Tensor) -> torch.Tensor:
        x = _embed(network, tokens)
        blocks = list(network.blocks)
        for start in range(0, len(blocks), every):
            x = checkpoint(torch.nn.Sequential(*blocks[start : start + every]), x, use_reentrant=False)
        return _loss(network, network.ln_f(x), torch.zeros_like(tokens))

    return run


def chunked(chunks: int) -> Run:
    def run(network: GPT2, tokens: torch.Tensor) -> torch.Tensor:
        x = _embed(network, tokens)
        for block in network.blocks:
            x = block(x)
        x, targets, size = network.ln_f(x), torch.zeros_like(tokens), -(-tokens.shape[1] // chunks)
        pieces = zip(torch.split(x, size, dim=1), torch.split(targets, size, dim=1), strict=True)
        losses = [checkpoint(_loss, network, piece, target, use_reentrant=False) for piece, target in pieces]
        return torch.stack(losses).mean()

    return run


def _embed(network: GPT2, tokens: torch.Tensor) -> torch.Tensor:
    positions = torch.arange(tokens.shape[1])
    out: torch.Tensor = network.drop(network.wte(tokens) + network.wpe(positions))
    return out


def _loss(network: GPT2, x: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    logits = functional.linear(x, network.lm_head.weight)  # the tracker allows each module one call a step
    return functional.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))


def tracked_peak(
    shape: Transformer,
    batch: int,
    sequence: int,
    precision: str,
    optimizer: Callable[[Any], torch.optim.Optimizer],
    run: Run = whole,
    *,
    attention: Any = "flash",
    dropout: float = 0.0,
    accumulate: int = 1,
) -> int:
    """Bytes at the peak of the second training step, when optimizer states exist."""
    with FakeTensorMode():
        network = _network(shape, precision, attention, dropout)
        updater = optimizer(network.parameters())
        tokens = torch.zeros(batch, sequence, dtype=torch.long)
        tracker = MemTracker()
        tracker.track_external(network, updater, tokens)
        with tracker:
            for _step in range(2):
                for _ in range(accumulate):
                    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=precision == "amp-bf16"):
                        loss = run(network, tokens)
                    loss.backward()  # type: ignore[no-untyped-call]
                    del loss
                    tracker.reset_mod_stats()
                updater.step()
                updater.zero_grad(set_to_none=True)
        (snapshot,) = tracker.get_tracker_snapshot("peak").values()
        return int(snapshot["Total"])


def _network(shape: Transformer, precision: str, attention: Any, dropout: float) -> GPT2:
    config = GPT2Config(
        layers=shape.layers, heads=shape.heads, hidden=shape.hidden, vocab=shape.vocab, max_seq=shape.max_seq,
        dropout=dropout, attention=attention,
    )  # fmt: skip
    torch.set_default_dtype(torch.bfloat16 if precision == "bf16" else torch.float32)
    try:
        return GPT2(config).train()
    finally:
        torch.set_default_dtype(torch.float32)


def adamw(parameters: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parameters, foreach=True)


@pytest.mark.parametrize("precision", ["fp32", "bf16", "amp-bf16"])
@pytest.mark.parametrize("where", SHAPES)
@pytest.mark.sampled(2)
def test_the_peak_is_pytorchs_wherever_it_falls(where: str, precision: str) -> None:
    shape, batch, sequence = SHAPES[where]
    ledger = training_memory(
        shape, optimizer="adamw", precision=precision, batch=batch, sequence=sequence, backend="cpu", update="foreach"
    )
    assert ledger.allocated_peak == pytest.approx(tracked_peak(shape, batch, sequence, precision, adamw), rel=0.005)


@pytest.mark.parametrize("precision", ["fp32", "amp-bf16"])
@pytest.mark.parametrize("every", [1, 2, 3])
@pytest.mark.sampled(3)
def test_the_peak_under_checkpointing_is_pytorchs(every: int, precision: str) -> None:
    shape, batch, sequence = SHAPES["blocks"]
    ledger = training_memory(
        shape, optimizer="adamw", precision=precision, batch=batch, sequence=sequence,
        checkpointing=f"every:{every}", backend="cpu", update="foreach",
    )  # fmt: skip
    measured = tracked_peak(shape, batch, sequence, precision, adamw, checkpointed(every))
    assert ledger.allocated_peak == pytest.approx(measured, rel=0.02)


def holding_logits(network: GPT2, tokens: torch.Tensor) -> torch.Tensor:
    """A loop that keeps all of the model's output until the backward pass is over."""
    logits, loss = network(tokens, torch.zeros_like(tokens))
    loss.held = logits
    return loss  # type: ignore[no-any-return]


@pytest.mark.parametrize("precision", ["fp32", "bf16", "amp-bf16"])
def test_logits_that_a_loop_holds_are_there_in_the_backward_pass(precision: str) -> None:
    shape, batch, sequence = SHAPES["loss"]
    words: dict[str, Any] = {
        "optimizer": "adamw", "precision": precision, "batch": batch, "sequence": sequence, "backend": "cpu",
        "update": "foreach",
    }  # fmt: skip
    held = training_memory(shape, keep_logits=True, **words)
    measured = tracked_peak(shape, batch, sequence, precision, adamw, holding_logits)
    assert held.allocated_peak == pytest.approx(measured, rel=0.005)
    assert held.allocated_peak > 1.05 * training_memory(shape, **words).allocated_peak


@pytest.mark.parametrize("precision", ["fp32", "amp-bf16"])
def test_the_peak_with_a_chunked_loss_is_pytorchs(precision: str) -> None:
    shape, batch, sequence = SHAPES["loss"]
    ledger = training_memory(
        shape, optimizer="adamw", precision=precision, batch=batch, sequence=sequence, loss="chunked:4",
        backend="cpu", update="foreach",
    )  # fmt: skip
    measured = tracked_peak(shape, batch, sequence, precision, adamw, chunked(4))
    assert ledger.allocated_peak == pytest.approx(measured, rel=0.01)


@pytest.mark.parametrize("where", ["blocks", "update"])
def test_accumulated_gradients_are_there_during_the_forward_pass(where: str) -> None:
    shape, batch, sequence = SHAPES[where]
    ledger = training_memory(
        shape,
        optimizer="adamw",
        batch=batch,
        sequence=sequence,
        accumulate=2,
        backend="cpu",
        update="foreach",
        precision="fp32",
    )
    measured = tracked_peak(shape, batch, sequence, "fp32", adamw, accumulate=2)
    assert ledger.allocated_peak == pytest.approx(measured, rel=0.005)


@pytest.mark.parametrize(
    ("name", "update", "make"),
    [
        ("sgd", "foreach", lambda p: torch.optim.SGD(p, lr=0.1, foreach=True)),
        ("momentum", "foreach", lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, foreach=True)),
        ("rmsprop", "foreach", lambda p: torch.optim.RMSprop(p, foreach=True)),
        ("rmsprop", "for-loop", lambda p: torch.optim.RMSprop(p, foreach=False)),
        ("adam", "foreach", lambda p: torch.optim.Adam(p, foreach=True)),
        ("adam", "for-loop", lambda p: torch.optim.Adam(p, foreach=False)),
        ("adam", "fused", lambda p: torch.optim.Adam(p, fused=True)),
    ],
)
@pytest.mark.sampled(2)
def test_the_update_makes_the_temporaries_of_pytorchs_implementation(
    name: str, update: str, make: Callable[[Any], torch.optim.Optimizer]
) -> None:
    shape = Transformer("t", 6, 256, 4, 64, 512)  # a small table, so that the update is the peak
    ledger = training_memory(shape, optimizer=name, batch=1, sequence=8, backend="cpu", update=update, precision="fp32")
    measured = tracked_peak(shape, 1, 8, "fp32", make)
    assert ledger.allocated_peak == pytest.approx(measured, rel=0.005)


@pytest.mark.parametrize("where", SHAPES)
def test_the_peak_of_updating_during_backward_is_pytorchs(where: str) -> None:
    shape, batch, sequence = SHAPES[where]
    with FakeTensorMode():
        network = _network(shape, "fp32", "flash", 0.0)
        updaters = {p: torch.optim.AdamW([p], foreach=False) for p in network.parameters()}

        def update(parameter: torch.Tensor) -> None:
            updaters[parameter].step()  # type: ignore[index]
            updaters[parameter].zero_grad(set_to_none=True)  # type: ignore[index]

        for parameter in network.parameters():
            parameter.register_post_accumulate_grad_hook(update)  # type: ignore[no-untyped-call]
        tokens, tracker = torch.zeros(batch, sequence, dtype=torch.long), MemTracker()
        tracker.track_external(network, *updaters.values(), tokens)
        with tracker:
            for _step in range(2):
                loss = whole(network, tokens)
                loss.backward()  # type: ignore[no-untyped-call]
                del loss
                tracker.reset_mod_stats()
        (snapshot,) = tracker.get_tracker_snapshot("peak").values()
    ledger = training_memory(
        shape,
        optimizer="adamw",
        batch=batch,
        sequence=sequence,
        optimizer_in_backward=True,
        backend="cpu",
        precision="fp32",
    )
    assert ledger.allocated_peak == pytest.approx(snapshot["Total"], rel=0.015)


def test_dropout_and_standard_attention_peak_is_pytorchs() -> None:
    shape, batch, sequence = SHAPES["blocks"]
    ledger = training_memory(
        shape, optimizer="adamw", batch=batch, sequence=sequence, attention="standard", dropout=0.1, backend="cpu",
        update="foreach",
        precision="fp32",
    )  # fmt: skip
    measured = tracked_peak(shape, batch, sequence, "fp32", adamw, attention="standard", dropout=0.1)
    assert ledger.allocated_peak == pytest.approx(measured, rel=0.005)


def test_fp32_adamw_peaks_at_twenty_bytes_a_parameter_in_the_foreach_update() -> None:
    ledger = training_memory(
        "gpt2", optimizer="adamw", batch=1, sequence=8, backend="cpu", update="foreach", precision="fp32"
    )
    assert ledger.peak.name == "optimizer step"
    assert ledger.allocated_peak / 124_439_808 == pytest.approx(20, abs=0.01)


def test_fp32_adamw_peaks_at_eighteen_and_a_half_without_foreach_for_the_tied_table() -> None:
    """Three copies of the shared table's gradient are alive at once: the head's half, the embedding's, their sum."""
    ledger = training_memory(
        "gpt2", optimizer="adamw", batch=1, sequence=8, backend="cpu", update="fused", precision="fp32"
    )
    assert ledger.peak.name == "backward, embedding"
    assert ledger.allocated_peak / 124_439_808 == pytest.approx(18.48, abs=0.01)
