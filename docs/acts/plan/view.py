"""What the planner shows of a plan: memory, time, money, each with the band that experience gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from explorable import live
from ironlaw import GB, EngineError, Setup, explain
from ironlaw.answers import prepare
from ironlaw.answers.assumptions import hourly_price
from ironlaw.answers.estimate import Estimate
from ironlaw.answers.peak import MOMENTARY, Peak, moments, peak
from ironlaw.config.resolved import DataShape
from ironlaw.economics.cost import SECONDS_PER_HOUR
from ironlaw.files.words import DIVIDED
from ironlaw.memory.tensors import EVALUATION

from .beside import told as beside
from .causes import WEIGHTS, away, beyond, cause, communicators, experts, generating, loading, offloaded
from .choices import FORMATS, LEAN, more_of, require_layout, says_formats, words_of
from .give import command
from .labels import is_uncounted, worded
from .left import instead, left
from .measured import has_failed, measured_tables, read_tables
from .phases import held, phase_table, phases_of, stack

PARTS = {
    "parameters": "Weights",
    "gradients": "Gradients",
    "optimizer": "Optimizer",
    "activations": "Activations",
    "logits": "Logits and loss",
    "temporary": "Temporary tensors",
    "other": "Driver and buffers",
}
"""Parts of the bar, in its order."""
PART_OF = dict.fromkeys(WEIGHTS, "parameters")
"""Components whose part has another name."""
MEMORY = "A card's memory"
"""The line of the answer that says what a card needs."""
LEAST = 500_000
"""Bytes below which a row would say 0.000 GB."""
FEW = 10
"""Published runs below which there are few."""
FAILED = "though your message says that it failed"
SAID = {"fits": "Fits", "uncertain": "Uncertain", "not": "Does not fit"}
MEMORY_PAGE = ("The bill", "chapter/memory/#the-bill")
PEAK_PAGE = ("The peak", "chapter/memory/#the-peak")
CARD_PAGE = ("What a card can give", "lab/peak/#what-a-card-can-give")
ZERO_PAGE = ("ZeRO", "chapter/parallelism/#zero-copies-but-not-of-everything")
LAW = ("The iron law", "chapter/iron-law/#the-law")
EXPERIENCE = ("What experience adds", "engine/accuracy/#what-experience-adds")
EXPLAINED = {
    MEMORY: EXPERIENCE,
    "A step": LAW,
    "Tokens a second": ("Prediction and log", "chapter/run/#prediction-and-log"),
    "The run": LAW,
    "Money": ("The same model, seven years of bills", "chapter/run/#the-same-model-seven-years-of-bills"),
    "Energy of the cards": ("The utility bill", "chapter/scaling/#the-utility-bill"),
}
"""Line of the answer -> the section of the book that explains its sum: title and address."""
PAGES = {
    "at work": PEAK_PAGE,
    "gathered": ZERO_PAGE,
    "on their way": ZERO_PAGE,
    "optimizer": ("What each optimizer keeps", "chapter/optimizers/#what-each-keeps"),
    "logits": PEAK_PAGE,
    "operation": PEAK_PAGE,
    "moment": PEAK_PAGE,
    "driver": CARD_PAGE,
    "buffers": CARD_PAGE,
    "all together": PEAK_PAGE,
    "cop": ("Fewer bits per number", "chapter/precision/#what-it-saves-in-memory-and-what-not"),
    "head: loss": PEAK_PAGE,
    **dict.fromkeys(
        ("activation", "block:", "head:", "norm:", "embedding:"),
        ("What each operation keeps", "chapter/memory/#what-each-operation-keeps"),
    ),
    "": MEMORY_PAGE,
}
"""A word in the name of a tensor -> the section of the book that explains it; the first that is in it counts."""
IMPOSSIBLE, UNCOUNTED = "Not possible together", "This page cannot count that yet"
"""What a plan without numbers is called."""


def compute(state: live.State) -> live.View:
    """The plan at which the controls stand, or why there is none."""
    try:
        return _view(state, *plan_of(state))
    except EngineError as error:
        return _impossible(state, error)


def plan_of(state: live.State) -> tuple[Any, int, int]:
    """The plan without its batch and sequence, which a hand drags, and these two. Raises `EngineError` for none."""
    require_layout(state)
    words = words_of(state)
    batch, sequence = words.pop("batch"), words.pop("sequence")
    return _plan_of(tuple(words.items())), batch, sequence


@lru_cache(maxsize=256)
def _plan_of(words: tuple[tuple[str, Any], ...]) -> Any:
    from ironlaw import setup

    return prepare(setup(**dict(words), batch=1, sequence=64))


def _view(state: live.State, plan: Any, batch: int, sequence: int) -> live.View:
    found: Estimate = plan(batch, sequence)
    memory = found.memory_bytes
    need, room, verdict = memory.device_total / GB, memory.capacity / GB, found.verdict
    seen = found.calibrated
    band = seen.needed if seen else None
    fullest = peak(plan.setup, batch, sequence)
    sizes = parts_of(found, fullest)
    drawn = bar(sizes, need, room, band)
    step = seen.step_s.expected if seen else found.time.step_s
    expected_gb = f"{band.expected / GB:.1f} GB and " if band else ""
    headline = live.Figure(
        f"Peak of a card by the count; expect {expected_gb}{duration(step)} a step", f"{need:.1f}", f"of {room:.1f} GB"
    )
    asked = replace(plan.setup, data=DataShape(batch, sequence))
    why = "" if state.moving else cause(asked, sizes, fullest)
    open_yet, host = instead(state, verdict, need, room), offloaded(asked, found)
    failure = (
        None
        if open_yet or verdict == "fits"
        else _failure(verdict, need, room, band, host, why, uncounted=bool(left(state)))
    )
    success = open_yet or (_success(need, room, band, host, why) if verdict == "fits" else None)
    if first := "" if state.moving or open_yet else experts(asked):
        failure = replace(failure, excess=f"{first} {failure.excess}") if failure else None
        success = replace(success, what=f"{first} {success.what}") if success else None
    said = open_yet.title if open_yet else SAID[verdict]
    leans = f", {_leaning(room, band)}" if band and said == SAID["uncertain"] else ""
    if said in (SAID["fits"], SAID["uncertain"]) and has_failed(state):
        leans = f", {FAILED}"
        failure = replace(failure, title=f"{failure.title}, {FAILED}") if failure else None
        success = replace(success, title=f"{success.title}, {FAILED}", marked=False) if success else None
    if state.moving:
        return live.View(data=drawn, headline=headline, summary="", failure=failure, success=success)
    numbers = answers(state, found)
    phases, fullest_phase = phases_of(asked)
    stacked = stack(asked, phases, {one.moment: parts_of(found, one) for one in moments(asked)}, sizes)
    largest = ", ".join(f"{PARTS[part].lower()} {size:.1f} GB" for part, size in sizes.items() if size >= 0.05)
    expected = (
        f"expect {numbers[MEMORY][0]} of the {room:.1f} GB that a card can give, and {numbers['A step'][0]} a step"
    )
    return live.View(
        data=drawn
        | {
            "stack": stacked,
            "phase_frame": ({"gb": 0.0}, {"gb": 1.08 * max(room, *(float(str(row["gb"])) for row in phases))}),
        },
        headline=headline,
        summary=f"{said}{leans}: {expected}. Counted, the peak of a card is {need:.1f} GB: {largest}.",
        tables={
            "answer": _answer_table(
                numbers,
                _joined(
                    generating(asked),
                    beyond(asked),
                    _formats(state, asked),
                    beside(state),
                    held(asked),
                    away(asked),
                    communicators(asked),
                    loading(asked, host, lean=LEAN in more_of(state.controls)),
                    evidence(found),
                    fullest_phase,
                ),
                host,
                seen.device_total if seen else None,
            ),
            "memory": _memory_table(asked, found, fullest),
            "moments": phase_table(phases, asked),
            "sums": sums(state, asked, found, numbers),
            **measured_tables(state, asked),
        },
        failure=failure,
        success=success,
        command=command(words_of(state)),
        readings={what: expected for what, (expected, *_) in numbers.items()}
        | {"Verdict": said}
        | {PARTS[part]: f"{size:.1f} GB" for part, size in sizes.items()},
    )


def bar(sizes: dict[str, float], need: float, room: float, band: Any) -> dict[str, tuple[live.Row, ...]]:
    """The rows of the first chart: the parts one after the other, the band, and what the card can give."""
    rows: list[live.Row] = []
    base = 0.0
    for part, size in sizes.items():
        rows.append({"part": part, "from": base, "to": base + size, "name": f"{PARTS[part]} {size:.1f} GB"})
        base += size
    top = 1.08 * max(room, band.high / GB if band else 0, need)
    label: tuple[live.Row, ...] = ({"gb": room, "text": f"the card can give {room:.1f} GB"},)
    return {
        "bar": tuple(rows),
        "room": label,
        "room_right": label if room > top / 2 else (),
        "room_left": label if room <= top / 2 else (),
        "band": ({"low": band.low / GB, "high": band.high / GB},) if band else (),
        "frame": ({"gb": 0.0}, {"gb": top}),
    }


def parts_of(found: Estimate, fullest: Peak) -> dict[str, float]:
    """GB of the parts of the peak. They add up to what the card must have."""
    m, held = found.memory_bytes, fullest.components
    parts = {
        "parameters": sum(held.get(name, 0) for name in WEIGHTS) + fullest.of("weights"),
        "gradients": held.get("gradients", 0) + held.get("buckets", 0) + fullest.of("gradients"),
        "optimizer": m.optimizer,
        "activations": m.activations,
        "logits": m.logits,
        "temporary": sum(one.bytes for one in fullest.parts if one.kind == "temporary" and one.bytes > 0),
        "other": m.workspace + m.runtime + m.context,
    }
    # What is not there at the moment is taken off where it is counted.
    for one in fullest.parts:
        missing = max(-one.bytes, 0)
        for name in (*one.lacks, "temporary", "logits", "activations", "optimizer"):
            part = PART_OF.get(name, name)
            taken = min(parts[part], held.get(name, parts[part]), missing)
            parts[part] -= taken
            missing -= taken
    return {part: size / GB for part, size in parts.items()}


def answers(state: live.State, found: Estimate) -> dict[str, tuple[str, str, str]]:
    """Line -> what to expect, and the band's two ends, as texts."""
    seen, time = found.calibrated, found.time
    gpus = int(state.controls["gpus"])
    chip_price = found.usd_per_1e9_tokens
    said = float(state.controls["price"])
    # The estimate's price is per tokens at the physical rate; per hour it is the same at every rate.
    hourly = (
        said * gpus if said else None if chip_price is None else chip_price * time.tokens_per_s * SECONDS_PER_HOUR / 1e9
    )
    watts = found.energy_j_per_token * time.tokens_per_s
    tokens = float(state.controls["tokens"]) * 1e6
    steps = seen.step_s if seen else None
    seconds = [steps.expected, steps.low, steps.high] if steps else [time.step_s] * 3
    per_step = time.tokens_per_s * time.step_s
    hours = [tokens / (per_step / one) / SECONDS_PER_HOUR for one in seconds]
    memory = seen.needed if seen else None
    sizes = [memory.expected, memory.low, memory.high] if memory else [found.memory_bytes.device_total] * 3
    lines: dict[str, list[str]] = {
        MEMORY: [f"{size / GB:.1f} GB" for size in sizes],
        "A step": [duration(one, seconds[0]) for one in seconds],
        "Tokens a second": [f"{significant(per_step / one)}" for one in (seconds[0], seconds[2], seconds[1])],
        "The run": [duration(one * SECONDS_PER_HOUR, hours[0] * SECONDS_PER_HOUR) for one in hours],
        "Money": ["no price on record" if hourly is None else f"{significant(one * hourly)} USD" for one in hours],
        "Energy of the cards": [f"{significant(one * watts / 1000)} kWh" for one in hours],
    }
    return {what: (one[0], one[1], one[2]) for what, one in lines.items()}


def sums(state: live.State, asked: Setup, found: Estimate, numbers: dict[str, tuple[str, str, str]]) -> live.Table:
    """How each line of the answer comes about, by the figures beside it."""
    seen, time, gpus = found.calibrated, found.time, int(state.controls["gpus"])
    tokens = float(state.controls["tokens"])

    def scaled(counted: str, expected: float, count: float) -> str:
        factor = significant(expected / count)
        return f"{counted} counted × {factor}, the middle of what published runs took of their counts"

    need = found.memory_bytes.device_total
    expected = (seen.needed.expected, seen.step_s.expected) if seen else (need, time.step_s)
    run, cards = numbers["The run"][0], f"{gpus:,} card{'s' * (gpus > 1)}"
    said_price = float(state.controls["price"])
    hourly = said_price or hourly_price(asked.chip)
    bought = "" if said_price or asked.chip.rent else ", of what the card costs to buy, over three years"
    lines = {
        MEMORY: scaled(f"{need / GB:.1f} GB", expected[0], need),
        "A step": scaled(f"{duration(time.step_s)}", expected[1], time.step_s),
        "Tokens a second": f"{asked.tokens:,} tokens of a step / {numbers['A step'][0]}",
        "The run": f"{tokens:,g} million tokens / {numbers['Tokens a second'][0]} a second",
        "Money": "" if hourly is None else f"{run} × {cards} × {significant(hourly)} USD an hour{bought}",
        "Energy of the cards": f"{run} × {cards} × {asked.chip.tdp:,g} W, drawn all the time",
    }
    rows = [live.row(what, numbers[what][0], said, EXPLAINED[what][0]) for what, said in lines.items() if said]
    return _explained("Where each number comes from", ("", "Expect", "Sum", "Explained in"), rows, EXPLAINED.values())


def _explained(
    caption: str, titles: Sequence[str], rows: Sequence[Mapping[str, str]], pages: Iterable[tuple[str, str]]
) -> live.Table:
    """A table of names, numbers, sums in words, and pages that explain them, as links."""
    columns = tuple(replace(one, numeric=at == 1) for at, one in enumerate(live.columns(*titles)))
    told = {row["d"] for row in rows}
    return live.Table(caption, columns, rows, {title: page for title, page in pages if title in told})


def duration(seconds: float, like: float | None = None) -> str:
    """A time in the unit in which people say it, or say a time like another one."""
    told = seconds if like is None else like
    for least, size, unit in ((2 * 86_400, 86_400, "days"), (7200, 3600, "hours"), (120, 60, "minutes"), (1, 1, "s")):
        if told >= least:
            return f"{significant(seconds / size)} {unit}"
    return f"{significant(seconds * 1000)} ms"


def significant(value: float) -> str:
    """A number with three digits that count."""
    if value >= 100:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def _formats(state: live.State, asked: Setup) -> str:
    """Which formats stand where nobody has chosen any."""
    if state.controls["precision"]:
        return ""
    whose = "your files have them" if says_formats(state.controls) else "usual on these cards"
    said = f"Formats, as {whose}: {FORMATS.get(asked.precision.name, asked.precision.name)}."
    if asked.precision.name not in DIVIDED.values() or asked.layout.peers == 1:
        return said
    return f"{said} So blocks hand on 16 bits, where autocast on one card hands on FP32: activations take less."


def evidence(found: Estimate) -> str:
    """How many published runs stand behind the bands, in sentences; nothing where there are no bands."""
    if (seen := found.calibrated) is None:
        return ""
    memory, time = seen.needed, seen.step_s
    few = min(memory.runs, time.runs) < FEW
    said = (
        f"{'Few published runs are like this one' if few else 'Published runs like this one'}: {_runs(memory)} for "
        f"memory, {_runs(time)} for time. Like it in the family of the card, formats and software; method and model "
        "may differ."
    )
    return f"{said} The bands rest on what all runs have in common." if few else said


def _runs(band: Any) -> str:
    if not band.runs:
        return "none"
    return f"{band.runs:,} from {band.sources:,} source{'s' * (band.sources > 1)}"


def _answer_table(numbers: dict[str, tuple[str, str, str]], sentences: str, host: str, shown: Any) -> live.Table:
    rows = [
        live.row(what, expected, f"{low} to {high}" if low != high else "")
        for what, (expected, low, high) in numbers.items()
    ]
    if host:
        rows.insert(1, live.row("A machine's own memory (RAM), while it trains; for loading see below", host, ""))
    if shown:
        ends = f"{shown.low / GB:.1f} GB to {shown.high / GB:.1f} GB"
        rows.insert(
            1, live.row("What nvidia-smi shows, with what PyTorch keeps", f"{shown.expected / GB:.1f} GB", ends)
        )
    caption = f"What to expect, and the band that is meant to hold nine runs in ten. {sentences}"
    return live.Table(caption, live.columns("", "Expect", "Band"), rows)


def _memory_table(asked: Setup, found: Estimate, fullest: Peak) -> live.Table:
    """Every tensor of the fullest moment with the sum behind it: the rows add up to what the card must have."""
    lines, data, m = explain(asked), asked.data, found.memory_bytes
    absent = set(MOMENTARY) - fullest.components.keys()
    named = [line for line in (*lines.static, *lines.saved) if line.name.split()[0] not in absent]
    sums = [(line.name, line.formula, line.value) for line in named]
    sums += [(part.name, part.formula, part.bytes) for part in fullest.parts]
    holds = "vLLM's share of the card" if asked.rollout else "DeepSpeed's and NCCL's buffers"
    sums += [(holds, "outside of the step's tensors", m.runtime)] if m.runtime else []
    sums += [("the driver", "its context, outside of PyTorch's tensors", m.context)]
    whole = "between steps" if fullest.moment.startswith(EVALUATION) else "of the step"
    sums += [("all together", f"the fullest moment {whole}: {fullest.moment}", m.device_total)]
    rows = [
        live.row(name, f"{size / GB:,.3f}".replace("-", "−"), said.replace(" x ", " × "), _page_of(name)[0])
        for name, said, size in sums
        if abs(size) >= LEAST
    ]
    caption = f"Bytes of one card, B = {data.batch:,} sequence{'s' * (data.batch > 1)} of T = {data.sequence:,} tokens"
    return _explained(caption, ("Tensor", "GB", "Sum", "Explained in"), rows, PAGES.values())


def _page_of(tensor: str) -> tuple[str, str]:
    """The page that explains a row of the table of tensors."""
    return next((page for word, page in PAGES.items() if word in tensor), PAGES[""])


def _band(band: Any, host: str) -> str:
    """Where runs are by experience, and how much experience that is."""
    ends = f"{band.low / GB:.1f} to {band.high / GB:.1f} GB"
    if band.runs >= FEW:
        few = ", of which hardly any offload" if host else ""
        return f"Scaled by the errors on {band.runs:,} published runs like it{few}: {ends}"
    return f"Few published runs are like it ({_runs(band)}); scaled by the errors on all of them: {ends}"


def _joined(*sentences: str) -> str:
    """Sentences in a row, without those that are empty."""
    return " ".join(filter(None, sentences))


def _success(need: float, room: float, band: Any, host: str, why: str) -> live.Success:
    said = _band(band, host) if band else f"The count is {need:.1f} GB"
    more = f" Each machine needs {host} of its own memory (RAM) too." if host else ""
    return live.Success("Fits", _joined(f"{said}; the card gives {room:.1f} GB.{more}", why))


def _leaning(room: float, band: Any) -> str:
    """On which side the expected value lies, of a verdict that is uncertain."""
    return "probably yes" if band.expected / GB <= room else "probably not"


def _failure(
    verdict: str, need: float, room: float, band: Any, host: str, why: str, *, uncounted: bool
) -> live.Failure:
    safe = max(need, band.high / GB if band else 0)
    if verdict == "not":
        more = ", and more for what is not counted" if uncounted else ""
        return live.Failure(
            "Does not fit",
            f"A card needs {need:.1f} GB.",
            _joined(f"It can give {room:.1f} GB.", why),
            f"To fit safely as it is, a card would have to give {safe:.1f} GB{more}. "
            "Changes that help are looked for below.",
        )
    # The count is the least that the card must have; that it may fit all the same rests on runs that took less.
    less = need > room
    counted = f"By the count it does not fit: {need:.1f} GB." if less else f"By the count it fits: {need:.1f} GB."
    runs = f"Some published runs took {'less' if less else 'more'} than their count."
    return live.Failure(
        "Uncertain",
        f"{_leaning(room, band).capitalize()}. {counted}" if band else counted,
        _joined(f"{runs} {_band(band, host)}; the card gives {room:.1f} GB.", why),
        "Changes that make it safe are looked for below.",
    )


def _impossible(state: live.State, error: EngineError) -> live.View:
    """A plan whose parts exclude each other, or that the page cannot count."""
    why, uncounted = worded(error), is_uncounted(error)
    empty = live.Table("Nothing to show", live.columns("Part", "GB"), [])
    title = UNCOUNTED if uncounted else IMPOSSIBLE
    return live.View(
        data={
            "bar": (),
            "room": (),
            "room_right": (),
            "room_left": (),
            "band": (),
            "frame": ({"gb": 0.0}, {"gb": 1.0}),
            "stack": (),
            "phase_frame": ({"gb": 0.0}, {"gb": 1.0}),
        },
        headline=live.Figure("Not counted" if uncounted else "Not possible", "–", ""),
        summary=f"{title}: {why}",
        tables={"answer": empty, "memory": empty, "moments": empty, **read_tables(state)},
        failure=live.Failure(
            title,
            why[:1].upper() + why[1:] + ".",
            "",
            f"Changes that make it {'countable' if uncounted else 'possible'} are looked for below.",
        ),
    )
