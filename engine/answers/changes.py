"""Changes that make training need less memory: what each does to a configuration, and what it gives up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from engine.config.checks import require_possible
from engine.config.choices import Attention, Loss
from engine.config.optimizers import optimizer
from engine.config.setup import Setup
from engine.core.errors import EngineError
from engine.core.units import Count
from engine.graph.checkpointing import checkpointing, sqrt_placement
from engine.hardware.cluster import cluster
from engine.numerics.precision import precision

CHUNKS = (8, 16, 32, 64, 128, 256)
"""Pieces of a chunked loss. Few keep products large: eight make the logits small beside the rest, unless sequences are
very long."""
MOST_MICRO_BATCHES = 1_000_000
"""Micro-batches of a step that a command line takes."""
FUSED_UPDATES = ("sgd", "momentum", "adam", "adamw")
"""Optimizers of PyTorch 2.13 that take `fused=True` on CUDA."""
MOST_DEVICES = 64
SCALES = ("loss", "batch")
"""Knobs whose changes are grades of one: ever more pieces of the loss, ever smaller micro-batches."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change.

    Attributes:
        knob: What it turns; a configuration takes at most one change of a knob. Those of a knob in `SCALES` come in
            order: each needs less memory than the one before it.
        option: How to ask for it on the command line.
        gives_up: What it costs besides time, in words; empty for nothing.
        safe: Whether training is known to converge as before. Pure 16-bit loses small updates.
        apply: The changed configuration.
    """

    knob: str
    option: str
    gives_up: str
    safe: bool
    apply: Callable[[Setup], Setup]


def changes(c: Setup) -> tuple[Change, ...]:
    """Every change that a configuration leaves open on its devices."""
    every = (*_kernels(c), *_formats(c), *_recomputing(c), *_batches(c), *_states(c), *_divided(c))
    return tuple(change for change in every if allowed(change.apply(c)))


def more_devices(c: Setup) -> tuple[Change, ...]:
    """Data parallelism over more devices, with ever more of the model's state divided among them."""
    return tuple(_devices(c))


def _kernels(c: Setup) -> Iterator[Change]:
    if c.attention.kernel == "standard":
        yield _same("attention", "--attention flash", lambda s: replace(s, attention=Attention("flash")))
    if c.framework.name == "torch" and c.update.kind != "fused" and c.optimizer.name in FUSED_UPDATES:
        yield _same("update", "--update fused", lambda s: replace(s, update=replace(s.update, kind="fused")))


def _formats(c: Setup) -> Iterator[Change]:
    formats = [peak.dtype for peak in c.chip.peaks]
    short = next((name for name in ("bf16", "fp16") if name in formats), None)
    if short is None or c.precision.name in ("bf16", "fp16"):
        return
    if c.precision.name == "fp32":
        mixed = precision(f"amp-{short}")
        text = "products and most activations in 16 bit"
        yield Change("precision", f"--precision amp-{short}", text, True, lambda s: replace(s, precision=mixed))
    pure = precision(short)
    yield Change(
        "precision",
        f"--precision {short}",
        "weights and states in 16 bit: an update below half the spacing of two numbers is lost",
        False,
        lambda s: replace(s, precision=pure),
    )


def _recomputing(c: Setup) -> Iterator[Change]:
    for chunks in CHUNKS:
        if c.loss.chunks < chunks <= c.sequence:
            cut = Loss(chunks, c.loss.metrics)
            yield _same(
                "loss",
                f"--loss {cut.name}",
                lambda s, cut=cut: replace(s, loss=cut),  # type: ignore[misc]
            )
    segment = sqrt_placement(c.model.layers)
    names = ["selective"] if c.checkpointing.kind == "none" else []
    names += [f"every:{length}" for length in sorted({2, segment, 2 * segment}) if 1 < length < c.model.layers]
    for name in (*names, "full"):
        other = checkpointing(name)
        if other != c.checkpointing:
            yield _same(
                "checkpointing",
                f"--checkpointing {other.name}",
                lambda s, other=other: replace(s, checkpointing=other),  # type: ignore[misc]
            )


def _batches(c: Setup) -> Iterator[Change]:
    """Smaller micro-batches, and so many more of them that a step trains on the same sequences."""
    if c.update.in_backward:
        return
    more = "--accumulate" if c.layout.pipeline == 1 else "--micro-batches"
    for times in range(2, c.batch + 1):
        if c.batch % times == 0 and c.micro_batches * times <= MOST_MICRO_BATCHES:
            batch = c.batch // times
            yield _same(
                "batch",
                f"--batch {batch} {more} {c.micro_batches * times}",
                lambda s, batch=batch, times=times: _split(s, batch, times),  # type: ignore[misc]
            )


def _split(s: Setup, batch: Count, times: Count) -> Setup:
    micro_batches = s.micro_batches * times
    return replace(s.at(batch, s.sequence), layout=replace(s.layout, micro_batches=micro_batches))


def _states(c: Setup) -> Iterator[Change]:
    if c.optimizer.name in ("adam", "adamw"):
        small = optimizer("adamw-8bit")
        text = "states in 8 bit"
        yield Change("optimizer", "--optimizer adamw-8bit", text, True, lambda s: replace(s, optimizer=small))
    if c.micro_batches == 1 and not c.update.in_backward and c.update.offload != "gradients":
        yield Change(
            "optimizer-in-backward",
            "--optimizer-in-backward",
            "no clipping by the gradients' global norm",
            True,
            lambda s: replace(s, update=replace(s.update, in_backward=True)),
        )
    if c.update.offload == "none" and c.host_link:
        for what in ("optimizer", "gradients"):
            yield _same(
                "offload",
                f"--offload {what}",
                lambda s, what=what: replace(s, update=replace(s.update, offload=what)),  # type: ignore[misc]
            )


def _divided(c: Setup) -> Iterator[Change]:
    """More of the state and of the activations divided among the devices that are there."""
    if c.layout.data > 1:
        for zero in range(c.layout.zero + 1, 4):
            yield _same(
                "zero",
                f"--zero {zero}",
                lambda s, zero=zero: replace(s, layout=replace(s.layout, zero=zero)),  # type: ignore[misc]
            )
    if c.layout.tensor > 1 and not c.layout.sequence_parallel:
        yield _same(
            "sequence-parallel",
            "--sequence-parallel",
            lambda s: replace(s, layout=replace(s.layout, sequence_parallel=True)),
        )


def _devices(c: Setup) -> Iterator[Change]:
    if not c.chip.links:
        return
    joined = c.cluster or cluster(c.chip)
    data = 2 * c.layout.data
    while data * c.layout.tensor * c.layout.pipeline <= MOST_DEVICES:
        for zero in range(max(c.layout.zero, 1), 4):
            yield Change(
                "devices",
                f"--dp {data} --zero {zero}",
                f"{data // c.layout.data} times the devices",
                True,
                lambda s, data=data, zero=zero: replace(  # type: ignore[misc]
                    s, layout=replace(s.layout, data=data, zero=zero), cluster=joined
                ),
            )
        data *= 2


def _same(knob: str, option: str, apply: Callable[[Setup], Setup]) -> Change:
    """A change that gives up nothing: training computes the same numbers, up to rounding."""
    return Change(knob, option, "", True, apply)


def allowed(c: Setup) -> bool:
    """Whether a changed configuration's choices go together."""
    try:
        require_possible(c)
    except EngineError:
        return False
    return True
