"""The plan of a small device in part 3: it computes, writes down, exchanges what it learned, and begins again."""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw import accelerator
from ironlaw.training.noisy_quadratic import Guard

from .facts import Plan
from .small import Network, Work, account


@dataclass(frozen=True)
class Exchange:
    """What an update costs beside arithmetic.

    Attributes:
        bytes: Sent by each device for an update.
        rate: Bytes a second that the link leaves for training.
        latency: Seconds before anything arrives.
        fixed: Seconds of an update that are neither arithmetic nor network.
    """

    bytes: float
    rate: float
    latency: float
    fixed: float = 0.0


@dataclass(frozen=True)
class Update:
    """How an update is made: from how many samples, in which format, of which part of the network."""

    scope: str
    precision: str
    batch: int
    accumulate: int
    devices: int
    checkpointing: bool = False


def small_plan(
    net: Network,
    work: Work,
    exchange: Exchange,
    guard: Guard,
    update: Update,
) -> Plan:
    """One update: its micro-batches one after the other, then the exchange, which nothing hides."""
    scope, precision, batch, accumulate = update.scope, update.precision, update.batch, update.accumulate
    checkpointing = update.checkpointing
    chip, part = accelerator(net.device), net.scopes[scope]
    held = account(
        net, scope=scope, optimizer="momentum", precision=precision, batch=batch, checkpointing=checkpointing
    )
    short = chip.short_format
    converted = 1.5 if precision != "fp32" and short is None else 1.0
    peak = chip.peak("fp32" if precision == "fp32" else short or "fp32")
    flops = part.flops * batch * accumulate
    again = part.checkpointed().flops / part.flops if checkpointing else 1.0
    compute = flops * converted * again / (peak * work.reached(batch))
    network = exchange.bytes / exchange.rate + exchange.latency
    total = compute + network + exchange.fixed
    best = max(chip.peak("fp32"), chip.peak(short) if short else 0.0)
    step = {"compute": compute, "network": network} | ({"writing": exchange.fixed} if exchange.fixed else {})
    size = batch * accumulate * update.devices
    slower = {
        "arithmetic in a format that this chip computes more slowly": best / peak,
        "converting numbers that this chip cannot multiply as they are stored": converted,
        "computing activations again": again,
        "too few samples at once to keep the device at work": (batch + work.half) / batch,
    }
    waits = {"waiting for the network": network / total, "writing what was learned": exchange.fixed / total}
    lost = waits | {cause: (1 - 1 / times) * compute / total for cause, times in slower.items()}
    return Plan(flops / (total * best), network / total, held.need, held.limit, size, guard, step, lambda: lost)
