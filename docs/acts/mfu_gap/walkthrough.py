"""The walkthrough: lever after lever by the engine, and the source's two ends (◇) beside what has been measured (●)."""

from __future__ import annotations

from dataclasses import replace

from explorable import live

from .pipeline import START, Setting, fits, iteration, mfu, throughput
from .texts import percent

STEPS = (
    ("First profile", START),
    ("+ prefetching", replace(START, prefetch=True)),
    ("+ mixed", replace(START, prefetch=True, precision="mixed")),
    ("+ checkpointing", replace(START, prefetch=True, precision="mixed", checkpointing=True)),
)
"""The source's levers, one after the other, each on top of those before it."""
SOURCE_FIRST, SOURCE_LAST = ("40", "45", "–"), ("5", "85", "1,200")
"""The source's figures for its first and last profile: loading and utilization in percent, tokens per second."""
RECORDS = live.records(
    "*",
    "case.model",
    "case.precision",
    "case.batch",
    "case.sequence",
    "utilization.mfu",
    "summary.tokens_per_s.median",
)
"""Everything measured; the panel shows GPT-2 XL under autocast on an A100, if there is such a record."""


def walkthrough_table(setting: Setting) -> live.Table:
    """The levers' effects step by step; an arrow marks where the reader stands."""
    rows = [
        live.row(f"{'▸ ' if at == setting else ''}{title}", *engine(at), f"{throughput(at):,.0f}" if fits(at) else "–")
        for title, at in STEPS
    ]
    rows += [live.row("◇ source, before", *SOURCE_FIRST), live.row("◇ source, after", *SOURCE_LAST)]
    rows.append(live.row("● measured, A100", *measured()))
    return live.Table(
        "The walkthrough. MFU is the useful FLOPs over the peak; the source's figure is the share of time at work.",
        live.columns("Step", "Loading|%", "MFU|%", "Tokens|per s"),
        rows,
    )


def engine(at: Setting) -> tuple[str, str]:
    """Loading and MFU."""
    return percent(iteration(at).shares["data"]), percent(mfu(at))


def measured() -> tuple[str, str, str]:
    """What a record says of GPT-2 XL under autocast on an A100, its data in memory."""
    for one in RECORDS:
        which = one.values["case.model"], one.values["case.precision"]
        share, rate = one.values["utilization.mfu"], one.values["summary.tokens_per_s.median"]
        if one.status == "ok" and "A100" in one.title and which == ("gpt2-xl", "amp-bf16") and share and rate:
            return "–", percent(float(share)), f"{float(rate):,.0f}"
    return "–", "not yet", "not yet"
