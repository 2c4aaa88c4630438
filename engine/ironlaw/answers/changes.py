"""Changes that make training need less memory: what each does to a configuration, and what it gives up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ironlaw.config.checks import require_possible
from ironlaw.config.choices import Attention
from ironlaw.config.optimizers import optimizer
from ironlaw.config.resolved import Setup
from ironlaw.core.errors import EngineError
from ironlaw.core.units import Count
from ironlaw.graph.checkpointing import checkpointing, sqrt_placement
from ironlaw.hardware.cluster import cluster
from ironlaw.numerics.precision import precision

CHUNKS = (8, 16, 32, 64, 128, 256)
"""Numbers of pieces of a chunked loss that are tried. Fewer pieces mean larger and faster products, and eight are
enough to make the logits small beside the rest, unless sequences are very long."""
MOST_MICRO_BATCHES = 1_000_000
"""Micro-batches of a step that a command line takes."""
FUSED_UPDATES = ("sgd", "momentum", "adam", "adamw")
"""Optimizers of PyTorch 2.13 that take `fused=True` on CUDA."""
MOST_DEVICES = 64
SCALES = ("loss", "batch")
"""Knobs whose changes are grades of one change: more pieces of the loss, or more and smaller micro-batches."""


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a knob, of which a configuration takes at most one.

    Those of a knob in `SCALES` come in order: each needs less memory than the one before it.

    Attributes:
        option: How to ask for it on the command line.
        apply: The changed configuration.
        gives_up: What it costs besides time, in words; empty where training computes the same numbers, up to rounding.
        safe: Whether training is known to converge as before. Pure 16-bit loses small updates.
    """

    option: str
    apply: Callable[[Setup], Setup]
    gives_up: str = ""
    safe: bool = True

    @property
    def knob(self) -> str:
        """What it turns: the first option, without its dashes."""
        return self.option.split()[0].removeprefix("--")


def changes(c: Setup) -> tuple[Change, ...]:
    """Every change that a configuration leaves open on its devices."""
    every = (*_kernels(c), *_formats(c), *_recomputing(c), *_batches(c), *_states(c), *_divided(c))
    return tuple(change for change in every if allowed(change.apply(c)))


def _with(part: str = "", **fields: Any) -> Callable[[Setup], Setup]:
    """A function that replaces fields of a setup, or of one of its parts."""
    return lambda s: replace(s, **({part: replace(getattr(s, part), **fields)} if part else fields))


def _kernels(c: Setup) -> Iterator[Change]:
    if c.attention.kernel == "standard":
        yield Change("--attention flash", _with(attention=Attention("flash")))
    if c.framework.name == "torch" and c.update.kind != "fused" and c.optimizer.name in FUSED_UPDATES:
        yield Change("--update fused", _with("update", kind="fused"))


def _formats(c: Setup) -> Iterator[Change]:
    short = c.chip.short_format
    if short is None or c.precision.name in ("bf16", "fp16"):
        return
    if c.precision.name == "fp32":
        mixed = _with(precision=precision(f"amp-{short}"))
        yield Change(f"--precision amp-{short}", mixed, "products and most activations in 16 bit")
    lost = "weights and states in 16 bit: an update below half the spacing of two numbers is lost"
    yield Change(f"--precision {short}", _with(precision=precision(short)), lost, safe=False)


def _recomputing(c: Setup) -> Iterator[Change]:
    for chunks in CHUNKS:
        if c.loss.chunks < chunks <= c.sequence:
            yield Change(f"--loss chunked:{chunks}", _with("loss", chunks=chunks))
    segment = sqrt_placement(c.model.layers)
    names = ["selective"] if c.checkpointing.kind == "none" else []
    if len(c.model.kinds) == 1:
        names += [f"every:{length}" for length in sorted({2, segment, 2 * segment}) if 1 < length < c.model.layers]
    for name in (*names, "full"):
        if checkpointing(name) != c.checkpointing:
            yield Change(f"--checkpointing {name}", _with(checkpointing=checkpointing(name)))


def _batches(c: Setup) -> Iterator[Change]:
    """Smaller micro-batches, and proportionally more of them, so that a step trains on as many sequences as before."""
    if c.update.in_backward:
        return
    more = "--accumulate" if c.layout.pipeline == 1 else "--micro-batches"
    for times in range(2, c.batch + 1):
        if c.batch % times == 0 and c.micro_batches * times <= MOST_MICRO_BATCHES:
            batch, count = c.batch // times, c.micro_batches * times
            yield Change(f"--batch {batch} {more} {count}", _cut(batch, count))


def _cut(batch: Count, micro_batches: Count) -> Callable[[Setup], Setup]:
    return lambda s: _with("layout", micro_batches=micro_batches)(s.at(batch, s.sequence))


def _states(c: Setup) -> Iterator[Change]:
    if c.optimizer.name in ("adam", "adamw"):
        yield Change("--optimizer adamw-8bit", _with(optimizer=optimizer("adamw-8bit")), "states in 8 bit")
    if c.micro_batches == 1 and not c.update.in_backward and c.update.offload != "gradients":
        lost = "no clipping by the gradients' global norm"
        yield Change("--optimizer-in-backward", _with("update", in_backward=True), lost)
    if c.update.offload == "none" and c.host_link:
        for what in ("optimizer", "gradients"):
            yield Change(f"--offload {what}", _with("update", offload=what))


def _divided(c: Setup) -> Iterator[Change]:
    """More of the state and of the activations divided among the devices that are there."""
    if c.layout.data > 1:
        for zero in range(c.layout.zero + 1, 4):
            yield Change(f"--zero {zero}", _with("layout", zero=zero))
    if c.layout.tensor > 1 and not c.layout.sequence_parallel:
        yield Change("--sequence-parallel", _with("layout", sequence_parallel=True))


def more_devices(c: Setup) -> Iterator[Change]:
    """Data parallelism over more devices, with ever more of the model's state divided among them."""
    if not c.chip.links:
        return
    joined = c.cluster or cluster(c.chip)
    data = 2 * c.layout.data
    while data * c.layout.tensor * c.layout.pipeline <= MOST_DEVICES:
        for zero in range(max(c.layout.zero, 1), 4):
            apply = _with(layout=replace(c.layout, data=data, zero=zero), cluster=joined)
            yield Change(f"--dp {data} --zero {zero}", apply, f"{data // c.layout.data} times the devices")
        data *= 2


def allowed(c: Setup) -> bool:
    """Whether a changed configuration's choices go together."""
    try:
        require_possible(c)
    except EngineError:
        return False
    return True
