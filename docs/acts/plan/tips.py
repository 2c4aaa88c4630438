"""What to change: single changes, then the cheapest set of them that makes it fit; last more cards."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from time import monotonic

from explorable import live
from ironlaw import GB, EngineError, Setup, accelerator
from ironlaw.answers.advice import GAIN, Advice, advising, joining, spreading
from ironlaw.answers.changes import Change
from ironlaw.answers.cheapest import Found, Steps
from ironlaw.answers.estimate import Estimate, Verdict, prepare
from ironlaw.config.resolved import DataShape
from ironlaw.graph.adaptation import routing

from .beside import taken_back
from .causes import beyond
from .choices import CONTROLS, PAIRS, WAS, formats_at, more_of, setup_of, together_of
from .labels import is_uncounted
from .left import confirmed, waiting
from .tip_controls import SLIDERS, by_files, controls_of
from .tip_words import by_count, memory, pace, sentence
from .tip_words import then as then_words
from .view import compute

_WORTH = {"fits": 200.0, "uncertain": 100.0, "not": 0.0}
_LARGEST = 203.5
"""Worth of the largest that fits where the plan fits: among the first six of the list."""
_CARD, _SMALLER = 140.0, 130.0
"""Worth of another card, and of shorter or fewer sequences, where the plan does not fit: less than of more cards."""
DOUBLED = "Counts of cards are tried by doubling: fewer than these may do."
"""Said of more cards."""
STEP = 64
"""Tokens in whose steps the longest sequence is looked for."""
_MORE = 150.0
"""Worth of more cards: less than that of what fits without them."""
MOST = 8
"""Single changes that are told."""
UNPREPARED = (
    Change(
        "--base-format 16-bit",
        {"base_format": "16-bit"},
        "Leave out peft's prepare_model_for_kbit_training: what 4 bits do not reach stays in 16",
        "TRL calls it itself, so this takes a script of your own",
    ),
    Change(
        "--method lora", {"method": "lora", "base_format": "16-bit"}, "Train adapters over weights of 16 bits (LoRA)"
    ),
)
"""Ways for a model with experts, which 4 bits do not reach."""
SAME, OTHER = "The same weights are trained", "Another method"
"""Groups of changes."""
_LATER = 1000.0
"""What changes of the other group are worth less: whoever asked for one training is first told of that one."""
_ASKED = ("model", "gpu")
"""Controls that say what a reader has: no way out changes them."""
TRIED = live.Suggestion("", "", {}, 0.0)
"""Says that something was tried: between two of these the page can answer a hand, or stop."""
PATIENCE = 0.05
"""Seconds of a search between two of these, if its steps are short."""
DONE = live.Suggestion("", "", {}, -1.0)
"""Says that all is told."""
_SWITCH = (live.ControlOption(True, "on"), live.ControlOption(False, "off"))


def suggest(state: live.State) -> Iterator[live.Suggestion]:
    """Changes of the plan, or ways out of one that is not possible. One without a title has no control here.

    When all are told, plans are prepared that a hand may ask for next (`_asked_next`).
    """
    try:
        c = setup_of(state)
    except EngineError as error:
        yield from _ways_out(state, uncounted=is_uncounted(error))
        yield from taken_back(state)
        return
    plan = prepare(c)
    now = plan()
    yield from (replace(one, group=SAME) for one in confirmed(state, now.verdict))
    open_yet = waiting(state, "fits")
    yield from (replace(one, text=by_count(one.text)) if open_yet else one for one in _changes(state, c, plan, now))
    yield from taken_back(state)
    yield DONE
    for name, value in _asked_next(c):
        ahead = live.State(state.context, {**state.controls, name: value}, moving=True)
        compute(ahead)
        yield TRIED


def _asked_next(c: Setup) -> Iterator[tuple[str, int]]:
    """Places of sliders where a plan takes longest the first time: other groups; one card, which divides nothing."""
    together = c.layout.together
    # A hand that adds cards or takes some away comes by the powers of two.
    yield from (("gpus", together * 2**power) for power in range(17) if together * 2**power <= SLIDERS["gpus"].maximum)
    for name in ("tp", "pp"):
        for value in _divisors(c.devices, int(SLIDERS[name].maximum)):
            yield name, value


def _divisors(number: int, most: int) -> Iterator[int]:
    return (one for one in range(1, min(number, most) + 1) if number % one == 0)


def _changes(
    state: live.State, c: Setup, plan: Callable[[int, int], Estimate], now: Estimate
) -> Iterator[live.Suggestion]:
    def accept(change: Change) -> bool:
        return controls_of(change, state) is not None

    advised = yield from _tried(advising(c, MOST, accept))
    found = []
    for one in (*_reaching(c, now, accept), *advised):
        told = _told(one, state, now)
        # With the formats that the page gives, what is told of a plan that fits may cost more than it saves.
        if now.verdict != "fits" or (told[0].verdict == "fits" and told[0].time_factor < 1 - GAIN):
            found.append(told)
        yield TRIED
    for place, (one, controls) in enumerate(found):
        yield _suggestion(one, controls, len(found) - place, now.verdict, state)
    yield from _largest(state, plan, now)
    if now.verdict == "fits":
        return
    fitting = [one for one, controls in found if one.verdict == "fits" and controls]
    # Where no single change makes it fit, several together may; more cards where these train something else.
    if not any(one.same_training for one in fitting):
        several = yield from _several(c, now, accept, usual(state), adapted=not fitting)
        if several is not None and several.option not in (one.option for one, _ in found):
            several, controls = _told(several, state, now)
            yield _suggestion(several, controls, len(found) + 1, now.verdict, state)
            fitting += [several] if several.verdict == "fits" else []
    if not any(one.same_training for one in fitting):
        more = yield from _tried(spreading(c, accept, usual(state)))
        if more is not None:
            yield _more_cards(*_told(more, state, now), alone=not fitting)
    if not fitting:
        yield from _larger_card(state, now)


def _tried(steps: Steps[Found]) -> Generator[live.Suggestion, None, Found]:
    """What a search of the engine finds, with a stop for the page from time to time: not one for each small step."""
    since = monotonic()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        if monotonic() - since > PATIENCE:
            yield TRIED
            since = monotonic()


def _reaching(c: Setup, now: Estimate, accept: Callable[[Change], bool]) -> Iterator[Advice]:
    """Ways to 16 bits for experts, which 4 bits do not reach and peft makes FP32."""
    if _is_unreached(c):
        found = (_advice(c, now, one) for one in filter(accept, UNPREPARED))
        yield from (one for one in found if one.saves_bytes > 0)


def _is_unreached(c: Setup) -> bool:
    return bool(c.adaptation.quantization) and c.adaptation.base == "fp32" and routing(c.model) != "none"


def _advice(c: Setup, now: Estimate, one: Change) -> Advice:
    after = one.apply(c)
    then = prepare(after)()
    saved = now.memory_bytes.device_total - then.memory_bytes.device_total
    seconds = [found.time.step_s * at.devices / at.tokens for at, found in ((c, now), (after, then))]
    factor = seconds[1] / seconds[0]
    return Advice(one.option, one.words, one.title, saved, factor, then.fits, then.verdict, one.gives_up, safe=True)


def _several(
    c: Setup, now: Estimate, accept: Callable[[Change], bool], complete: Callable[[Change], Change], *, adapted: bool
) -> Generator[live.Suggestion, None, Advice | None]:
    """The engine's set of changes that makes it fit, or one with experts in 16 bits, which its search does not have."""
    found = yield from _tried(joining(c, accept, complete, adapted=adapted))
    if not _is_unreached(c) or (found is not None and found.verdict == "fits" and found.same_training):
        return found
    first = UNPREPARED[0]

    def joined(one: Change | Advice) -> Change:
        lost = "; ".join(filter(None, (first.gives_up, one.gives_up)))
        words = {**one.words, **first.words}
        return Change(f"{first.option} {one.option}", words, f"{first.title}; {_lowered(one.title)}", lost)

    more = yield from _tried(joining(first.apply(c), lambda one: accept(joined(one)), complete, adapted=False))
    return _advice(c, now, joined(more)) if more is not None and more.verdict == "fits" else found


def _lowered(title: str) -> str:
    return f"{title[:1].lower()}{title[1:]}"


def usual(state: live.State) -> Callable[[Change], Change]:
    """A change with the formats that the page gives the changed plan, where nobody has chosen any."""

    def complete(change: Change) -> Change:
        if state.controls["precision"]:
            return change
        after = change.apply(setup_of(state))
        method, layout = after.adaptation.method, after.layout
        stands = {"method": method, "zero": layout.zero, "gpus": layout.devices, "tp": layout.tensor}
        formats = formats_at({**state.controls, **stands, "pp": layout.pipeline})
        return replace(change, words={**change.words, "precision": formats}) if formats else change

    return complete


def _told(one: Advice, state: live.State, now: Estimate) -> tuple[Advice, dict[str, live.Value] | None]:
    """Advice with its controls. Where nobody has chosen formats, those count that the page gives the changed plan."""
    controls = controls_of(one, state)
    own = by_files(one.words, state)
    if controls is None or (own == one.words and ("precision" not in controls or "precision" in own)):
        return one, controls
    if "precision" not in own:
        controls.pop("precision", None)
    before, after = setup_of(state), setup_of(live.State(state.context, {**state.controls, **controls}))
    then = prepare(after)()
    seconds = [found.time.step_s * c.devices / c.tokens for c, found in ((before, now), (after, then))]
    saved = now.memory_bytes.device_total - then.memory_bytes.device_total
    found = replace(one, saves_bytes=saved, time_factor=seconds[1] / seconds[0], fits=then.fits, verdict=then.verdict)
    return found, controls


def _suggestion(
    one: Advice, controls: dict[str, live.Value] | None, place: int, before: Verdict, state: live.State
) -> live.Suggestion:
    if controls is None:
        return live.Suggestion("", "", {}, 0.0)
    if "precision" in controls and "precision" in one.words:
        controls = {**controls, "more": _with_formats(controls, state)}
    # Those that make it fit come first, whatever was found when.
    worth = _WORTH[one.verdict] + place
    if before == "fits" or one.same_training:
        return live.Suggestion(one.title, sentence(one, before), controls, worth, SAME)
    return live.Suggestion(one.title, sentence(one, before), controls, worth - _LATER, OTHER)


def _with_formats(controls: Mapping[str, live.Value], state: live.State) -> str:
    """What stands beside the controls, with the formats of which a change takes the place, to be put back."""
    more = more_of({**state.controls, **controls})
    moved = {"precision": [state.controls["precision"] or None, controls["precision"]]}
    return json.dumps({**more, WAS: {**more.get(WAS, {}), "precision": moved}}, sort_keys=True)


def _largest(state: live.State, plan: Callable[[int, int], Estimate], now: Estimate) -> Iterator[live.Suggestion]:
    """The longest sequence that fits with all else as it is, and the most sequences at once."""
    batch, sequence = int(state.controls["batch"]), int(state.controls["sequence"])

    def found(batch: int, sequence: int) -> Estimate | None:
        try:
            return plan(batch, sequence)
        except EngineError:
            return None

    def fits(batch: int, sequence: int) -> bool:
        return (one := found(batch, sequence)) is not None and one.verdict == "fits"

    limits = {one.name: int(one.maximum) for one in CONTROLS if isinstance(one, live.Slider)}
    lengths = range(STEP, limits["sequence"] + 1, STEP)
    longest = STEP * bisect_left(lengths, True, key=lambda length: not fits(batch, length))
    most = bisect_left(range(1, limits["batch"] + 1), True, key=lambda many: not fits(many, sequence))
    most -= most % (2 if PAIRS in more_of(state.controls) else 1)
    for name, size, standing, (one, many), place in (
        ("sequence", longest, sequence, ("A sequence of", "tokens, the longest that fits"), 0.2),
        ("batch", most, batch, ("A card with", "sequences at once, the most that fit"), 0.1),
    ):
        # A length within a step of the longest is as good as that.
        if size < 1 or size == standing or (name == "sequence" and 0 <= size - standing < STEP):
            continue
        then = found(*((size, sequence) if name == "batch" else (batch, size)))
        assert then is not None
        saved = (now.memory_bytes.device_total - then.memory_bytes.device_total) / GB
        tokens = (batch * sequence) / (size * (sequence if name == "batch" else batch))
        slower = pace(then.time.step_s / now.time.step_s * tokens)
        text = f"{memory(saved)}, {slower} a token, with all else as it is. {then_words(then.verdict, now.verdict)}"
        if name == "sequence" and (more := beyond(replace(setup_of(state), data=DataShape(batch, size)))):
            text += f" {more}"
        if size == limits[name]:
            many = many.replace("the most that fit", "the most that this page takes, fit").replace(
                "the longest that fits", "the longest that this page takes, fits"
            )
        many = many.replace("sequences", "sequence") if name == "batch" and size == 1 else many
        worth = (_LARGEST if now.verdict == "fits" else _SMALLER) + place
        yield live.Suggestion(f"{one} {size:,} {many}", text, {name: size}, worth, SAME)


def _larger_card(state: live.State, now: Estimate) -> Iterator[live.Suggestion]:
    """The card with the least memory on which the plan fits as it is."""
    menu = next(one for one in CONTROLS if one.name == "gpu")
    assert isinstance(menu, live.Choice)
    for option in sorted(menu.options, key=lambda one: accelerator(str(one.value)).memory_bytes):
        way: dict[str, live.Value] = {"gpu": option.value}
        try:
            then = prepare(setup_of(live.State(state.context, {**state.controls, **way})))()
        except EngineError:
            continue
        if then.verdict == "fits":
            more = "s" if int(state.controls["gpus"]) > 1 else ""
            safe = now.calibrated.needed.high if now.calibrated else now.memory_bytes.device_total
            text = (
                f"Nothing that was tried fits on the card{more} that you have: one would have to give "
                f"{safe / GB:.1f} GB. This is the smallest of the list that does. {then_words('fits', 'not')}"
            )
            yield live.Suggestion(f"Card: {option.label}", text, way, _CARD, SAME)
            return
        yield TRIED


def _more_cards(one: Advice, controls: dict[str, live.Value] | None, *, alone: bool) -> live.Suggestion:
    """Advice that takes more cards than the reader has: behind what fits on those."""
    why = (
        "Nothing that was tried fits on the cards that you have."
        if alone
        else "What fits on the cards that you have trains something else; this takes more cards."
    )
    return live.Suggestion(one.title, f"{why} {sentence(one, 'not')} {DOUBLED}", controls or {}, _MORE, SAME)


def _ways_out(state: live.State, *, uncounted: bool) -> Iterator[live.Suggestion]:
    """Single controls that make a plan possible whose parts exclude each other, or that the page cannot count."""
    said = "Then it can be counted." if uncounted else "Then it is possible."
    for control in CONTROLS:
        if isinstance(control, live.Slider) and (value := _nearest_possible(state, control)) is not None:
            yield live.Suggestion(f"{control.label}: {value:,}", said, {control.name: value}, 1.0)
        if not isinstance(control, live.Choice | live.Toggle) or control.name in _ASKED:
            continue
        offered = control.options if isinstance(control, live.Choice) else _SWITCH
        for option in offered:
            way: dict[str, live.Value] = {control.name: option.value}
            if option.value != state.controls[control.name] and _possible(state, way):
                yield live.Suggestion(f"{control.label}: {option.label}", said, way, 1.0)
                break


def _nearest_possible(state: live.State, control: live.Slider) -> int | None:
    """The whole number of a slider nearest to the one at which it stands that makes a plan possible."""
    if not control.integer:
        return None
    name, least, stands = control.name, int(control.minimum), int(state.controls[control.name])

    def possible(value: int) -> bool:
        return _possible(state, {name: value})

    # Groups use up the cards, and matrices and blocks are divided: the next number below may not do, of others it does.
    if name == "gpus":
        together = together_of(state.controls)
        near: Iterable[int] = (stands - stands % together, stands + -stands % together)
    elif name in ("tp", "pp"):
        near = range(least, int(control.maximum) + 1)
    else:
        below = bisect_left(range(least, stands), True, key=lambda value: not possible(value))
        near = (least + below - 1,)
    inside = [value for value in near if least <= value <= control.maximum and value != stands]
    return next(filter(possible, sorted(inside, key=lambda value: abs(value - stands))), None)


def _possible(state: live.State, way: dict[str, live.Value]) -> bool:
    try:
        setup_of(live.State(state.context, {**state.controls, **way}))
    except EngineError:
        return False
    return True
