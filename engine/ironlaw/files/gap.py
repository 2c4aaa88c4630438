"""What somebody measured beside what the engine expects: where in the band it lies, and what would explain the rest.

Of a run that ended for lack of memory the figures are what it needed at least: they are above the band or tell nothing
against it (`ironlaw.files.failed` says the rest of such a message).

A difference between two runs is known only where a file says it. Here the engine tries a fixed list of settings that
files often leave open or that are silently inactive. It tells those that move its own figures towards the measured
ones, with what each would explain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from ironlaw.answers.changes import allowed
from ironlaw.answers.estimate import Expected, features, prepare
from ironlaw.calibration.coefficients import content
from ironlaw.config.changed import changed
from ironlaw.config.resolved import Setup
from ironlaw.config.setup import setup
from ironlaw.core.units import Bytes, Ratio, Seconds
from ironlaw.files.facts import Observed
from ironlaw.files.words import Understood
from ironlaw.graph import operations

Place = Literal["below", "inside", "above"]
_MEMORY = ("allocated_peak", "reserved", "device_total")
NOTICED: Ratio = 0.02
"""Share of a gap that a difference closes at least to be told."""
NAMES = {"step_s": "time of a step", "tokens_per_s": "tokens per second", "allocated_peak": "allocated memory",
         "reserved": "reserved memory", "needed": "memory with what it asked for",
         "device_total": "memory of the process"}  # fmt: skip
"""The figures that are compared: fields of `ironlaw.answers.estimate.Expected`."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A measured figure beside the engine's band.

    Attributes:
        name: A key of `NAMES`.
        measured: What was measured, in seconds, tokens per second or bytes.
        expected: What the engine expects.
        low: Where its 90 % band begins.
        high: Where it ends.
        at_least: Whether the run wanted more than was measured: it ended before its peak.
    """

    name: str
    measured: float
    expected: float
    low: float
    high: float
    at_least: bool = False

    @property
    def ratio(self) -> Ratio:
        """Measured over expected."""
        return self.measured / self.expected

    @property
    def place(self) -> Place:
        """Where it lies; the band's ends are inside."""
        return "below" if self.measured < self.low else "above" if self.measured > self.high else "inside"

    @property
    def explained(self) -> bool:
        """Whether the engine's figures leave nothing open: what a run needed at least may be less than its peak."""
        return self.place == "inside" or (self.at_least and self.place == "below")

    @property
    def sentence(self) -> str:
        """All of it in words."""
        band = f"{_amount(self.name, self.low)} to {_amount(self.name, self.high)}"
        if self.at_least:
            where = {"above": "more than", "inside": "inside", "below": "less so far than"}[self.place]
            return (
                f"The run needed at least {_amount(self.name, self.measured)} of {NAMES[self.name]}: {where} the band "
                f"of {band} around the expected {_amount(self.name, self.expected)}."
            )
        return (
            f"The {NAMES[self.name]}, {_amount(self.name, self.measured)}, is {self.place} the band of {band}: "
            f"{self.ratio:.2f} times the expected {_amount(self.name, self.expected)}."
        )


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting that would bring the engine's figures nearer to the measured ones.

    Attributes:
        words: The words of `ironlaw.setup` that it changes.
        title: What the measured run would have done.
        seconds: What it adds to a step's expected time; negative where it saves.
        bytes: What it adds to the expected memory of the process.
        left: The share of the gap that stays, as the mean of the figures outside their bands.
        sentence: What it costs, and how much of the gap that would explain.
    """

    words: Mapping[str, Any] = field(hash=False)
    title: str
    seconds: Seconds
    bytes: Bytes
    left: Ratio
    sentence: str


@dataclass(frozen=True, slots=True)
class Gap:
    """The comparison.

    Attributes:
        figures: Every measured figure that the engine has too.
        differences: What would explain those outside their bands, what explains most first; none where all are inside.
        standing: Where the time stands among published runs, in a sentence; empty where too few are like it.
        uncounted: What the run had and the engine does not count, where a figure is outside its band: how much of a
            gap a difference explains is open then.
    """

    figures: tuple[Placed, ...]
    differences: tuple[Difference, ...]
    standing: str = ""
    uncounted: tuple[str, ...] = ()

    @property
    def inside(self) -> bool:
        """Whether all lie in their bands, or below them before a peak."""
        return all(one.explained for one in self.figures)

    @property
    def sentence(self) -> str:
        """What it comes to."""
        if not self.figures:
            return "Nothing was measured that the engine has too: it compares time, tokens per second and memory."
        if self.inside and any(one.at_least for one in self.figures):
            return "The plan expects that much: what the run asked for belongs to it."
        if self.inside:
            return "All that was measured lies inside the bands: nothing needs an explanation."
        if self.uncounted:
            return f"The run had what is not counted: {', '.join(self.uncounted)}. How much that changes is not known."
        if not self.differences:
            return "None of the settings that were tried would explain it."
        return "These settings, if the run had them, would explain it in part or in whole."


def compare(
    asked: Setup | Understood | Mapping[str, Any],
    observed: Observed,
    known: Collection[str] = (),
    uncounted: Collection[str] = (),
) -> Gap:
    """What was measured beside the engine's bands, with the settings that would explain a gap.

    Args:
        asked: The setup that ran, what files said of it, or its words.
        observed: What was measured.
        known: Words of which files say how they were: they explain nothing.
        uncounted: What files say was on and the engine does not count (`ironlaw.files.Reading.uncounted`).

    Raises:
        EngineError: The words are none of a setup, or its chip has no rate on record.
    """
    c = asked if isinstance(asked, Setup) else setup(**(asked.words if isinstance(asked, Understood) else asked))
    now = _expected(c)
    figures = tuple(_placed(now, dict(_measured(c, observed)), dict(_needed(observed))))
    time = next((one.measured for one in figures if one.name == "step_s"), 0.0)
    gap = Gap(figures, (), standing(c, time) if time else "")
    if gap.inside:
        return gap
    # Of a rate alone nothing follows for the length of samples, which more memory than expected may tell.
    rated = observed.step_s is None
    longer = any(one.at_least or (rated and one.place == "above" and one.name in _MEMORY) for one in figures)
    # Tokens that a program counts are of the samples that it had: a rate of them says nothing of their length.
    shorter = observed.step_s is not None and any(one.name == "step_s" and one.place == "below" for one in figures)
    switches = _switches(c, longer=longer, shorter=shorter)
    lengths = tuple(one for one in figures if one.name != "step_s") if rated else figures
    tried = (
        _tried(c, lengths if "sequence" in words else figures, now, words, title, of_all=not uncounted)
        for words, title in switches
        if next(iter(words)) not in known
    )
    found = sorted((one for one in tried if one is not None), key=lambda one: one.left)
    return replace(gap, differences=tuple(found), uncounted=tuple(uncounted))


def utilization(c: Setup, step_s: Seconds) -> Ratio:
    """The model's FLOPs over what the dense peak could have done in the time of a step (MFU)."""
    peak = c.chip.peak(c.precision.product_format)
    return float(
        operations.utilization(operations.flops_per_token(c.model, c.sequence) * c.tokens, step_s, peak, c.devices)
    )


def alike(c: Setup) -> str:
    """The name of the card and the formats by which published steps are compared: `A100 16-bit`."""
    return f"{c.chip.name.partition('-')[0].upper()} {features(c).numbers}"


def standing(c: Setup, step_s: Seconds) -> str:
    """Where a step stands among published ones; nothing for adapters, and where too few are like it."""
    found = content()["utilization"].get(alike(c))
    if found is None or not c.adaptation.everything:
        return ""
    steps, at = found["steps"], round(100 * utilization(c, step_s))
    if at > 100:
        return f"That would be {at:,} % of what the cards can do: the run was of another plan than this one."
    # Half of those of the same percent are below it.
    place = 100 * (sum(steps[:at]) + sum(steps[at : at + 1]) / 2) / sum(steps)
    return (
        f"Your MFU, {at} %, is at percentile {place:.0f} of {sum(steps)} published runs of {found['publishers']} "
        f"publishers: full training, {alike(c)}."
    )


def _expected(c: Setup) -> Expected:
    found = prepare(c)().calibrated
    assert found is not None  # only networks of images have none
    return found


def _measured(c: Setup, observed: Observed) -> Iterator[tuple[str, float]]:
    rate = observed.tokens_per_s
    if rate is None and observed.tokens_per_s_device is not None:
        rate = observed.tokens_per_s_device * c.devices
    if step := observed.step_s or (c.tokens / rate if rate else None):
        yield "step_s", step
    if rate:
        yield "tokens_per_s", rate
    # A run that failed for lack of memory never reached its peak.
    if observed.allocated and observed.asked is None:
        yield "allocated_peak", observed.allocated
    if observed.reserved and observed.asked is None:
        yield "reserved", observed.reserved
    if observed.process and observed.asked is None:
        yield "device_total", observed.process


def _needed(observed: Observed) -> Iterator[tuple[str, float]]:
    """What a run that failed for lack of memory would have had with what it asked for in vain."""
    if observed.asked is None:
        return
    if observed.allocated:
        yield "allocated_peak", observed.allocated + observed.asked
    # What was reserved and not used is not needed, or would have been used.
    if held := observed.process or observed.in_use:
        unused = max((observed.reserved or 0) - (observed.allocated or observed.reserved or 0), 0)
        yield "needed", held - unused + observed.asked


def _placed(
    expected: Expected, measured: Mapping[str, float], needed: Mapping[str, float] = MappingProxyType({})
) -> Iterator[Placed]:
    for name, value in {**measured, **needed}.items():
        band = getattr(expected, name)
        yield Placed(name, value, band.expected, band.low, band.high, name in needed)


def _switches(c: Setup, *, longer: bool, shorter: bool) -> Iterator[tuple[dict[str, Any], str]]:
    """Settings that files often leave open, other than those of the setup; `longer` samples after a failure."""
    for times, named in ((2, "twice"), (4, "four times")):
        if longer:
            yield {"sequence": times * c.sequence}, f"Samples {named} as long"
    for parts, share in ((2, "half"), (4, "a quarter")):
        if shorter and c.sequence >= parts:
            yield {"sequence": c.sequence // parts}, f"A mean sample {share} as long (padding is not computed)"
    eager = not c.framework.compiled and not c.framework.by_hand
    flash = c.attention.kernel == "flash"
    yield ({"attention": "standard"}, "Eager attention") if flash else ({"attention": "flash"}, "Fused attention")
    if not c.framework.by_hand:
        yield (
            ({"execution": "compiled"}, "torch.compile")
            if eager
            else ({"execution": "eager"}, "Running without torch.compile")
        )
    if eager and c.model.norm == "rmsnorm":
        fused = c.framework.rms_norm == "fused"
        yield ({"rms_norm": "separate"}, "RMSNorm operation by operation") if fused else (
            {"rms_norm": "fused"}, "RMSNorm in one kernel")  # fmt: skip
    updates = {"fused": "A fused update", "foreach": "An update that is not fused", "for-loop": "An update in a loop"}
    yield from (({"update": kind}, title) for kind, title in updates.items() if kind != c.update.kind)
    if c.loss.in_pieces:
        yield {"loss": "full"}, "A loss over whole logits"
    else:
        yield {"loss": "chunked:8", "keep_logits": False}, "A loss in pieces"
        if not c.loss.kept:
            yield {"keep_logits": True}, "Keeping the logits to the end of the step"
    kinds = {"none": "No checkpointing", "selective": "Selective checkpointing", "full": "Full checkpointing"}
    yield from (({"checkpointing": kind}, title) for kind, title in kinds.items() if kind != c.checkpointing.name)
    base = {"base_format": c.adaptation.base} if c.adaptation.has_adapters else {}
    if c.precision.compute.name != "fp32":
        yield {"precision": "fp32", **base}, "Computing in FP32"
    elif short := c.chip.short_format:
        yield {"precision": f"amp-{short}", **base}, "Computing in 16 bit"
    if c.layout.peers > 1:
        yield (
            {"overlap": not c.layout.overlap},
            ("Waiting for collectives" if c.layout.overlap else "Overlapping collectives"),
        )


def _tried(
    c: Setup, figures: tuple[Placed, ...], now: Expected, words: Mapping[str, Any], title: str, *, of_all: bool
) -> Difference | None:
    """What a switch explains, `of_all` of a gap or alone; None where it leads away, or contradicts another figure."""
    after = changed(c, words)
    if not allowed(after):
        return None
    then = _expected(after)
    both = [{one.name: one.measured for one in figures if one.at_least is kind} for kind in (False, True)]
    moved = {one.name: one for one in _placed(then, *both)}
    # The throughput says what the time of a step says, unless only it is outside: samples are shorter then.
    outside = [one for one in figures if not one.explained]
    outside = [one for one in outside if one.name != "tokens_per_s"] or outside
    left = sum(_distance(moved[one.name]) / _distance(one) for one in outside) / len(outside)
    contradicted = any(one.explained and not moved[one.name].explained for one in figures)
    if contradicted or left > 1 - NOTICED:
        return None
    seconds = then.step_s.expected - now.step_s.expected
    size = round(then.device_total.expected - now.device_total.expected)
    told = (_explained(one, moved[one.name], of_all=of_all) for one in outside)
    sentence = f"{title} {'; it '.join(filter(None, told))}."
    return Difference(words, title, seconds, size, left, sentence)


def _distance(one: Placed) -> float:
    away = one.measured - one.expected
    return max(away, 0.0) if one.at_least else abs(away)


def _explained(before: Placed, after: Placed, *, of_all: bool) -> str:
    """What a switch costs or saves of a figure, and `of_all` of the gap; empty where it leads away."""
    gap, moves = before.measured - before.expected, after.expected - before.expected
    if moves * gap <= 0:
        return ""
    name, per = before.name, " a step" if before.name == "step_s" else f" of {NAMES[before.name]}"
    does = "costs" if moves > 0 else "saves"
    amount, whole = _amount(name, abs(moves)), _amount(name, abs(gap))
    if not of_all:
        return f"{does} {amount}{per}"
    if abs(moves) > abs(gap) * (1 + NOTICED):
        return f"{does} {amount}{per}, which is more than the {whole} to explain"
    part = "all" if abs(moves) >= abs(gap) * (1 - NOTICED) else amount
    return f"{does} {amount}{per}, which would explain {part} of the {whole}"


def _amount(name: str, value: float) -> str:
    if name == "tokens_per_s":
        return f"{value:,.0f} tokens/s"
    if name != "step_s":
        return f"{value / 1e9:,.2f} GB"
    return f"{value:,.3g} s" if value >= 1 else f"{value * 1e3:.3g} ms"
