"""What the instruments of Act 2 show in a state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from plugins import live

from .failure import out_of_memory
from .pipeline import (
    BATCHES,
    DEVICE,
    NAMES,
    SOURCE_BATCH_RULE,
    START,
    Setting,
    fits,
    iteration,
    mfu,
    need,
    setting_of,
    shares,
    throughput,
    without_data,
)
from .tables import batch_table, gauges_table, iteration_table, levers_table, overlap_table
from .texts import gb, percent
from .timeline import CLOCK_TOPS, clock_top, spans

TARGET = 80


def compute(state: live.State) -> live.View:
    """What the instruments show. Before the commit the iteration stays closed: its split is the answer."""
    if state.prediction is None:
        return covered()
    setting = setting_of(state)
    runs = fits(setting)
    used = iteration(setting).utilization if runs else 0.0
    useful = mfu(setting) if runs else 0.0
    return live.View(
        data={
            "lanes": tuple(lanes(setting, runs)),
            "legend": tuple(legend(setting, runs)),
            "guess": ({"from": 100 - float(state.prediction), "to": 100, "text": f"you: {state.prediction:g} %"},),
            "gauges": (
                {"gauge": "utilization", "value": 100 * used, "text": f"{percent(used)} %"},
                {"gauge": "mfu", "value": 100 * useful, "text": f"{percent(useful)} %"},
            ),
            "curve": tuple(curve(setting)),
            "claims": tuple({"batch": str(batch), "share": 100 * share} for batch, share in SOURCE_BATCH_RULE),
            "names": tuple(names(setting)),
            "spans": tuple(spans(setting)),
            "clock": ({"from": 0}, {"from": clock_top(setting)}),
            "notes": ({"text": "first profile"},),
        },
        headline=live.Figure(
            f"GPU utilization (target {TARGET} %{', reached' if 100 * used >= TARGET else ''})", percent(used), "%"
        ),
        summary=summary(setting, runs),
        tables={
            "iteration": iteration_table(setting, runs),
            "gauges": gauges_table(setting, used, useful),
            "batch": batch_table(setting),
            "overlap": overlap_table(setting),
            "levers": levers_table(setting),
        },
        failure=None if runs else out_of_memory(setting),
    )


def covered() -> live.View:
    """The bench before the commit: its charts with nothing in them that would give the answer away."""
    charts = ("iteration", "gauges", "batch", "overlap")
    hidden = live.Table(
        "Opens when you lock in your prediction.", (live.Column("a", "Closed until then"),), [{"a": "?"}]
    )
    whole: live.Row = {"lane": "now", "part": "hidden", "from": 0, "to": 100}
    rows: dict[str, Sequence[live.Row]] = {
        "lanes": (whole,),
        "legend": ({"row": 0, "part": "hidden", "text": "One iteration. Lock in to see its parts."},),
        "gauges": ({"gauge": "utilization", "value": 0, "text": "?"}, {"gauge": "mfu", "value": 0, "text": "?"}),
        "guess": (),
        "curve": (),
        "claims": (),
        "names": (),
        "clock": ({"from": 0}, {"from": CLOCK_TOPS[0]}),
        "notes": (),
        "spans": (),
    }
    summary = "One iteration of training, not yet divided into its parts."
    return live.View(
        rows, live.Figure("GPU utilization", "?", "%"), summary, dict.fromkeys((*charts, "levers"), hidden)
    )


def lanes(setting: Setting, runs: bool) -> Iterator[live.Row]:
    """Rows of the stacked bars: the reader's setting, and the first profile to compare with."""
    if runs:
        yield from bar("now", shares(setting))
    else:
        yield {"lane": "now", "part": "failed", "from": 0, "to": 100}
    yield from bar("start", shares(START))


def bar(lane: str, parts: dict[str, float]) -> Iterator[live.Row]:
    """One stacked bar in percent of the step."""
    base = 0.0
    for part, share in parts.items():
        if share:
            yield {"lane": lane, "part": part, "from": base, "to": base + 100 * share}
        base += 100 * share


def legend(setting: Setting, runs: bool) -> Iterator[live.Row]:
    """A line of text per segment, under the bars."""
    if not runs:
        yield {"row": 0, "part": "failed", "text": f"No step runs: {gb(need(setting))} GB do not fit into {DEVICE}."}
        return
    total = iteration(setting).total
    for row, (part, share) in enumerate(shares(setting).items()):
        if share:
            text = f"{NAMES[part]} {percent(share)} %, {1e3 * share * total:,.0f} ms"
            yield {"row": row, "part": part, "text": text}


def curve(setting: Setting) -> Iterator[live.Row]:
    """Both gauges over the batch, with the other levers as they are."""
    for batch in BATCHES:
        at = replace(setting, batch=batch)
        values = (("utilization", iteration(at).utilization), ("mfu", mfu(at)), ("fed", without_data(at)))
        for gauge, share in values:
            yield {
                "batch": str(batch),
                "gauge": gauge,
                "share": 100 * share,
                "fits": fits(at),
                "current": batch == setting.batch,
            }


def names(setting: Setting) -> Iterator[live.Row]:
    """The curves' names at their right ends, pushed up where two would overlap."""
    last = replace(setting, batch=BATCHES[-1])
    ends = {"MFU": mfu(last), "utilization": iteration(last).utilization, "without data": without_data(last)}
    floor = 0.0
    for text, share in sorted(ends.items(), key=lambda end: end[1]):
        at = max(100 * share, floor)
        yield {"batch": str(last.batch), "share": at, "text": text}
        floor = at + 7


def summary(setting: Setting, runs: bool) -> str:
    """The view in one sentence."""
    if not runs:
        return f"Out of memory: {gb(need(setting))} GB are needed, the A100 can give {DEVICE}. No iteration runs."
    split = ", ".join(f"{NAMES[part].lower()} {percent(share)} %" for part, share in shares(setting).items() if share)
    return (
        f"One iteration at batch {setting.batch}: {split}. "
        f"GPU utilization {percent(iteration(setting).utilization)} %, "
        f"MFU {percent(mfu(setting))} %, {throughput(setting):,.0f} tokens per second."
    )
