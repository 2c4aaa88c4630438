"""Memory over the phases of a training, on three levels: allocated, reserved by the allocator, seen by the driver.

The step's own peak is the ledger's, counted. What the allocator reserves beyond it, and the other phases, come from
playing load, two steps and an evaluation against the allocator's published rules, tensor by tensor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ironlaw.config.resolved import Setup, require_no_arrays
from ironlaw.config.setup import as_setup
from ironlaw.core.errors import EngineError
from ironlaw.core.units import Bytes
from ironlaw.memory.allocator import CachingAllocator
from ironlaw.memory.ledger import beside, training_memory
from ironlaw.memory.requests import Player
from ironlaw.memory.tensors import EVALUATION, ROLLOUT
from ironlaw.models.transformer import Transformer


@dataclass(frozen=True, slots=True)
class Phase:
    """Memory of one phase.

    Attributes:
        name: `"load"`, `"first step"`, `"step"`, `"evaluation"` or `"save"`; `"rollout"` where texts are generated.
        allocated: The most that tensors take at once: `torch.cuda.max_memory_allocated`.
        reserved: The allocator's segments at its end: `torch.cuda.max_memory_reserved`. They are never given back.
        process: What the driver shows: the segments and the context.
    """

    name: str
    allocated: Bytes
    reserved: Bytes
    process: Bytes


@dataclass(frozen=True, slots=True)
class Phases:
    """Memory of a training, phase by phase.

    Attributes:
        phases: In the order of time.
        host: Bytes in the host's memory: what is offloaded or paged.
    """

    phases: tuple[Phase, ...]
    host: Bytes

    @property
    def peak(self) -> Phase:
        """The phase in which tensors take the most; the first of those that take as much."""
        return max(self.phases, key=lambda phase: phase.allocated)


def memory_phases(asked: Setup | str | Transformer | None = None, *words: Any, **choices: Any) -> Phases:
    """Memory over the phases of a training on one device, in eager PyTorch.

    Args:
        asked: A `Setup`, or the model of one.
        words: Further words of `ironlaw.setup`.
        choices: Further ones by name.

    Raises:
        EngineError: An unknown name, a value out of range, choices that exclude each other, or a setup whose
            sequence of requests is not known here: several devices, compiled code, a chunked loss, other checkpoints.
    """
    c = as_setup(asked, *words, **choices)
    require_no_arrays(c)
    require_played(c)
    ledger, allocator = training_memory(c), CachingAllocator()
    player = Player(c, allocator)
    found: dict[str, tuple[Bytes, Bytes]] = {}
    for name, run in player.phases():
        allocator.allocated_peak = allocator.allocated
        run()
        found[name] = allocator.allocated_peak, allocator.reserved
    # The ledger counts the step's peak; playing it says how much more the segments take.
    beyond = ledger.step_peak.bytes - found["step"][0]
    context = ledger.plan.context_bytes + beside(c)
    phases, least = [], 0
    for name, (allocated, reserved) in found.items():
        allocated += beyond if name.endswith("step") else 0
        reserved += 0 if name == "load" else beyond
        if name == EVALUATION and ledger.evaluation:
            allocated, least = ledger.evaluation.bytes, reserved + max(ledger.evaluation.bytes - allocated - beyond, 0)
        reserved = max(reserved, least)
        phases.append(Phase(name, allocated, reserved, reserved + context))
        if name == "first step" and ledger.rollout:  # of the second, which has optimizer states beside it
            least = max(reserved, ledger.rollout.bytes)
            phases.append(Phase(ROLLOUT, ledger.rollout.bytes, least, least + context))
    return Phases(tuple(phases), ledger.host_bytes)


def require_played(c: Setup) -> None:
    """Refuse a setup whose sequence of requests is not known here.

    Raises:
        EngineError: Several devices, compiled code, a chunked loss, or other checkpoints than none and all.
    """
    beside = {"phases": True}
    if c.devices > 1:
        name, ways = next(
            (n, w)
            for n, w in (("dp", c.layout.data), ("tp", c.layout.tensor), ("cp", c.layout.context), ("pp", 0))
            if w != 1
        )
        raise EngineError(name, ways or c.layout.pipeline, (1,), beside)
    for what, value, allowed in (
        ("execution", c.framework.execution, "eager"),
        ("loss", c.loss.name, "full"),
    ):
        if value != allowed:
            raise EngineError(what, value, (allowed,), beside)
    if c.update.buffers:
        raise EngineError("offload", c.update.offload, ("none", "optimizer"), beside)
    if c.update.in_backward:
        raise EngineError("optimizer_in_backward", True, (False,), beside)
    if c.checkpointing.name not in ("none", "full"):
        raise EngineError("checkpointing", c.checkpointing.name, ("none", "full"), beside)
