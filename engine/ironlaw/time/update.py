"""The optimizer's step as traffic: which bytes it reads and writes, in one fused kernel or operation by operation."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache

from ironlaw.config.choices import Update
from ironlaw.config.layout import Stage
from ironlaw.config.optimizers import is_hidden
from ironlaw.config.resolved import Setup
from ironlaw.core.arrays import maximum
from ironlaw.core.units import Bytes, BytesPerSecond, Count, Flops, Seconds
from ironlaw.memory.static import is_expert, kept_between, static_tensors, trained_elements, trained_parameters
from ironlaw.models.transformer import Parameter
from ironlaw.time.gemm import sustained

PLAIN = Update("fused")
"""An update that changes nothing about what the optimizer holds."""

FOREACH_PASSES = {"sgd": 3, "momentum": 8, "rmsprop": 13, "adam": 18, "adamw": 20}
"""Reads and writes of a parameter-sized tensor in PyTorch's `foreach` implementations, counted from their source.

AdamW: decay (2), first moment (3), second moment (2 + 3), root (2), divide (2), epsilon (2), update (4).
"""

NEWTON_SCHULZ_STEPS: Count = 5
"""Steps of Muon's iteration: `ns_steps` of `torch.optim.Muon`."""

FOREACH_LAUNCHES: Count = 12
"""Kernels per list of tensors of a `foreach` step, of the order of the operations above."""

HOST_MEMORY: BytesPerSecond = 50e9
"""Bytes per second at which a host's processor updates parameters. An assumption: two channels of DDR5 at 60 %."""


def update_time(c: Setup, stage: Stage) -> tuple[Seconds, Count]:
    """Seconds of traffic of the optimizer's step on a device of a stage, and its kernels; 0 where the host updates."""
    if c.update.offload != "none":
        return 0.0, 0
    # bitsandbytes updates quantized states in one kernel a tensor, whatever PyTorch's own optimizers do.
    quantized = any(state.form == "quantized" for state in c.optimizer.states)
    fused = quantized or c.update.kind == "fused"
    launches = 1 if fused else FOREACH_LAUNCHES
    if quantized or c.update.in_backward or c.update.kind == "for-loop":
        launches *= sum(p.count for p in trained_parameters(c, stage))
    seconds = update_bytes(c, stage, fused=fused) / c.chip.streaming
    if c.optimizer.by_matrix:
        orthogonal = sum(newton_schulz_flops(p) * p.count for p in trained_parameters(c, stage) if is_hidden(p))
        seconds += orthogonal / (c.layout.peers if c.layout.zero else 1) / sustained(c.chip, c.precision.compute.name)
    return seconds, launches


def newton_schulz_flops(p: Parameter) -> Flops:
    """FLOPs that bring the singular values of a matrix near one: five steps of three products (`torch.optim.Muon`)."""
    short, long = min(p.shape), max(p.shape)
    return NEWTON_SCHULZ_STEPS * (4 * short**2 * long + 2 * short**3)


@lru_cache(maxsize=4096)
def update_bytes(c: Setup, stage: Stage, *, fused: bool) -> Bytes:
    """Bytes that one optimizer step moves on one device of a stage, wherever the states live.

    Fused: gradients are read; parameters (or the master copy) and states are read and written; with a master copy the
    working weights are written too. Otherwise PyTorch's `foreach`, which passes over memory once per operation. With
    ZeRO every device updates only what it holds the states of.

    Args:
        c: The setup.
        stage: One of its stages.
        fused: Whether one kernel does the whole update.
    """
    sums: Counter[str] = Counter()
    zero, peers = c.layout.zero, c.layout.peers
    divided = {"parameters": peers if zero in (1, 2) else 1, "gradients": peers if zero == 1 else 1}
    plain = not c.update.in_backward and c.update.offload == "none"  # which kernels update changes nothing either
    for tensor in static_tensors(c if plain or c.update.buffers else replace(c, update=PLAIN), stage):
        # Where gradients are summed apart, the update reads the sums alone.
        apart = c.precision.accumulation and tensor.component == "gradients" and tensor.part != "sum"
        if not apart and tensor.part not in ("frozen", "quantized", "reference"):
            # Of experts, fewer devices divide what is whole on each.
            wide = divided.get(tensor.component, 1) > 1 and is_expert(tensor.name)
            sums[tensor.component] += tensor.bytes * (c.layout.expert if wide else 1)
    weights, gradients = (sums[name] // shares for name, shares in divided.items())
    updated = sums["master"] or weights
    once = gradients + 2 * updated + 2 * sums["optimizer"] + (weights if sums["master"] else 0)
    if fused:
        return once
    return max(once, FOREACH_PASSES.get(c.optimizer.name, FOREACH_PASSES["adamw"]) * updated)


def away_seconds(c: Setup, moved: Bytes, forward: Seconds, backward: Seconds) -> Seconds:
    """Seconds that a device waits for inputs of blocks on their way to its host and back, beside its work.

    Args:
        c: The setup.
        moved: Bytes that leave in a step's forward passes, and come back in its backward passes.
        forward: Seconds of the forward passes of a step.
        backward: Seconds of its backward passes, with what is computed again.
    """
    if c.host_link is None:
        return 0.0
    each = moved / c.host_link.achievable
    return maximum(each - forward, 0.0) + maximum(each - backward, 0.0)


def offload_seconds(c: Setup, stage: Stage, backward: Seconds) -> Seconds:
    """Seconds per step that a device waits for its host: gradients out, the update there, weights back in.

    Gradients that are offloaded as they appear travel while the backward pass runs; the others follow it. All devices
    of a node share the host's memory.

    Args:
        c: The setup.
        stage: The pipeline stage.
        backward: Seconds of the backward passes of a step.

    Source of the scheme: Ren et al. 2021, "ZeRO-Offload", arXiv 2101.06840, section 4.
    """
    if c.update.offload == "none" or c.host_link is None:
        return 0.0
    shares = c.layout.peers if c.layout.zero >= 1 else 1
    elements = -(-trained_elements(c, stage) // shares)
    rate = c.host_link.achievable
    out = c.gradients.bytes(elements) / rate
    if c.update.offload in ("gradients", "shards"):
        out = max(out * c.micro_batches - backward, 0.0)
    neighbors = min(c.devices, c.cluster.node_size) if c.cluster else 1
    update = update_bytes(c, stage, fused=True)
    # Weights that live there are fetched as they are needed (`fetch_seconds`).
    back = 0 if c.update.weights_away else c.trained_weights.bytes(elements)
    return out + neighbors * update / HOST_MEMORY + back / rate


def fetch_seconds(c: Setup, stage: Stage, passes: Count, forward: Seconds, backward: Seconds) -> Seconds:
    """Seconds per step that a device waits for weights that live in the host's memory, beside its work.

    Each device fetches its share for every forward and every backward pass, but for what stays between the two.

    Args:
        c: The setup.
        stage: The pipeline stage.
        passes: Micro-batches of a step.
        forward: Seconds of the forward passes of a step.
        backward: Seconds of its backward passes, with what is computed again.
    """
    if not c.update.weights_away or c.host_link is None:
        return 0.0
    away = [t for t in static_tensors(c, stage) if t.component == "parameters" and t.place == "host"]
    size, elements = sum(t.bytes for t in away), sum(t.elements * t.count for t in away)
    each = size * passes / c.host_link.achievable
    shares = c.layout.peers if c.layout.zero == 3 else 1
    again = 1 - min(kept_between(c) / max(elements * shares, 1), 1) if c.update.buffers else 1
    return maximum(each - forward, 0.0) + maximum(each * again - backward, 0.0)
