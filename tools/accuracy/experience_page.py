"""The parts of the page that show what the calibration adds to the physics, and how many runs its band covers."""

from __future__ import annotations

from xml.etree.ElementTree import Element

from explorable.shared.markup import element
from ironlaw.calibration import Features, calibrate
from tools.accuracy.experience import CARRIED, CHOSEN, NAMES, Figures, experience
from tools.accuracy.regimes import DEVICES, regimes
from tools.accuracy.reserved import judged
from tools.accuracy.tables import Cell, spaced, table

_EXAMPLES = (
    ("time", "8 data-center GPUs, eager", Features("data-center", 8, "eager")),
    ("time", "8 data-center GPUs, compiled", Features("data-center", 8, "compiled")),
    ("time", "512 data-center GPUs, compiled", Features("data-center", 512, "compiled")),
    ("time", "512 data-center GPUs, Megatron", Features("data-center", 512, "compiled", software="megatron")),
    (
        "time",
        "512 data-center GPUs, Megatron and DeepSpeed",
        Features("data-center", 512, "compiled", software="deepspeed"),
    ),
    ("time", "16,384 data-center GPUs, compiled", Features("data-center", 16_384, "compiled")),
    ("time", "8 data-center GPUs, compiled, FP8", Features("data-center", 8, "compiled", "fp8")),
    ("time", "one GeForce card, compiled", Features("geforce", 1, "compiled")),
    ("time", "an accelerator of no known family", Features("unknown", 8, "compiled")),
    ("allocated", "one data-center GPU, eager", Features("data-center", 1, "eager")),
    ("allocated", "one GeForce card, eager", Features("geforce", 1, "eager")),
    (
        "device memory",
        "512 data-center GPUs, Megatron and DeepSpeed",
        Features("data-center", 512, "compiled", software="deepspeed"),
    ),
    ("device memory", "one GeForce card, eager", Features("geforce", 1, "eager")),
)
"""Kinds of runs, from well known to unknown."""


def experience_totals() -> Element:
    """Physics alone and with experience, for all sources together."""
    body: list[list[Cell]] = [
        [NAMES[f.kind], f"{f.rows}", *_errors(f), f"{100 * f.coverage_of_sources:.0f}", f"{f.width:.2f}"]
        for f in experience().totals
    ]
    header = ["What", "Rows", *_HEADER, "In the band, each source once %", "Upper over lower end"]
    return table("Error of physics alone and of the expected value", header, body, numbers=range(1, len(header)))


def experience_sources() -> Element:
    """The same by source, beside a constant utilization."""
    links = {o.source: o.comparison.row.source.url for o in (j.observation for j in experience().judged)}
    body: list[list[Cell]] = [
        [(f.source, links[f.source]), NAMES[f.kind], f"{f.rows}", *_medians(f), _part(f.carried), _part(f.hindsight)]
        for f in experience().sources
    ]
    header = [
        "Source",
        "What",
        "Rows",
        "Physics %",
        "Expected %",
        "In the band %",
        "MFU of others %",
        "MFU in hindsight %",
    ]
    return table("Median error by source, each predicted without it", header, body, numbers=range(2, len(header)))


def goals() -> Element:
    """What was wanted, what was reached, and where it was missed."""
    body: list[list[Cell]] = [
        [g.name, g.wanted, g.reached, "met" if g.met else "missed", g.where] for g in experience().goals
    ]
    return table("Goals", ["Goal", "Wanted", "Reached", "Verdict", "Where it falls short"], body, numbers=())


def against_utilization() -> Element:
    """On how many sources the engine is nearer than a constant utilization, by both ways to choose it."""
    reached = {goal.name: goal.reached for goal in experience().goals}
    return element(
        "p",
        "The rival is a constant utilization. Against one that is carried over from other sources, the engine is "
        f"nearer on {reached[CARRIED]}; against one chosen afterwards, to suit the source's own runs, on "
        f"{reached[CHOSEN]}. "
        "So if you have a run of your own, scale its MFU: the engine is for when you have none.",
    )


def regime_table() -> Element:
    """Times by devices, by seconds of a step and by how full the cards were, each predicted without its source."""
    body: list[list[Cell]] = [
        [
            r.what,
            f"{r.rows}",
            f"{r.sources}",
            f"{100 * r.physics:+.1f}",
            *(f"{100 * x:.1f}" for x in (r.physics_p90, r.calibrated, r.calibrated_p90)),
            f"{100 * r.coverage:.0f}",
        ]
        for r in regimes(experience().judged)
    ]
    header = ["Runs", "Rows", "Sources", "Physics: signed median %", *_HEADER[1:]]
    return table("Error of step times by regime", header, body, numbers=range(1, len(header)))


def coverage() -> Element:
    """Of published times by number of devices, the share that the band held, in a sentence."""
    bins = [name for _, name in DEVICES]
    held = [spaced(f"{r.coverage:.0%} on {r.what}") for r in regimes(experience().judged) if r.what in bins]
    said = f"The band is meant to hold nine runs in ten. Of published step times it held {', '.join(held)}."
    return element("p", said)


def reserved_table() -> Element:
    """Reserved bytes of played steps: the models that the band is fitted to, and those that judge it."""
    body: list[list[Cell]] = [
        [
            half.what,
            f"{half.models}",
            f"{half.rows}",
            f"{100 * half.median:.1f}",
            f"{100 * half.p90:.1f}",
            f"{100 * half.covered:.0f}",
        ]
        for half in judged()
    ]
    header = ["Rows of", "Models", "Rows", "Median %", "9 in 10 below %", "In the band %"]
    return table("Error of reserved memory", header, body, numbers=range(1, len(header)))


def overhead() -> Element:
    """What the fitted calibration adds for some kinds of runs, with the band and the runs behind it."""
    body: list[list[Cell]] = []
    for kind, name, features in _EXAMPLES:
        made = calibrate(kind, 1.0, features)
        shares = [f"{round(100 * (x - 1)):+d}" for x in (made.expected, made.low, made.high)]
        body.append([NAMES[kind], name, *shares, f"{made.runs}", f"{made.sources}"])
    header = ["What", "Run", "Expected %", "Band from %", "to %", "Runs near", "Their sources"]
    caption = f"What {len(experience().judged)} published values add to physics"
    return table(caption, header, body, numbers=range(2, len(header)))


_HEADER = (
    "Physics: median %",
    "9 in 10 below %",
    "Expected: median %",
    "9 in 10 below %",
    "In the band %",
)


def _errors(f: Figures) -> list[Cell]:
    return [
        f"{100 * f.physics:.1f}",
        f"{100 * f.physics_p90:.1f}",
        f"{100 * f.calibrated:.1f}",
        f"{100 * f.calibrated_p90:.1f}",
        f"{100 * f.coverage:.0f}",
    ]


def _medians(f: Figures) -> list[Cell]:
    return [f"{100 * f.physics:.1f}", f"{100 * f.calibrated:.1f}", f"{100 * f.coverage:.0f}"]


def _part(error: float | None) -> str:
    return "" if error is None else f"{100 * error:.1f}"
