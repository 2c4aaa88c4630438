"""The charts' numbers as tables, and what each lever gains and costs."""

from __future__ import annotations

from dataclasses import replace

from explorable import live
from ironlaw import GB
from ironlaw.numerics.formats import BF16, FP32
from ironlaw.training.pipeline import buffer_bytes

from .pipeline import (
    BATCHES,
    DEVICE,
    LOADERS,
    LOADING,
    NAMES,
    PREFETCH_FACTOR,
    RECOMPUTE,
    SEGMENTS,
    SEQUENCE,
    SOURCE_BATCH_RULE,
    START,
    Setting,
    beside_states,
    fits,
    iteration,
    mfu,
    need,
    shares,
    throughput,
    without_data,
)
from .texts import gb, percent
from .timeline import WAYS, spans


def iteration_table(setting: Setting, runs: bool) -> live.Table:
    """The segments of the iteration, before and now."""
    total, now, start = iteration(setting).total, shares(setting), shares(START)
    rows = [
        live.row(
            NAMES[part],
            f"{100 * start[part]:.1f}",
            f"{100 * now[part]:.1f}" if runs else "–",
            f"{1e3 * now[part] * total:,.0f}" if runs else "–",
        )
        for part in NAMES
    ]
    wall = f"{1e3 * total:,.0f}" if runs else "–"
    return live.Table(
        f"One step of GPT-2 XL on an A100 at batch {setting.batch}. Loading: {LOADING}.",
        live.columns("Segment", "First profile|% of the step", "Now|% of the step", "Now|ms"),
        [*rows, live.row("Step", "100.0", "100.0" if runs else "–", wall)],
    )


def memory_table(setting: Setting) -> live.Table:
    """The memory bar's numbers, and what the device can give."""
    beside = beside_states(setting)
    return live.Table(
        f"Memory of a step at batch {setting.batch}, at its fullest; the A100 can give {DEVICE}",
        live.columns("Part", "Memory|GB"),
        [
            live.row("Parameters, gradients, optimizer states", gb(need(setting) - beside)),
            live.row("Activations and workspace", gb(beside)),
            live.row("Needed", gb(need(setting))),
        ],
    )


def gauges_table(setting: Setting, used: float, useful: float) -> live.Table:
    """Both gauges with what they count."""
    return live.Table(
        "The compute share counts time in which products run, however fast. MFU counts useful FLOPs against the peak: "
        "it leaves out recomputation and every FLOP the hardware could have done meanwhile.",
        live.columns("Gauge", "Value|%", "Tokens|per s"),
        [
            live.row("Compute share", f"{100 * used:.1f}", "–"),
            live.row("MFU", f"{100 * useful:.1f}", f"{throughput(setting):,.0f}" if used else "–"),
        ],
    )


def batch_table(setting: Setting) -> live.Table:
    """The curve over the batch, the memory it needs, and the source's rule."""
    rule = {batch: f"{percent(share)}" for batch, share in SOURCE_BATCH_RULE}
    rows = []
    for batch in BATCHES:
        at = replace(setting, batch=batch)
        step = iteration(at)
        rows.append(
            live.row(
                str(batch),
                f"{100 * step.utilization:.1f}",
                f"{100 * mfu(at):.1f}",
                f"{100 * without_data(at):.1f}",
                rule.get(batch, "–"),
                f"{gb(need(at))}{'' if fits(at) else ' (too much)'}",
            )
        )
    return live.Table(
        "Over the batch, other levers as set. ◇ is the source's rule for hardware utilization; the A100 can give "
        f"{DEVICE}.",
        live.columns("Batch", "Compute|%", "MFU|%", "Without data|%", "Source ◇|%", "Memory|GB"),
        rows,
    )


def overlap_table(setting: Setting) -> live.Table:
    """Three steps, fetched both ways."""
    ends = {way: max(float(one["to"] or 0) for one in spans(setting) if one["way"] == way) for way in WAYS}
    return live.Table(
        "Three steps from the first byte read to the last gradient",
        live.columns("Fetching", "Time|ms"),
        [live.row(title, f"{1e3 * ends[way]:,.0f}") for way, title in WAYS.items()],
    )


def levers_table(setting: Setting) -> live.Table:
    """What each lever gains and costs, the others as they are."""
    off, on = replace(setting, prefetch=False), replace(setting, prefetch=True)
    buffer = buffer_bytes(setting.batch * SEQUENCE * 8, LOADERS, PREFETCH_FACTOR)
    wide, narrow = replace(setting, precision="fp32"), replace(setting, precision="mixed")
    whole, again = replace(setting, checkpointing=False), replace(setting, checkpointing=True)
    large = replace(setting, batch=max(setting.batch, 2 * BATCHES[0]))
    small = replace(large, batch=large.batch // 2)
    rows = [
        live.row("Prefetching", faster(off, on), f"{LOADERS} loader processes, {buffer / 1e6:.1f} MB of host memory"),
        live.row(
            "Mixed precision",
            f"{faster(wide, narrow)}, {lighter(wide, narrow)}",
            f"numbers near 1 are {BF16.epsilon / FP32.epsilon:,.0f} times further apart",
        ),
        live.row(
            f"Checkpointing, {SEGMENTS} segments",
            lighter(whole, again),
            f"{faster(whole, again)}, {percent(RECOMPUTE)} % more arithmetic",
        ),
        live.row(f"Batch {small.batch} → {large.batch}", faster(small, large), lighter(small, large)),
    ]
    titles = (live.Column("a", "Lever"), live.Column("b", "Gain"), live.Column("c", "Cost"))
    return live.Table("What each lever gains and costs with the others as they are", titles, rows)


def faster(before: Setting, after: Setting) -> str:
    """The change in tokens per second."""
    return f"{100 * (throughput(after) / throughput(before) - 1):+.0f} % tokens/s".replace("-", "−")


def lighter(before: Setting, after: Setting) -> str:
    """The change in memory."""
    change = need(after) - need(before)
    return f"{change / GB:+.1f} GB".replace("-", "−")
