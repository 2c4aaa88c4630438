"""The fullest moment of the step: what is there besides the tensors that the ledger names, each with its sum.

A ledger's components are what each takes at its largest; at the peak some of it is gone, and some is there for a moment
only: layers that FSDP has gathered, gradients on their way to other devices, 16-bit copies of weights, and what the
operation of that moment reads and makes. The lines of this module and the components add up to the peak, to the byte.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from ironlaw.answers.explanation import formula
from ironlaw.config.layout import Stage
from ironlaw.config.resolved import Setup, stage_sections
from ironlaw.core.sizes import NOTHING, Size, as_size, total
from ironlaw.core.units import Bytes, Count
from ironlaw.graph.partitioner import compiled
from ironlaw.memory.fully_sharded import FullySharded, fully_sharded, groups
from ironlaw.memory.ledger import busiest, memory_plans
from ironlaw.memory.liveness import cached_casts
from ironlaw.memory.static import stored_formats
from ironlaw.memory.tensors import EVALUATION, REFERENCE, ROLLOUT, Candidate, MemoryLedger, MemoryPlan

Kind = Literal["weights", "gradients", "temporary"]
MOMENTARY = ("gathered", "buckets")
"""Components that PyTorch's FSDP has at some moments only."""
_GATHERED: dict[str, tuple[Kind, str]] = {
    "root": ("weights", "gathered: embedding, last norm and head"),
    "block": ("weights", "gathered: a layer"),
    "block_reduction": ("gradients", "a layer's gradients on their way to other cards (reduce-scatter)"),
    "root_gradients": ("gradients", "gradients of embedding and head, whole and on their way"),
    "head_gradient": ("gradients", "gradient of the head, whole"),
}
"""Fields of `FullySharded`: what kind of memory, and what it is."""


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes that are there at the peak and that no component names.

    Attributes:
        kind: What they are.
        name: In words.
        formula: How they are counted.
        bytes: Negative where parts of components are not there at the peak.
        lacks: The components of which parts may be missing, those that are gone first; where bytes are negative.
        dtype: The format of weights and gradients.
    """

    kind: Kind
    name: str
    formula: str
    bytes: Bytes
    lacks: tuple[str, ...] = ()
    dtype: str = ""


@dataclass(frozen=True, slots=True)
class Peak:
    """The fullest moment of a step, or another one.

    Attributes:
        moment: Its name, as in `MemoryLedger.moments`.
        components: Bytes of the ledger's components that are counted whole: all but those of `MOMENTARY` under FSDP.
        parts: The rest. They and the components add up to the allocated peak.
    """

    moment: str
    components: dict[str, Bytes]
    parts: tuple[Part, ...]

    def of(self, kind: Kind) -> Bytes:
        """Bytes of the parts of a kind."""
        return sum(part.bytes for part in self.parts if part.kind == kind)


def peak(c: Setup, batch: Count | None = None, sequence: Count | None = None) -> Peak:
    """What is allocated at the fullest moment of the busiest device's step.

    Args:
        c: The setup.
        batch: Sequences of the micro-batch; those of the setup when None.
        sequence: Tokens of a sequence; those of the setup when None.
    """
    plans = memory_plans(c)
    ledger = busiest(plans, batch or c.batch, c.own(sequence or c.sequence))
    return _at(c, plans, ledger, _highest(ledger, ledger.plan.front))


def moments(c: Setup) -> tuple[Peak, ...]:
    """The same of every moment of the step at which memory may peak, in their order; the fullest is `peak`."""
    plans = memory_plans(c)
    ledger = busiest(plans, c.batch, c.own_sequence)
    named: dict[str, list[Candidate]] = {}
    for one in ledger.plan.candidates:
        named.setdefault(one.moment, []).append(one)
    return tuple(_at(c, plans, ledger, _highest(ledger, ones)) for ones in named.values())


def _highest(ledger: MemoryLedger, candidates: Sequence[Candidate]) -> Candidate:
    piece = ledger.plan.piece(ledger.batch, ledger.sequence)
    return max(candidates, key=lambda one: one.bytes(ledger.batch, ledger.sequence, piece))


def _at(c: Setup, plans: tuple[MemoryPlan, ...], ledger: MemoryLedger, highest: Candidate) -> Peak:
    """What is allocated at a moment of the step of the busiest device."""
    plan, batch, sequence = ledger.plan, ledger.batch, ledger.sequence
    piece = plan.piece(batch, sequence)
    components = ledger.bytes_by_component()
    if c.fully_sharded:
        components = {name: size for name, size in components.items() if name not in MOMENTARY}
    place = next(at for at, one in enumerate(plans) if one is plan)
    named = _named(c.anywhere, place, highest.moment)
    fixed = sum(plan.static_sums.get(name, 0) for name in components) + plan.workspace_bytes
    kept = total(size for name, size in plan.saved_sums.items() if name in components)
    gone = {name: plan.saved_sums[name] for name in _gone(c, highest.moment) if name in plan.saved_sums}
    rest = highest.whole + kept * -1 + total(gone.values()) + as_size(-fixed - sum(part.bytes for part in named))
    missing = (
        Part("temporary", f"{name} that are not there at this moment", f"{formula(size)} bytes", -there, (name,))
        for name, size in gone.items()
        if (there := size(batch, sequence))
    )
    return Peak(highest.moment, components, (*named, *missing, *_rest(ledger, rest, highest, piece)))


@lru_cache(maxsize=256)
def _named(c: Setup, place: int, moment: str) -> tuple[Part, ...]:
    """What FSDP and autocast have whole at a moment, on the stage of the plan at a place of `memory_plans`."""
    every = c.stages
    return tuple(_whole(c, [*dict.fromkeys((*every[:2], every[-1]))][place], moment))


def _whole(c: Setup, stage: Stage, moment: str) -> Iterator[Part]:
    whole = fully_sharded(c, stage)
    held = dict(zip(("root", "block"), groups(c, stage), strict=True))
    for field, (kind, name) in _GATHERED.items():
        each: Bytes = getattr(whole, field)
        ahead = whole.ahead if field == "block" else 0
        if each and (times := FullySharded(**{field: each}, ahead=ahead).at(moment) // each):
            kept = stored_formats(c, held[field]) if field in held else {c.gradients: each}
            count = f"{times} x " if times > 1 else ""
            for dtype, size in kept.items():
                said = f"{count}{size // dtype.bytes(1):,} x {dtype.bytes(1)} B ({dtype.name})"
                yield Part(kind, name, said, times * size, dtype=dtype.name)
    # Before the first layer has run there are none.
    through = moment.startswith("forward") and "first" not in moment
    if through and c.checkpointing.every and (copies := _copies(c, stage)):
        short = c.precision.compute.name
        yield Part("weights", "16-bit copies of all layers, which autocast keeps to the end of the forward pass",
                   f"{copies // 2:,} x 2 B ({short})", copies, dtype=short)  # fmt: skip


def _gone(c: Setup, moment: str) -> tuple[str, ...]:
    """Saved components of which nothing is there at a moment."""
    if moment in ("optimizer step", "last reduction"):
        return "casts", "activations", "logits"
    if moment.startswith((EVALUATION, ROLLOUT)):
        return ("casts",) * c.framework.compiled + ("activations", "logits")
    return () if "loss" in moment or c.loss.kept or moment.startswith(REFERENCE) else ("logits",)


def _copies(c: Setup, stage: Stage) -> Bytes:
    """Casts of the weights of a stage's blocks."""
    parts = (part for part in stage_sections(c, stage) if part.name == "block")
    if c.framework.compiled and not c.framework.by_hand:
        parts = (compiled(part) for part in parts)
    return sum(value.byte_size(1, 1) * part.count for part in parts for value in cached_casts(part))


def _rest(ledger: MemoryLedger, rest: Size, one: Candidate, at: tuple[Count, Count]) -> Iterator[Part]:
    """What has no name: what does not depend on the batch, and what does."""
    batch, sequence, piece = ledger.batch, ledger.sequence, one.chunk
    fixed = Size(tuple(term for term in rest.terms if term[0] == (0, 0)))
    moving = Size(tuple(term for term in rest.terms if term[0] != (0, 0)))
    if size := fixed(1, 1):
        name = (
            "gradients and copies of the weights at work" if size > 0 else "gradients that are not there at this moment"
        )
        yield Part("temporary", name, f"{size:,} bytes", size, ("gradients", "casts"))
    if size := moving(batch, sequence):
        name = (
            "inputs and results of the operation of that moment"
            if size > 0
            else "activations and logits that are not there at this moment"
        )
        yield Part("temporary", name, f"{formula(moving)} bytes", size, ("activations", "logits"))
    if piece != NOTHING:
        said = f"{formula(piece)} bytes for {'B = 1, ' if ledger.plan.ways else ''}T = {at[1]:,}"
        yield Part("temporary", "a piece of the loss at work", said, piece(*at))
