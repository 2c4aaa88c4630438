"""What the instruments of Act 3 show in a state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from explorable import live
from ironlaw import GB

from .failure import out_of_memory
from .pipeline import (
    A100,
    BATCHES,
    DEVICE,
    NAMES,
    SOURCE_BATCH_RULE,
    START,
    TARGET,
    Setting,
    fits,
    iteration,
    ledger,
    mfu,
    need,
    setting_of,
    shares,
    throughput,
    without_data,
)
from .tables import batch_table, gauges_table, iteration_table, levers_table, memory_table, overlap_table
from .texts import gb, percent
from .timeline import CLOCK_TOPS, clock_top, spans
from .walkthrough import walkthrough_table

MEMORY_TOPS = (100, 200, 400)
"""Where the memory's axis may end, in GB."""
APART = 7
"""Points of a percent axis between two lines of text, at least."""


def compute(state: live.State) -> live.View:
    """What the instruments show. Before the reveal the step stays closed: its split is the answer."""
    if state.prediction is None or not state.revealed:
        return covered(state.held if state.prediction is None else state.prediction)
    setting = setting_of(state)
    runs = fits(setting)
    used = iteration(setting).utilization if runs else 0.0
    useful = mfu(setting) if runs else 0.0
    return live.View(
        data={
            "lanes": tuple(lanes(setting, runs)),
            "legend": tuple(legend(setting, runs)),
            "guess": guess(state.prediction),
            "gap": gap(float(state.prediction)),
            "memory": tuple(memory(setting)),
            "room": ({"gb": A100.usable_bytes / GB, "text": f"can give {gb(A100.usable_bytes)} GB"},),
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
            "frame": ({"gb": next(top for top in MEMORY_TOPS if top >= need(setting) / GB)},),
        },
        headline=live.Figure(
            f"MFU, useful FLOPs over the peak ({'target reached' if 100 * useful >= TARGET else f'target {TARGET} %'})",
            percent(useful),
            "%",
        ),
        summary=summary(setting, runs),
        tables={
            "iteration": iteration_table(setting, runs),
            "gauges": gauges_table(setting, used, useful),
            "batch": batch_table(setting),
            "overlap": overlap_table(setting),
            "memory": memory_table(setting),
            "levers": levers_table(setting),
            "walkthrough": walkthrough_table(setting),
        },
        failure=None if runs else out_of_memory(setting),
    )


def guess(said: live.Value | None) -> tuple[live.Row, ...]:
    """Where the reader splits the iteration: waiting left, computing right."""
    if said is None:
        return ()
    share = float(said)
    return ({"from": 100 - share, "to": 100, "text": f"you: {share:g} %"},)


def gap(said: float) -> tuple[live.Row, ...]:
    """Between the reader's split and the first profile's, in points, wherever the levers are."""
    share = 100 * iteration(START).utilization
    points = f"{abs(said - share):.0f} points {'too high' if said > share else 'too low'}"
    edges = sorted((100 - said, 100 - share))
    return ({"from": edges[0], "to": edges[1], "text": points if abs(said - share) >= 1 else "right"},)


def memory(setting: Setting) -> Iterator[live.Row]:
    """What does not depend on the batch, and what the step's fullest moment needs besides."""
    static = min(ledger(setting).static_bytes, need(setting))
    yield {"row": 0, "kind": "static", "from": 0, "to": static / GB, "text": f"static {gb(static)} GB"}
    rest = need(setting) - static
    text = f"activations, workspace {gb(rest)} GB: together {gb(need(setting))} GB"
    yield {"row": 1, "kind": "kept", "from": static / GB, "to": need(setting) / GB, "text": text}


def covered(held: live.Value | None) -> live.View:
    """The bench before the reveal: its charts, without anything that would give the answer away."""
    charts = ("iteration", "memory", "gauges", "batch", "overlap")
    hidden = live.Table(
        "Opens when you lock in your prediction.", (live.Column("a", "Closed until then"),), [{"a": "?"}]
    )
    whole: live.Row = {"lane": "now", "part": "hidden", "from": 0, "to": 100}
    rows: dict[str, Sequence[live.Row]] = {
        "lanes": (whole,),
        "legend": ({"row": 0, "part": "hidden", "text": "One step: left the GPU waits, right it computes."},),
        "gauges": ({"gauge": "utilization", "value": 0, "text": "?"}, {"gauge": "mfu", "value": 0, "text": "?"}),
        "guess": guess(held),
        "gap": (),
        "memory": (),
        "room": (),
        "frame": ({"gb": MEMORY_TOPS[0]},),
        "curve": (),
        "claims": (),
        "names": (),
        "clock": ({"from": 0}, {"from": CLOCK_TOPS[0]}),
        "notes": (),
        "spans": (),
    }
    summary = "One step of training, not yet divided into its parts."
    return live.View(
        rows, live.Figure("Compute share of the step", "?", "%"), summary, dict.fromkeys((*charts, "levers"), hidden)
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
            label = f"{NAMES[part]} {percent(share)} %"
            yield {"lane": lane, "part": part, "from": base, "to": base + 100 * share, "label": label}
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
    """The curves' names at their right ends, apart from each other and from the target's, which stands there too."""
    last = replace(setting, batch=BATCHES[-1])
    ends = {"MFU": mfu(last), "compute share": iteration(last).utilization, "without data": without_data(last)}
    floor = 0.0
    for text, share in sorted(ends.items(), key=lambda end: end[1]):
        at = max(100 * share, floor)
        if abs(at - TARGET) < APART:
            at = TARGET - APART if at < TARGET and floor <= TARGET - APART else TARGET + APART
        yield {"batch": str(last.batch), "share": at, "text": text}
        floor = at + APART


def summary(setting: Setting, runs: bool) -> str:
    """The view in one sentence."""
    if not runs:
        return f"Out of memory: {gb(need(setting))} GB are needed, the A100 can give {DEVICE}. No iteration runs."
    split = ", ".join(f"{NAMES[part].lower()} {percent(share)} %" for part, share in shares(setting).items() if share)
    return (
        f"One step at batch {setting.batch}: {split}. "
        f"Compute share {percent(iteration(setting).utilization)} %, "
        f"MFU {percent(mfu(setting))} %, {throughput(setting):,.0f} tokens per second."
    )
