"""The source's walkthrough beside the engine's account of the same settings, and what has been measured."""

from __future__ import annotations

from plugins import live

from .pipeline import BASE_BATCH, OPTIMIZED, START, Setting, iteration, ledger, mfu, shares, throughput
from .texts import gb, percent

SOURCE = {
    "memory": ("89", "32"),
    "utilization": ("45", "85"),
    "throughput": ("–", "1,200"),
    "loading": ("40", "5"),
}
"""The source's walkthrough table. It is for batch 32 with sequences of 1,024 tokens."""
SOURCE_SEQUENCE = 1024
RECORDS = live.records(
    "*",
    "case.model",
    "case.precision",
    "case.batch",
    "case.sequence",
    "utilization.mfu",
    "summary.tokens_per_s.median",
    "memory.peak",
)
"""Everything measured; the table below shows GPT-2 XL under autocast."""


def walkthrough_table() -> live.Table:
    """The source's walkthrough beside the engine's account of the same two settings, and what has been measured."""
    pairs = {
        "memory": [gb(need_at(one, SOURCE_SEQUENCE)) for one in (START, OPTIMIZED)],
        "utilization": [percent(iteration(one).utilization) for one in (START, OPTIMIZED)],
        "mfu": [percent(mfu(one)) for one in (START, OPTIMIZED)],
        "throughput": [f"{throughput(one):,.0f}" for one in (START, OPTIMIZED)],
        "loading": [percent(shares(one)["data"]) for one in (START, OPTIMIZED)],
    }
    found = measured()
    titles = {
        "memory": f"Memory, GB (batch {BASE_BATCH} × {SOURCE_SEQUENCE:,} tokens)",
        "utilization": "GPU utilization, %",
        "mfu": "MFU, %",
        "throughput": "Throughput, tokens/s",
        "loading": "Data loading, %",
    }
    rows = [
        live.row(title, *SOURCE.get(key, ("–", "–")), *pairs[key], found.get(key, "not measured yet"))
        for key, title in titles.items()
    ]
    return live.Table(
        "The walkthrough, before and after. ◇ the source's value, ● measured" + found.get("caption", "."),
        live.columns("Metric", "Before ◇", "After ◇", "Before, engine", "After, engine", "Measured ●"),
        rows,
    )


def need_at(setting: Setting, sequence: int) -> int:
    """Bytes the device must have, for sequences of another length."""
    return ledger(setting, sequence).device_total


def measured() -> dict[str, str]:
    """What a record says of GPT-2 XL under autocast: an A100's if there is one, else the first there is."""
    wanted = [
        one
        for one in RECORDS
        if one.status == "ok"
        and (one.values["case.model"], one.values["case.precision"]) == ("gpt2-xl", "amp-bf16")
        and one.values["utilization.mfu"]
    ]
    if not wanted:
        return {}
    best = min(wanted, key=lambda one: "A100" not in one.title)
    values = {path: float(value) for path, value in best.values.items() if isinstance(value, int | float)}
    return {
        "memory": gb(values["memory.peak"]),
        "mfu": percent(values["utilization.mfu"]),
        "throughput": f"{values['summary.tokens_per_s.median']:,.0f}",
        "caption": f" on {best.title}, {best.day}, batch {values['case.batch']:.0f} × {values['case.sequence']:,.0f} "
        "tokens, data in memory.",
    }
