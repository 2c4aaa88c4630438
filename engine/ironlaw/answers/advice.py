"""What to change: single changes that make a setup fit or, where it fits, that make it faster."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from ironlaw.answers.changes import (
    CHUNKS,
    SCALES,
    Change,
    adapters,
    allowed,
    changes,
    context,
    experts,
    more_context,
    more_devices,
    more_tensor,
    pipeline,
    quicker,
    tensor,
)
from ironlaw.answers.cheapest import Search, Steps, Taken, apply, finished, ledger, needed
from ironlaw.answers.estimate import Estimate, Verdict, prepare
from ironlaw.config.changed import changed
from ironlaw.config.resolved import Setup, require_no_arrays
from ironlaw.core.units import Bytes, Ratio

GAIN: Ratio = 0.005
"""Share of the time that a change saves at least to be advice for its speed."""
FREE: Ratio = 0.01
"""Share of the time below which what a change costs is not told apart: nobody measures it."""
LEAST: Ratio = 0.002
"""Share of what a device needs that a change saves at least to be advice, where it does not make the setup fit."""
LEVELS = ("fits", "uncertain", "not")
FOR_SPEED = ("attention", "update", "precision", "base-format", "adapter-format")
"""Knobs of changes that save memory and time."""

Accept = Callable[[Change], bool]
Complete = Callable[[Change], Change]


@dataclass(frozen=True, slots=True)
class Advice:
    """A change, and what comes of it.

    Attributes:
        option: How to ask for it on the command line.
        words: The words of `ironlaw.setup` that it changes: `setup(**{**words_before, **words})` is the changed setup.
        title: What to do, in words.
        saves_bytes: Bytes that the busiest device needs less; negative where it needs more.
        time_factor: Device-seconds per token over those before.
        fits: Whether the busiest device then has what it needs, by the count alone.
        verdict: Whether it then fits by experience.
        gives_up: What it costs besides time; empty where training computes the same numbers, up to rounding.
        safe: Whether what is trained converges as before.
    """

    option: str
    words: Mapping[str, Any] = field(hash=False)
    title: str
    saves_bytes: Bytes
    time_factor: Ratio
    fits: bool
    verdict: Verdict
    gives_up: str
    safe: bool

    @property
    def knob(self) -> str:
        """What it turns; of each knob one advice is given."""
        return self.option.split()[0]

    @property
    def same_training(self) -> bool:
        """Whether the same parameters are trained as before."""
        return "method" not in self.words


def advice(c: Setup, most: int = 6, accept: Accept = lambda change: True) -> tuple[Advice, ...]:
    """What to change, the best first: one change each, of different knobs.

    Of a setup that fits, by `Estimate.verdict`, the changes that make it faster and leave it fitting, the fastest
    first. Of another one first the changes that make it fit, by the time they cost, then the others by the bytes that
    they save for it. Changes that harm training or train something else come after those that do not. Where none of
    these makes it fit, coarser checkpointing is tried too. The devices stay as they are.

    Args:
        c: The setup.
        most: Changes that are told.
        accept: Whether a change may be told.

    Raises:
        EngineError: The setup sweeps over arrays, or its chip has no rate on record.
    """
    return finished(advising(c, most, accept))


def advising(c: Setup, most: int, accept: Accept) -> Steps[tuple[Advice, ...]]:
    """What `advice` finds, step by step."""
    require_no_arrays(c)
    trial = _Trial(c)
    if trial.now.verdict == "fits":
        found = yield from _each(trial, filter(accept, _speeding(c)))
        tried = [one for one in found if one.verdict == "fits" and one.time_factor < 1 - GAIN]
        tried.sort(key=lambda one: (not one.safe, one.time_factor))
    else:
        found = yield from _saving(c, trial, accept)
        least = LEAST * trial.now.memory_bytes.device_total
        helpful = (one for one in found if one.verdict == "fits" or one.saves_bytes > least)
        tried = sorted(helpful, key=_order)
    best: dict[str, Advice] = {}
    for one in tried:
        best.setdefault(one.knob, one)
    return tuple(best.values())[:most]


def together(
    c: Setup,
    accept: Accept = lambda change: True,
    complete: Complete = lambda change: change,
    *,
    adapted: bool = True,
) -> Advice | None:
    """The cheapest set of changes on the same devices that makes a setup fit, as one; None where it fits or none does.

    A set that fits by `Estimate.verdict` is looked for first, then one with compiled kernels that gives nothing up, one
    with tensor parallelism, a pipeline or context parallelism, one that trains adapters, last one that fits by the
    count alone. It searches, for seconds where much has to be tried.

    Args:
        c: The setup.
        accept: Whether a change may be a part of it.
        complete: Adds to a change what usually comes with it, as formats with ZeRO.
        adapted: Whether it may train adapters.

    Raises:
        EngineError: The setup sweeps over arrays, or its chip has no rate on record.
    """
    return finished(joining(c, accept, complete, adapted=adapted))


def joining(c: Setup, accept: Accept, complete: Complete, *, adapted: bool) -> Steps[Advice | None]:
    """What `together` finds, step by step."""
    require_no_arrays(c)
    trial = _Trial(c)
    if trial.now.verdict == "fits":
        return None

    def exact(change: Change) -> bool:
        return not change.gives_up and accept(change)

    others = (*tensor(c), *pipeline(c), *context(c), *(adapters(c) if adapted else ()))
    firsts = (*((one, exact) for one in _leaner_kernels(c)), *((one, accept) for one in others))
    for taken_first, take in (((), accept), *(((one,), take) for one, take in firsts if accept(one))):
        if taken := (yield from _cheapest(c, taken_first, take, complete, certain=True)):
            return trial(_joined(taken))
    taken = () if trial.now.fits else (yield from _cheapest(c, (), accept, complete, certain=False))
    return trial(_joined(taken)) if taken else None


def elsewhere(
    c: Setup, accept: Accept = lambda change: True, complete: Complete = lambda change: change
) -> Advice | None:
    """The fewest more devices on which a setup fits, if need be with every block recomputed and the loss in pieces.

    Where no number of replicas that share their states will do, a few devices share every matrix too, or every sequence
    where these are long.

    Args:
        c: The setup.
        accept: Whether a change may be a part of it.
        complete: Adds to a change what usually comes with it, as formats with ZeRO.

    Raises:
        EngineError: The setup sweeps over arrays, or its chip has no rate on record.
    """
    return finished(spreading(c, accept, complete))


def spreading(c: Setup, accept: Accept, complete: Complete) -> Steps[Advice | None]:
    """What `elsewhere` finds, step by step."""
    require_no_arrays(c)
    trial = _Trial(c)
    if trial.now.verdict == "fits":
        return None
    whole = {change.option: change for change in changes(c) if accept(change)}
    helpers = [whole[name] for name in (f"--loss chunked:{CHUNKS[0]}", "--checkpointing full") if name in whole]
    beside = ((), *((one,) for one in helpers), tuple(helpers)) if helpers else ((),)
    for change in filter(accept, map(complete, chain(more_devices(c), more_tensor(c), more_context(c)))):
        for others in beside:
            if _fits(apply(c, (change, *others))):
                return trial(_joined((change, *others)))
            yield
    return None


def ways(c: Setup, most: int = 6) -> tuple[Advice, ...]:
    """All advice for a setup, the best first: single changes, and where none makes it fit the cheapest set of them.

    More devices are advice only where nothing else was found that makes it fit and trains what the setup trains.

    Args:
        c: The setup.
        most: Single changes that are told.

    Raises:
        EngineError: The setup sweeps over arrays, or its chip has no rate on record.
    """
    found = [*advice(c, most)]
    for search in (partial(together, adapted=not any(one.verdict == "fits" for one in found)), elsewhere):
        same = any(one.verdict == "fits" and one.same_training for one in found)
        if not same and (more := search(c)) is not None:
            found.insert(0, more)
    return tuple(sorted(found, key=lambda one: (LEVELS.index(one.verdict), changed(c, one.words).devices > c.devices)))


def _cheapest(c: Setup, first: Taken, accept: Accept, complete: Complete, *, certain: bool) -> Steps[Taken]:
    """The cheapest set of changes after a first one."""
    after = apply(c, first)
    if first and _fits(after):
        return first
    yield
    options = [*filter(accept, (complete(one) for one in changes(after) if one.safe))]
    found = yield from Search(after, certain).cheapest(options)
    return (*first, *found) if found else ()


def _joined(taken: Taken) -> Change:
    words = {word: value for change in taken for word, value in change.words.items()}
    lost = "; ".join(change.gives_up for change in taken if change.gives_up)
    titles = (change.title if not at else change.title[0].lower() + change.title[1:] for at, change in enumerate(taken))
    options = " ".join(change.option for change in taken)
    return Change(options, words, "; ".join(titles), lost, all(change.safe for change in taken))


def _order(one: Advice) -> tuple[object, ...]:
    if one.verdict == "fits":
        return 0, not one.safe, one.time_factor
    return LEVELS.index(one.verdict), not one.safe, -one.saves_bytes / max(one.time_factor - 1, FREE)


class _Trial:
    """A setup, and what its changes come to."""

    def __init__(self, c: Setup) -> None:
        self.c = c
        self.now = prepare(c)()
        self.seconds = _seconds_per_token(c, self.now)

    def __call__(self, change: Change) -> Advice:
        after = change.apply(self.c)
        then = prepare(after)()
        return Advice(
            option=change.option,
            words=change.words,
            title=change.title,
            saves_bytes=self.now.memory_bytes.device_total - then.memory_bytes.device_total,
            time_factor=_seconds_per_token(after, then) / self.seconds,
            fits=then.fits,
            verdict=then.verdict,
            gives_up=change.gives_up,
            safe=change.safe,
        )


def _seconds_per_token(c: Setup, found: Estimate) -> float:
    return found.time.step_s * c.devices / c.tokens


def _speeding(c: Setup) -> Iterator[Change]:
    """Changes that may save time: of the larger micro-batches the largest that fits."""
    options = quicker(c)
    larger = [change for change in options if change.knob == "batch"]
    yield from larger[: bisect_left(larger, True, key=lambda change: not _fits(change.apply(c)))][-1:]
    yield from (change for change in options if change.knob != "batch")
    yield from (change for change in changes(c) if change.knob in FOR_SPEED)


def _each(trial: _Trial, options: Iterable[Change]) -> Steps[list[Advice]]:
    """What comes of each change, one a step."""
    found = []
    for change in options:
        found.append(trial(change))
        yield
    return found


def _saving(c: Setup, trial: _Trial, accept: Accept) -> Steps[list[Advice]]:
    """Changes that may save memory; of the grades of one knob the mildest that fits, or else both ends."""
    options = [change for change in changes(c) if accept(change)]
    plain = [change for change in options if change.knob not in SCALES and ":" not in change.option]
    plain += filter(accept, _leaner_kernels(c))
    divided = (*tensor(c), *pipeline(c), *context(c), *experts(c))
    found = yield from _each(trial, (*plain, *filter(accept, (*divided, *adapters(c)))))
    for knob in SCALES:
        found += yield from _each(trial, _grades(c, [change for change in options if change.knob == knob]))
    if not any(one.verdict == "fits" for one in found):
        coarser = (change for change in options if change.option.startswith("--checkpointing every"))
        found += yield from _each(trial, coarser)
    return found


def _leaner_kernels(c: Setup) -> Iterator[Change]:
    """Changes for speed that save memory too: kernels that keep less between them."""
    return (change for change in quicker(c) if change.knob in ("execution", "rms-norm"))


def _grades(c: Setup, scale: Sequence[Change]) -> Iterator[Change]:
    if scale and _fits(scale[-1].apply(c)):
        yield scale[bisect_left(scale[:-1], True, key=lambda change: _fits(change.apply(c)))]
    else:
        yield from dict.fromkeys((*scale[:1], *scale[-1:]))


def _fits(c: Setup) -> bool:
    """Whether a setup fits by experience, without its time."""
    return allowed(c) and needed(c, ledger(c)) <= c.chip.usable_bytes
