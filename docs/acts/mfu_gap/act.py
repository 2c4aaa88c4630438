"""Act 2, The MFU Gap: what the act asks, computes and answers. What it draws is in charts.py.

One set of stage times stands behind every number of the iteration: the source's first profile (40/25/35 percent). How
the levers change it, what the step holds in memory and how fast the arithmetic runs comes from the engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import product

from engine import GB, MemoryLedger, accelerator, model, training_memory
from engine.formats import BF16, FP32
from engine.pipeline import Iteration, StageTimes, buffer_bytes
from engine.time import step_time
from plugins import live

GPT2_XL, A100 = model("gpt2-xl"), accelerator("a100-80")
SEQUENCE, BASE_BATCH, BATCHES = 256, 32, (16, 32, 64, 128, 256)
MODES = {"fp32": "fp32", "mixed": "amp-bf16"}
SEGMENTS = 4
"""Checkpointing keeps the input of each of this many runs of blocks and computes the rest again."""
POLICY = f"every:{GPT2_XL.layers // SEGMENTS}"
TARGET = 80
LOADERS, PREFETCH_FACTOR = 8, 2
"""The source's data loader: eight workers, two batches each in advance."""

SOURCE_FIRST = {"data": 0.40, "transfer": 0.25, "compute": 0.35}
SOURCE_SECOND = {"data": 0.05, "transfer": 0.20, "compute": 0.75}
SOURCE = {
    "memory": ("89", "32"),
    "utilization": ("45", "85"),
    "throughput": ("–", "1,200"),
    "loading": ("40", "5"),
}
"""The source's walkthrough table. It is for batch 32 with sequences of 1,024 tokens."""
SOURCE_SEQUENCE = 1024
SOURCE_BATCH_RULE = ((16, 0.60), (32, 0.70), (256, 0.90))
"""The source on batch and hardware utilization: 60 to 70 percent at 16 to 32, over 90 at 256."""

_STEP = step_time(GPT2_XL, A100, BASE_BATCH, SEQUENCE, mode="amp-bf16", rule="adam")
_CHECKPOINTED = step_time(GPT2_XL, A100, BASE_BATCH, SEQUENCE, mode="amp-bf16", rule="adam", policy=POLICY)
_TF32 = step_time(GPT2_XL, A100, BASE_BATCH, SEQUENCE, mode="fp32", rule="adam", tf32=True)
RECOMPUTE = _CHECKPOINTED.hardware_flops / _STEP.model_flops - 1
"""Arithmetic that checkpointing adds, as a share of the step's."""
UNIT = _STEP.compute / SOURCE_FIRST["compute"]
"""Seconds of the first profile's step: its compute share is the engine's time for the matrix products."""
HAND_OVER = (
    SOURCE_SECOND["data"]
    / (1 - SOURCE_SECOND["data"])
    * (SOURCE_FIRST["transfer"] / 2 + SOURCE_FIRST["compute"] * (1 + RECOMPUTE))
)
"""The part of loading that no prefetching hides, so that the second profile keeps the source's 5 percent."""

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


def gb(size: float) -> str:
    """Bytes as GB with one decimal."""
    return f"{size / GB:,.1f}"


def percent(share: float) -> str:
    """A share as whole percent."""
    return f"{100 * share:.0f}"


CLOCK_TOPS = (4000, 6000, 8000, 12000, 16000, 24000, 32000)
"""Where the timeline may end, in ms."""


@dataclass(frozen=True)
class Setting:
    """Where the levers stand."""

    prefetch: bool = False
    precision: str = "fp32"
    checkpointing: bool = False
    batch: int = BASE_BATCH

    def changes_to(self, other: Setting) -> list[str]:
        """What to move to get the other setting, in words."""
        words = {
            "prefetch": f"prefetching {'on' if other.prefetch else 'off'}",
            "precision": "mixed precision" if other.precision == "mixed" else "FP32",
            "checkpointing": f"checkpointing {'on' if other.checkpointing else 'off'}",
            "batch": f"batch {other.batch}",
        }
        return [words[f.name] for f in fields(self) if getattr(self, f.name) != getattr(other, f.name)]


SETTINGS = tuple(Setting(*values) for values in product((False, True), MODES, (False, True), BATCHES))
START = Setting()


# --8<-- [start:stages]
def stages(setting: Setting) -> StageTimes:
    """Seconds of every stage. Loading and compute grow with the batch; weights and states move once per step."""
    per_batch = UNIT * setting.batch / BASE_BATCH
    return StageTimes(
        load=per_batch * (SOURCE_FIRST["data"] - HAND_OVER),
        hand_over=per_batch * HAND_OVER,
        transfer=UNIT * SOURCE_FIRST["transfer"] * (0.5 if setting.precision == "mixed" else 1),
        compute=per_batch * SOURCE_FIRST["compute"] * (1 + RECOMPUTE * setting.checkpointing),
    )


@cache
def iteration(setting: Setting) -> Iteration:
    """What one step waits for."""
    return stages(setting).iteration(prefetch=setting.prefetch)


# --8<-- [end:stages]


def shares(setting: Setting) -> dict[str, float]:
    """Share of the step by segment; recompute is the part of compute that does nothing new."""
    step = iteration(setting).shares
    useful = step["compute"] / (1 + RECOMPUTE * setting.checkpointing)
    return {
        "data": step["data"],
        "transfer": step["transfer"],
        "compute": useful,
        "recompute": step["compute"] - useful,
    }


def without_data(setting: Setting) -> float:
    """Share of the step that is compute when loading is left out."""
    step = iteration(setting)
    return step.compute / (step.compute + step.transfer)


def throughput(setting: Setting) -> float:
    """Tokens per second."""
    return setting.batch * SEQUENCE / iteration(setting).total


def mfu(setting: Setting) -> float:
    """Model FLOPs per second over the dense BF16 peak."""
    return _STEP.convention_flops / _STEP.tokens * throughput(setting) / A100.peak("bf16")


@cache
def ledger(setting: Setting, sequence: int = SEQUENCE) -> MemoryLedger:
    """The engine's memory of the step. Prefetching costs nothing here: its buffers lie in the host's memory."""
    return training_memory(
        GPT2_XL,
        optimizer="adam",
        precision=MODES[setting.precision],
        batch=setting.batch,
        sequence=sequence,
        checkpointing=POLICY if setting.checkpointing else "none",
    )


def need(setting: Setting) -> int:
    """Bytes the device must have."""
    return ledger(setting).device_total


def fits(setting: Setting) -> bool:
    """Whether the step fits the device."""
    return need(setting) <= A100.memory_bytes


def setting_of(state: live.State) -> Setting:
    """What a state's controls say."""
    at = state.controls
    return Setting(bool(at["prefetch"]), str(at["precision"]), bool(at["checkpointing"]), int(at["batch"]))


# ---- the view ----

NAMES = {"data": "Data loading", "transfer": "Memory transfers", "compute": "Compute", "recompute": "Recompute"}
_FIT = f"{A100.memory_bytes / GB:.1f} GB"


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
        yield {"row": 0, "part": "failed", "text": f"No step runs: {gb(need(setting))} GB do not fit {_FIT}."}
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


def spans(setting: Setting, steps: int = 3) -> Iterator[live.Row]:
    """Three steps on a clock in ms, fetched one after the other and fetched in advance."""
    times = stages(setting)
    useful = times.compute / (1 + RECOMPUTE * setting.checkpointing)
    for way in ("sequential", "overlapped"):
        end = fetched = 0.0
        for _ in range(steps):
            # In advance means: the workers began with this batch when the step before it began.
            fetch = fetched if way == "overlapped" else end
            at = max(end, fetch + times.load)
            yield span(way, "load", "data", fetch, fetch + times.load)
            fetched = at
            for lane, part, length in (
                ("copy", "data", times.hand_over),
                ("copy", "transfer", times.transfer),
                ("gpu", "compute", useful),
                ("gpu", "recompute", times.compute - useful),
            ):
                if length:
                    yield span(way, lane, part, at, at + length)
                at += length
            end = at


def span(way: str, lane: str, part: str, begin: float, end: float) -> live.Row:
    """One box of the timeline."""
    return {"way": way, "lane": lane, "part": part, "from": 1e3 * begin, "to": 1e3 * end}


def clock_top(setting: Setting) -> int:
    """Where the clock ends: one of a few places, so that boxes move and not the axis."""
    end = max(float(one["to"] or 0) for one in spans(setting))
    return next(top for top in CLOCK_TOPS if top >= end)


def summary(setting: Setting, runs: bool) -> str:
    """The view in one sentence."""
    if not runs:
        return f"Out of memory: {gb(need(setting))} GB are needed, the A100 has {_FIT}. No iteration runs."
    split = ", ".join(f"{NAMES[part].lower()} {percent(share)} %" for part, share in shares(setting).items() if share)
    return (
        f"One iteration at batch {setting.batch}: {split}. "
        f"GPU utilization {percent(iteration(setting).utilization)} %, "
        f"MFU {percent(mfu(setting))} %, {throughput(setting):,.0f} tokens per second."
    )


# ---- the tables: the charts' numbers, what each lever gains and costs, the source's walkthrough ----


def columns(*titles: str) -> tuple[live.Column, ...]:
    """A text column and numeric ones, each given as `Label|unit`; their keys are a, b, c and so on."""
    parts = [title.partition("|") for title in titles]
    keys = "abcdefg"
    return tuple(live.Column(keys[i], label, unit, numeric=i > 0) for i, (label, _, unit) in enumerate(parts))


def row(*cells: str) -> dict[str, str]:
    """A row for `columns`."""
    return dict(zip("abcdefg", cells, strict=False))


def iteration_table(setting: Setting, runs: bool) -> live.Table:
    """The segments of the iteration, before and now."""
    total, now, start = iteration(setting).total, shares(setting), shares(START)
    rows = [
        row(
            NAMES[part],
            f"{100 * start[part]:.1f}",
            f"{100 * now[part]:.1f}" if runs else "–",
            f"{1e3 * now[part] * total:,.0f}" if runs else "–",
        )
        for part in NAMES
    ]
    wall = f"{1e3 * total:,.0f}" if runs else "–"
    return live.Table(
        f"One iteration of GPT-2 XL on an A100 at batch {setting.batch}",
        columns("Segment", "First profile|% of the step", "Now|% of the step", "Now|ms"),
        [*rows, row("Step", "100.0", "100.0" if runs else "–", wall)],
    )


def gauges_table(setting: Setting, used: float, useful: float) -> live.Table:
    """Both gauges with what they count."""
    return live.Table(
        "GPU utilization counts time at work, whatever the work and however fast. MFU counts useful FLOPs against the "
        "peak: it leaves out recomputation and every FLOP the hardware could have done meanwhile.",
        columns("Gauge", "Value|%", "Tokens|per s"),
        [
            row("GPU utilization", f"{100 * used:.1f}", "–"),
            row("MFU", f"{100 * useful:.1f}", f"{throughput(setting):,.0f}" if used else "–"),
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
            row(
                str(batch),
                f"{100 * step.utilization:.1f}",
                f"{100 * mfu(at):.1f}",
                f"{100 * without_data(at):.1f}",
                rule.get(batch, "–"),
                f"{gb(need(at))}{'' if fits(at) else ' (too much)'}",
            )
        )
    return live.Table(
        f"Over the batch, other levers as set. ◇ is the source's rule for hardware utilization; the A100 has {_FIT}.",
        columns("Batch", "Utilization|%", "MFU|%", "Without data|%", "Source ◇|%", "Memory|GB"),
        rows,
    )


def overlap_table(setting: Setting) -> live.Table:
    """Three steps, fetched both ways."""
    ends = {way: max(float(one["to"] or 0) for one in spans(setting) if one["way"] == way) for way in WAYS}
    return live.Table(
        "Three steps from the first byte read to the last gradient",
        columns("Fetching", "Time|ms"),
        [row(title, f"{ends[way]:,.0f}") for way, title in WAYS.items()],
    )


WAYS = {"sequential": "One after the other", "overlapped": "In advance"}


def levers_table(setting: Setting) -> live.Table:
    """What each lever gains and costs, the others as they are."""
    off, on = replace(setting, prefetch=False), replace(setting, prefetch=True)
    buffer = buffer_bytes(setting.batch * SEQUENCE * 8, LOADERS, PREFETCH_FACTOR)
    wide, narrow = replace(setting, precision="fp32"), replace(setting, precision="mixed")
    whole, again = replace(setting, checkpointing=False), replace(setting, checkpointing=True)
    large = replace(setting, batch=max(setting.batch, 2 * BATCHES[0]))
    small = replace(large, batch=large.batch // 2)
    rows = [
        row("Prefetching", faster(off, on), f"{LOADERS} loader processes, {buffer / 1e6:.1f} MB of host memory"),
        row(
            "Mixed precision",
            f"{faster(wide, narrow)}, {lighter(wide, narrow)}",
            f"numbers near 1 are {BF16.epsilon / FP32.epsilon:,.0f} times further apart",
        ),
        row(
            f"Checkpointing, {SEGMENTS} segments",
            lighter(whole, again),
            f"{faster(whole, again)}, {percent(RECOMPUTE)} % more arithmetic",
        ),
        row(f"Batch {small.batch} → {large.batch}", faster(small, large), lighter(small, large)),
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


OPTIMIZED = Setting(True, "mixed", True, BASE_BATCH)


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
        row(title, *SOURCE.get(key, ("–", "–")), *pairs[key], found.get(key, "not measured yet"))
        for key, title in titles.items()
    ]
    return live.Table(
        "The walkthrough, before and after. ◇ the source's value, ● measured" + found.get("caption", "."),
        columns("Metric", "Before ◇", "After ◇", "Before, engine", "After, engine", "Measured ●"),
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


# ---- out of memory ----


def out_of_memory(setting: Setting) -> live.Failure:
    """The failure of a setting that does not fit, and the fewest changes that make it fit."""
    fewest = min(len(setting.changes_to(other)) for other in SETTINGS if fits(other))
    near = [other for other in SETTINGS if fits(other) and len(setting.changes_to(other)) == fewest]
    best: dict[str, Setting] = {}
    for other in sorted(near, key=need):
        # Of several steps on one lever the largest that fits gives up the least.
        best[",".join(f.name for f in fields(other) if getattr(setting, f.name) != getattr(other, f.name))] = other
    offers = [f"{' with '.join(setting.changes_to(other))} ({gb(need(other))} GB)" for other in best.values()]
    lead = "One change is enough" if fewest == 1 else "No single change is enough; together"
    over = need(setting) - A100.memory_bytes
    return live.Failure(
        "Out of memory",
        f"At batch {setting.batch} the step needs {gb(need(setting))} GB at its fullest.",
        f"The A100 has {_FIT}: {gb(over)} GB too much.",
        f"{lead}: {', or '.join(offers)}.",
    )


# ---- the reveal ----

TOLERANCE = 5
"""Points within which a prediction counts as right."""


def reveal(prediction: live.Value, state: live.State) -> live.Verdict:
    """What to say of a prediction. The question is about the first profile, wherever the levers stand."""
    said, share = float(prediction), 100 * iteration(START).utilization
    first, second = shares(START), shares(OPTIMIZED)
    busy = percent(second["compute"] + second["recompute"])
    fed = {batch: percent(without_data(Setting(True, "mixed", False, batch))) for batch, _ in SOURCE_BATCH_RULE}
    running = [setting for setting in SETTINGS if fits(setting)]
    reached = [setting for setting in running if 100 * iteration(setting).utilization >= TARGET]
    fastest, busiest = max(running, key=throughput), max(running, key=lambda one: iteration(one).utilization)
    speedup = _TF32.compute / _STEP.compute
    quick = stages(OPTIMIZED).scaled(compute=1 / speedup).iteration(prefetch=True).shares
    return live.Verdict(
        correct=abs(said - share) <= TOLERANCE,
        headline=gap(said, share),
        paragraphs=(
            "Nothing is broken in that loop. In every step the GPU first waits for the batch "
            f"({percent(first['data'])} % of the time), then for memory ({percent(first['transfer'])} %). A data sheet "
            f"shows neither: a GPU twice as fast would shorten the step by {share / 2:.0f} %.",
            "The two gauges differ because they count different things. GPU utilization counts time at work. MFU "
            "counts useful FLOPs against the peak, and even while the products run they reach "
            f"{percent(efficiency())} % of it. So this baseline has an MFU of {percent(mfu(START))} %. You may read "
            "“45 % MFU” for it. That cannot be: MFU never exceeds the share of time spent computing. The source (◇) "
            "says GPU utilization there, and the two names were mixed up on the way.",
            "Both of the source's profiles, 40/25/35 and 5/20/75, come from one set of stage times: halve the "
            f"transfers, add {percent(RECOMPUTE)} % recomputation, hide the loading, and you get "
            f"{percent(second['data'])}/{percent(second['transfer'])}/{busy}. Of those {busy} %, "
            f"{percent(second['recompute'])} are repeated work, which raises the utilization and not the MFU.",
            "The batch moves the gauges because weights and optimizer states pass through memory once per step. Leave "
            f"loading out, and the same stage times give {fed[16]} % at batch 16, {fed[32]} % at 32 and {fed[256]} % "
            "at 256. The source's rule (◇) says 60 to 70 % at 16 to 32, and over 90 % at 256.",
            f"The two can disagree. Of the {len(running)} settings here that fit, {len(reached)} reach {TARGET} % "
            f"utilization. The fastest of all reaches {percent(iteration(fastest).utilization)} % and an MFU of "
            f"{percent(mfu(fastest))} %; the busiest reaches {percent(iteration(busiest).utilization)} % and an MFU of "
            f"{percent(mfu(busiest))} %. What you pay for is tokens: {throughput(fastest):,.0f} per second against "
            f"{throughput(busiest):,.0f}.",
            "One thing these profiles leave out: on an A100, products in 16 bits also run "
            f"{speedup:.1f} times faster than in TF32. Then the second profile would be {percent(quick['data'])}/"
            f"{percent(quick['transfer'])}/{percent(quick['compute'])}. Every bottleneck you remove shows you the "
            "next one.",
        ),
        tables={"walkthrough": walkthrough_table()},
    )


def efficiency() -> float:
    """Share of the peak that matrix products reach while they run."""
    return _STEP.convention_flops / (_STEP.compute * A100.peak("bf16"))


def gap(said: float, share: float) -> str:
    """The distance between prediction and answer, in points and as a factor."""
    start, answer = f"You said {said:g} %", f"the GPU computes {share:.0f} % of the time"
    points = abs(said - share)
    if points <= TOLERANCE:
        return f"{start}, and that is right: {answer}."
    if said == 0:
        return f"{start}. In fact {answer}: {points:.0f} points more."
    if said < share:
        return f"{start}. In fact {answer}: {share / said:.1f} times your figure, {points:.0f} points more."
    return f"{start}. In fact {answer}: your figure is {said / share:.1f} times that, {points:.0f} points too high."


# ---- the reflections ----


def best_fix(state: live.State) -> dict[str, live.Value]:
    """The change after which most tokens pass per second, from the reader's own setting."""
    setting = setting_of(state)
    tokens = setting.batch * SEQUENCE
    faster_gpu = stages(setting).scaled(compute=0.5).iteration(prefetch=setting.prefetch)
    half = stages(replace(setting, batch=setting.batch // 2)).iteration(prefetch=setting.prefetch)
    rates = {
        "gpu": tokens / faster_gpu.total,
        "sgd": throughput(setting),
        "prefetch": throughput(replace(setting, prefetch=True)),
        "batch": tokens / 2 / half.total,
    }
    return {"fix": max(rates, key=lambda fix: rates[fix])}


FACTORS = (2, 3, 4, 12)
COSTS = (10, 33, 50, 100)


def beyond_states(setting: Setting) -> float:
    """Bytes that forward and backward need at their fullest, on top of weights and optimizer states."""
    account = ledger(setting)
    resident = account.static_bytes - account.component("gradients") + account.workspace_bytes
    return max(moment.bytes for moment in account.moments if moment.name != "optimizer step") - resident


def checkpointing_blanks(state: live.State) -> dict[str, live.Value]:
    """What checkpointing saves and costs at the reader's batch and precision."""
    setting = setting_of(state)
    whole, again = (beyond_states(replace(setting, checkpointing=on)) for on in (False, True))
    return {
        "factor": min(FACTORS, key=lambda factor: max(factor * again / whole, whole / again / factor)),
        "cost": min(COSTS, key=lambda cost: abs(cost - 100 * RECOMPUTE)),
        "why": "recompute",
    }


REFLECTIONS = (
    live.Reflection(
        "bottleneck",
        "With the levers as they stand, and counting time only, the single change that helps most is to {fix}.",
        (
            live.Blank(
                "fix",
                "The change",
                (
                    live.Option(
                        "gpu",
                        "buy a GPU with twice the TFLOP/s",
                        "Twice the arithmetic rate halves the compute segments and nothing else.",
                    ),
                    live.Option(
                        "sgd",
                        "switch from Adam to SGD",
                        "SGD frees memory. Nothing in this iteration waits for free memory.",
                    ),
                    live.Option(
                        "prefetch",
                        "load the next batch during the current step",
                        "Prefetching hides loading behind the step before it. It pays while loading is visible; once "
                        "it is on, there is nothing left to hide.",
                    ),
                    live.Option(
                        "batch",
                        "halve the batch",
                        "Weights and states pass through memory once per step, so a smaller batch pays for them more "
                        "often.",
                    ),
                ),
            ),
        ),
        best_fix,
    ),
    live.Reflection(
        "checkpointing",
        "At your batch and precision, checkpointing divides what forward and backward hold by about {factor}, for "
        "about {cost} more compute, because {why}.",
        (
            live.Blank(
                "factor",
                "By how much",
                (
                    live.Option(2, "2", "That is what a small batch gives: what is not activations weighs as much."),
                    live.Option(3, "3", "That is what a middling batch gives."),
                    live.Option(
                        4,
                        "4",
                        f"{SEGMENTS} segments, one of which exists at a time: reached once activations dominate.",
                    ),
                    live.Option(
                        12, "12", "While a segment's backward runs, all of its 12 blocks hold their tensors again."
                    ),
                ),
            ),
            live.Blank(
                "cost",
                "Compute",
                (
                    live.Option(
                        10, "10 %", "A forward pass is a third of a step's arithmetic, and most of it runs twice."
                    ),
                    live.Option(33, "33 %", "One more forward pass on top of one forward and two backward parts."),
                    live.Option(50, "50 %", "Only the forward pass runs again; the backward pass runs once."),
                    live.Option(100, "100 %", "Only the forward pass runs again; the backward pass runs once."),
                ),
            ),
            live.Blank(
                "why",
                "Why",
                (
                    live.Option(
                        "recompute",
                        "the backward pass must recompute what the forward pass threw away",
                        "Each segment starts again from its kept input.",
                    ),
                    live.Option(
                        "compress", "activations are compressed", "They are not stored at all, then made again."
                    ),
                    live.Option(
                        "half", "activations are kept in 16 bits", "That is the precision lever; it is separate."
                    ),
                    live.Option("skip", "layers are skipped", "Every layer runs, and most run twice."),
                ),
            ),
        ),
        checkpointing_blanks,
    ),
)

# ---- the scene ----


def decisions(state: live.State) -> dict[str, live.Value]:
    """What the reader's ledger keeps of this act. The optimizer is Adam here whatever the reader does: no choice."""
    setting = setting_of(state)
    return {
        "precision_chosen": setting.precision,
        "gradient_checkpointing": setting.checkpointing,
        "final_mfu_pct": 100 * mfu(setting) if fits(setting) else 0.0,
        **({} if state.prediction is None else {"baseline_mfu_estimate_pct": float(state.prediction)}),
    }


ACT = live.Act(
    name="mfu-gap",
    title="The MFU Gap",
    minutes=22,
    situation="You train GPT-2 XL on an A100, in batches of 32 sequences. The loop is correct, the batch fits, no bug "
    "is left. Your colleague looks at the bill and asks what the GPU does all day.",
    contexts=(live.Context("a100", "A100, 80 GB", f"{A100.title}; sequences of {SEQUENCE} tokens."),),
    question=live.NumberQuestion(
        prompt="In one training iteration, what part of the time does the GPU compute, rather than wait for data or "
        "for transfers?",
        unit="%",
        minimum=0,
        maximum=100,
        answer=lambda: 100 * iteration(START).utilization,
    ),
    controls=(
        live.Toggle(
            "prefetch",
            "Prefetching",
            False,
            group="Levers",
            help=f"{LOADERS} workers prepare the next batches while the step runs.",
        ),
        live.Toggle(
            "checkpointing",
            "Gradient checkpointing",
            False,
            group="Levers",
            help=f"Keeps the input of each of {SEGMENTS} segments and computes the rest again.",
        ),
        live.Choice(
            "precision",
            "Numbers",
            (live.ControlOption("fp32", "FP32"), live.ControlOption("mixed", "Mixed")),
            "fp32",
            "Mixed halves what is moved and most of what is kept. The profile holds the speed of arithmetic fixed.",
        ),
        live.Choice(
            "batch",
            "Batch size",
            tuple(live.ControlOption(size, str(size)) for size in BATCHES),
            BASE_BATCH,
            f"Sequences of {SEQUENCE} tokens per step.",
        ),
    ),
    compute=compute,
    reveal=reveal,
    charts={
        "iteration": "One training iteration, and below it the one you began with",
        "gauges": "GPU utilization and MFU",
        "batch": "Both gauges over the batch, and the first with loading left out; ◇ the source's rule",
        "overlap": "Three steps on the clock",
    },
    reflections=REFLECTIONS,
    can_fail=True,
    ledger=decisions,
)
