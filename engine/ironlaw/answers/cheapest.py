"""The search for the changes that make a configuration fit at the least cost.

Sets of changes are tried in the order of their estimated price, the price that they would have if changes were
independent; once a set fits, much dearer ones need not be tried. Before the memory of a set is counted in full, a quick
check of the part that does not depend on the batch rules many sets out. The number of configurations tried is limited;
if the limit ends the search, the sets that need the least memory are tried before it gives up.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import prod
from typing import TypeVar

from ironlaw.answers.changes import SCALES, Change, allowed
from ironlaw.answers.estimate import expected, features, prepare
from ironlaw.config.resolved import Setup
from ironlaw.core.units import Count, Ratio
from ironlaw.memory.ledger import CUBLAS_WORKSPACE, CUDA_CONTEXT, busiest, memory_plans
from ironlaw.memory.static import static_tensors
from ironlaw.memory.tensors import MemoryLedger

EFFORT: Ratio = 0.02
"""The assumed price of each further change, as a share of the step, because somebody has to make and maintain it."""
SPARE: Ratio = 0.02
"""Share of the memory that a suggestion leaves free, for gaps between tensors that no other tensor fits into."""
MOST_TRIED: Count = 200
"""Configurations whose memory is counted to find a set that fits, and again as many to find that there is none."""
SLACK: Ratio = 0.05
"""How far a set's estimated price may exceed the best found and still be tried: changes are not quite independent."""
STATE = ("precision", "base-format", "optimizer", "optimizer-in-backward", "offload", "zero", "update")
"""Knobs on what a device holds whatever the batch."""
KEPT = ("parameters", "master", "gradients", "optimizer")

Taken = tuple[Change, ...]
Price = tuple[Ratio, Ratio]
Found = TypeVar("Found")
Steps = Generator[None, None, Found]
"""A search that stops after each configuration, for whoever waits."""


def finished(steps: Steps[Found]) -> Found:
    """What a search finds."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]


@dataclass
class Search:
    """A configuration, with the memory and the time of all sets of changes computed so far: each is computed only once.

    Attributes:
        c: The configuration.
        certain: Whether what fits has to fit by experience, with the whole of its band, and not by the count alone.
    """

    c: Setup
    certain: bool = False
    _totals: dict[tuple[str, ...], float] = field(default_factory=dict)
    _seconds: dict[tuple[str, ...], float] = field(default_factory=dict)
    _left: Count = 0

    def cheapest(self, options: Sequence[Change]) -> Steps[Taken]:
        """The set of changes that fits at the least cost, with memory to spare if possible; empty when none is found.

        Args:
            options: The changes to choose from.
        """
        capacity = self.c.chip.usable_bytes
        return (yield from self._cheapest(options, (1 - SPARE) * capacity)) or (
            yield from self._cheapest(options, capacity)
        )

    def price(self, taken: Taken) -> Price:
        """The price of a set of changes: time and effort; then, among equals, time alone, which may be below 1."""
        slowdown = self._time(taken) / self._time(())
        return max(slowdown, 1.0) + EFFORT * (len(taken) - 1), slowdown

    def _cheapest(self, options: Sequence[Change], limit: float) -> Steps[Taken]:
        knobs: dict[str, list[Change]] = {}
        for change in options:
            knobs.setdefault(change.knob, []).append(change)
        states = []
        for state in _sets(knobs, STATE):
            if self._floor(state) <= limit:
                states.append(state)
            yield
        self._left = MOST_TRIED
        return (yield from self._by_price(knobs, states, limit)) or (yield from self._leanest(knobs, states, limit))

    def _by_price(self, knobs: dict[str, list[Change]], states: Sequence[Taken], limit: float) -> Steps[Taken]:
        best: Taken = ()
        least = float("inf"), float("inf")
        few = {k: v[:1] if k in SCALES else v for k, v in knobs.items()}
        others = [*_sets(few, [k for k in knobs if k not in STATE])]
        alone = {one.option: (one,) for taken in (*states, *others) for one in taken}
        yield from self._timed(alone.values())
        ratios = {option: self.price(one)[1] for option, one in alone.items()}
        costs = [[prod(ratios[one.option] for one in taken) for taken in sets] for sets in (states, others)]
        queue = sorted(
            (max(a * b, 1.0) + EFFORT * (len(states[i]) + len(others[j]) - 1), len(states[i]) + len(others[j]), i, j)
            for i, a in enumerate(costs[0])
            for j, b in enumerate(costs[1])
        )
        least_held = min(states, key=self._floor, default=())
        hopeful: dict[int, bool] = {}
        useful: dict[int, bool] = {}
        strongest = [knobs[knob][-1] for knob in knobs if knob not in STATE]
        for seems, count, i, j in queue:
            if seems > least[0] + SLACK or self._left <= 0:
                break
            if 1 + EFFORT * (count - 1) > least[0]:
                continue
            if i not in hopeful:
                hopeful[i] = False
                for more in _lean(strongest, knobs):
                    hopeful[i] = hopeful[i] or (yield from self._fits((*states[i], *more), limit))
            if not hopeful[i]:
                continue
            if j not in useful:
                most = tuple(knobs[one.knob][-1] if one.knob in SCALES else one for one in others[j])
                useful[j] = yield from self._fits((*least_held, *most), limit)
            taken = (yield from self._mildest((*states[i], *others[j]), knobs, limit)) if useful[j] else ()
            if taken:
                least, best = min((least, best), (self.price(taken), taken), key=lambda pair: pair[0])
        return best

    def _leanest(self, knobs: dict[str, list[Change]], states: Sequence[Taken], limit: float) -> Steps[Taken]:
        """A set that fits, found among those that need the least memory, without the changes that it does not need."""
        self._left = MOST_TRIED
        free = [knobs[knob][0] for knob in ("attention", "sequence-parallel", "update") if knob in knobs]
        update = set(knobs.get("update", ()))
        ends = {knob: knobs[knob][-1:] for knob in SCALES if knob in knobs} | {
            "checkpointing": knobs.get("checkpointing", [])
        }
        others = sorted(_sets(ends, [*ends]), key=len, reverse=True)
        for state in sorted((state for state in states if not update & set(state)), key=self._floor):
            for other in others:
                taken = (*free, *state, *other)
                if self._left <= 0:
                    return ()
                if (yield from self._fits(taken, limit)):
                    return (yield from self._without(taken, knobs, limit))
        return ()

    def _without(self, taken: Taken, knobs: dict[str, list[Change]], limit: float) -> Steps[Taken]:
        """A set that fits, made cheaper change by change."""
        taken = yield from self._mildest(taken, knobs, limit)
        yield from self._timed((one,) for one in taken)
        for change in sorted(taken, key=lambda one: self.price((one,)), reverse=True):
            fewer = tuple(one for one in taken if one is not change)
            yield from self._timed((fewer,))
            if fewer and self.price(fewer) <= self.price(taken) and (yield from self._fits(fewer, limit)):
                taken = fewer
        return taken

    def _mildest(self, taken: Taken, knobs: dict[str, list[Change]], limit: float) -> Steps[Taken]:
        """The set with the mildest grades of its scales that fit; empty when not even the strongest do."""
        grades = {change.knob: knobs[change.knob] for change in taken if change.knob in SCALES}
        chosen = {knob: scale[-1] for knob, scale in grades.items()}

        def fits() -> Steps[bool]:
            return self._fits(tuple(chosen.get(change.knob, change) for change in taken), limit)

        if not (yield from fits()):
            return ()
        for knob in (knob for knob in SCALES if knob in grades):
            scale = grades[knob]
            low, high = 0, len(scale) - 1
            while low < high:
                # Most often the fewest pieces of the loss are enough, so they are tried first.
                middle = low if knob == "loss" and not low else (low + high) // 2
                chosen[knob] = scale[middle]
                low, high = (low, middle) if (yield from fits()) else (middle + 1, high)
            chosen[knob] = scale[high]
        return tuple(chosen.get(change.knob, change) for change in taken)

    def _fits(self, taken: Taken, limit: float) -> Steps[bool]:
        key = _key(taken)
        if key not in self._totals:
            self._totals[key] = self._total(taken)
            yield
        return self._totals[key] <= limit

    def _total(self, taken: Taken) -> float:
        """Bytes of the busiest device, infinite where the changes exclude each other."""
        if _exclusive(taken):
            return float("inf")
        changed = apply(self.c, taken)
        if not allowed(changed):
            return float("inf")
        self._left -= 1
        held = ledger(changed)
        return needed(changed, held) if self.certain else held.device_total

    def _floor(self, state: Taken) -> float:
        """Bytes that are there at the update whatever the batch: parameters, gradients and states."""
        if _exclusive(state):
            return float("inf")
        changed = apply(self.c, state)
        held = max(
            sum(t.bytes for t in static_tensors(changed, stage) if t.place == "device" and t.component in KEPT)
            for stage in dict.fromkeys((*changed.stages[:2], changed.stages[-1]))
        )
        return held + (CUBLAS_WORKSPACE + CUDA_CONTEXT if changed.framework.backend == "cuda" else 0)

    def _timed(self, sets: Iterable[Taken]) -> Iterator[None]:
        for taken in sets:
            self._time(taken)
            yield

    def _time(self, taken: Taken) -> float:
        key = _key(taken)
        if key not in self._seconds:
            self._seconds[key] = seconds_per_token(apply(self.c, taken))
        return self._seconds[key]


def apply(c: Setup, taken: Taken) -> Setup:
    """A configuration with changes."""
    for change in taken:
        c = change.apply(c)
    return c


def ledger(c: Setup) -> MemoryLedger:
    """The memory of the busiest device, counted quickly for setups that differ by grades of a scale only."""
    # `memory_plans` caches its results. One plan, for at most two micro-batches and two chunks, serves all grades
    # of a scale: more micro-batches need as much memory as two, and the number of chunks is set below.
    chunks, layout = c.loss.chunks, c.layout
    if layout.pipeline == 1:
        layout = replace(layout, micro_batches=min(c.micro_batches, 2))
    one = replace(c, layout=layout, loss=replace(c.loss, chunks=min(chunks, 2)))
    return busiest(tuple(replace(plan, chunks=chunks) for plan in memory_plans(one)), c.batch, c.own_sequence)


def needed(c: Setup, held: MemoryLedger) -> float:
    """Bytes of the device that nine in ten published runs like this one stay below."""
    return expected(features(c), 1.0, 1.0, held.allocated_peak, held.device_total).needed.high


def seconds_per_token(c: Setup) -> float:
    """Device-seconds of the whole job per token."""
    return prepare(c).step(c.batch, c.sequence).total * c.devices / c.tokens


def _exclusive(taken: Taken) -> bool:
    """Whether gradients are to be consumed as they appear and also to wait in host memory."""
    return {"--optimizer-in-backward", "--offload gradients"} <= {change.option for change in taken}


def _key(taken: Taken) -> tuple[str, ...]:
    return tuple(sorted(change.option for change in taken))


def _sets(knobs: dict[str, list[Change]], of: Sequence[str]) -> Iterator[Taken]:
    """Every set with at most one change of each of these knobs."""
    choices = [(None, *knobs[knob]) for knob in of if knob in knobs]
    return (tuple(change for change in chosen if change is not None) for chosen in product(*choices))


def _lean(strongest: Sequence[Change], knobs: dict[str, list[Change]]) -> Iterator[Taken]:
    """The sets that may need the least memory besides the state.

    All strongest changes; then these with each other kind of checkpointing; last these with unsplit micro-batches.
    """
    yield tuple(strongest)
    for one in reversed(knobs.get("checkpointing", [])[:-1]):
        yield tuple(one if change.knob == "checkpointing" else change for change in strongest)
    yield tuple(change for change in strongest if change.knob != "batch")
