"""Part 1 of every mission, the state audit: what training holds in memory, on a device that has little of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, product
from math import isclose

from explorable import live

from ..missions.audit_reflection import WHOLE, largest, reflections
from ..missions.audit_score import judged, score
from ..missions.facts import Account, Audit, Setting, Track, position, start_of
from ..missions.found import FOUND
from ..missions.search import NEAR, UnsolvedError
from ..missions.shared import CLOSED, COUNTS, gap, number, share
from ..missions.tracks import track_of

TOLERANCE = 0.1
"""Share of the answer by which a prediction may miss it."""
NAMES = {
    "weights": "Weights",
    "gradients": "Gradients",
    "master": "Master copy",
    "optimizer": "Optimizer state",
    "activations": "Activations",
    "gathered": "Network buffers",
    "temporary": "Temporary",
    "driver": "Driver",
}
_SAID = {"temporary": "temporary tensors"}
"""In a sentence, where that is more than the name."""
SMALLEST, MOST_DIGITS = 5, 3
"""Steps of the last digit that the smallest part of a sum has at least, as far as so many digits give them."""
NOTHING = 1e-3
"""Share of a sum up to which a part may be shown as nothing."""
LEGIBLE = 0.05
"""Share of the axis from which a segment has a name."""
ROUNDING = 1e-6
"""Share of the need that sums of binary fractions may be off by."""


def asked(audit: Audit, parts: Sequence[str] = (), size: float = 0) -> dict[str, float]:
    """What the question is about, by part, in its unit or one of `size` bytes. The answer is the sum."""
    account, share = audit.account(audit.ask.setting), audit.ask.share
    unit = size or (share[1] * account.limit if share else audit.unit[1])
    return {part: account.parts[part] / unit for part in parts or audit.ask.parts if part in account.parts}


def beliefs(audit: Audit) -> tuple[float, ...]:
    """What readers answer who count too little, or too much."""
    return tuple(sum(asked(audit, parts).values()) for parts in audit.ask.mistakes)


def _ask_unit(audit: Audit) -> tuple[str, str]:
    """The unit of the question, and of what it is a share."""
    share = audit.ask.share
    return (share[0], f" {share[2]}") if share else (audit.unit[0], "")


def act(name: str) -> live.Act:
    """The act of part 1 for the track with this name, which the page gives."""
    track = track_of(name)
    audit = track.audit
    return live.Act(
        name=f"{track.name}-state-audit",
        title=f"{track.title} 1: The State Audit",
        minutes=15,
        situation=audit.situation,
        contexts=(live.Context(track.name, track.device, f"{track.persona}. {track.mission} {audit.sources}"),),
        question=live.NumberQuestion(
            prompt=audit.ask.prompt,
            unit=_ask_unit(audit)[0],
            minimum=0,
            maximum=audit.ask.top,
            step=audit.ask.step,
            answer=lambda: sum(asked(audit).values()),
            beliefs=lambda: beliefs(audit),
        ),
        controls=tuple(lever.control() for lever in audit.levers),
        compute=lambda state: _compute(track, state),
        reveal=lambda prediction, state: _reveal(track, float(prediction)),
        charts={
            "waterfall": f"Training memory of {track.model}, part by part",
            "each": f"What was asked, in {''.join(_ask_unit(audit))}",
        },
        beside=("standing",),
        reflections=reflections(audit),
        hands=(live.Segments("waterfall", "bars", "part", "label"),),
        staging=live.Staging(
            "each",
            (
                *(live.Beat(("stack", "names"), {"part": part}) for part in audit.ask.parts),
                live.Beat(("gap", "gap_text")),
            ),
        ),
        reveal_first=True,
        can_fail=True,
        hints=True,
        moves=True,
        score=lambda state: score(audit, state.controls),
        best=FOUND[track.name]["audit"].score,
    )


def _compute(track: Track, state: live.State) -> live.View:
    audit, setting = track.audit, state.controls
    open_ = state.prediction is not None and state.revealed
    account = audit.account(setting)
    said = state.held if state.prediction is None else state.prediction
    unit, size = audit.unit
    need, limit = account.need / size, account.limit / size
    return live.View(
        data={
            "guess": () if said is None else ({"from": 0, "to": float(said), "text": f"you: {said:,g}"},),
            "stack": tuple(_asked(audit)) if open_ else (),
            "gap": (_gap(audit, float(state.prediction)),) if open_ and state.prediction is not None else (),
            "bars": tuple(_bars(account, size, unit)) if open_ else (),
            "limit": ({"at": limit, "text": f"{audit.limit_name}: {_number(limit)} {unit}"},),
            "frame": ({"at": 0}, {"at": _top(audit, max(need, *_ends(account, size)) if open_ else limit)}),
        },
        headline=live.Figure(
            f"Needed, of {_number(limit)} {unit}{_judged(track, account, setting) if open_ else ''}",
            _number(need) if open_ else "?",
            unit,
        ),
        summary=_summary(track, account) if open_ else "The audit opens with your prediction.",
        tables={
            "each": _asked_table(audit, open_),
            "waterfall": _memory_table(track, account) if open_ else CLOSED,
            "standing": _standing(track, setting) if open_ else CLOSED,
        },
        failure=_failure(track, account, setting, hint=state.hint) if open_ else None,
        success=_success(track, account, setting) if open_ else None,
        command=audit.command(setting) if open_ else "",
        readings={"learning speed": _speed(audit, setting)} if open_ else {},
    )


def _number(value: float) -> str:
    return number(value, WHOLE)


def _top(audit: Audit, highest: float) -> float:
    return next((top for top in audit.tops if top >= highest), audit.tops[-1])


def _ends(account: Account, size: float) -> Iterator[float]:
    yield sum(account.parts.values()) / size


def _asked_texts(audit: Audit) -> dict[str, str]:
    """What is shown of what the question asks for, part by part."""
    return _written(asked(audit), sum(asked(audit).values()))


def _asked(audit: Audit) -> Iterator[live.Row]:
    """A segment for each part, one behind the other; a name where there is room for it."""
    start, texts = 0.0, _asked_texts(audit)
    for part, amount in asked(audit).items():
        text = f"{NAMES[part].lower()} {texts[part]}" if amount > LEGIBLE * audit.ask.top else ""
        yield {"part": part, "from": start, "to": start + amount, "text": text}
        start += amount


def _gap(audit: Audit, said: float) -> live.Row:
    answer = sum(asked(audit).values())
    unit = "" if audit.ask.share else f" {audit.unit[0]}"
    far = f"{_number(abs(said - answer))}{unit} {'short' if said < answer else 'too many'}"
    return {**gap(said, answer, far, right=_is_right(said, answer)), "at": answer}


def _is_right(said: float, answer: float) -> bool:
    """Whether a prediction is near enough to the answer."""
    return abs(said - answer) <= TOLERANCE * answer


def _digits(amounts: Iterable[float], digits: int) -> int:
    """So many digits behind the point, or more where a part that counts would look like nothing."""
    sizes = [abs(amount) for amount in amounts]
    smallest = min((size for size in sizes if size > NOTHING * sum(sizes)), default=1.0)
    while digits < MOST_DIGITS and smallest * 10**digits < SMALLEST:
        digits += 1
    return digits


def _places(written: str) -> int:
    """Digits behind the point of a number as it is written."""
    return len(written.partition(".")[2])


def _written(amounts: Mapping[str, float], whole: float) -> dict[str, str]:
    """Parts with the same number of digits, each rounded by itself: a part is the same number wherever it stands."""
    digits = _digits_of_all(amounts.values(), whole)
    return {part: f"{abs(amount):,.{digits}f}" for part, amount in amounts.items()}


def _digits_of_all(amounts: Collection[float], whole: float) -> int:
    """Digits behind the point of parts and of their sum."""
    return _digits(amounts, _places(_number(whole)))


def _shown(account: Account, size: float) -> dict[str, float]:
    """Each part, and what is gone at the peak, in the unit that is shown."""
    parts = {part: held / size for part, held in account.parts.items()}
    gone = _gone(account)
    return parts | ({"gone": -gone / size} if gone else {})


def _texts(account: Account, size: float) -> dict[str, str]:
    """What is shown of each part, and of what is gone at the peak: it adds up to what is needed."""
    return _written(_shown(account, size), account.need / size)


def _needed(account: Account, size: float) -> str:
    """What is needed at the peak, with as many digits as its parts are shown with."""
    need = account.need / size
    return f"{need:,.{_digits_of_all(_shown(account, size).values(), need)}f}"


def _bars(account: Account, size: float, unit: str) -> Iterator[live.Row]:
    """A bar for each part, beginning where the last one ended, and the fullest moment below."""
    base, texts = 0.0, _texts(account, size)
    for row, (part, held) in enumerate(account.parts.items()):
        amount = held / size
        label = f"{NAMES[part]} {texts[part]} {unit}"
        yield {"row": row, "part": part, "from": base, "to": base + amount, "label": label, "over": False}
        base += amount
    need, row = account.need / size, len(account.parts)
    if "gone" in texts:
        label = f"Gone at the peak −{texts['gone']} {unit}"
        yield {"row": row, "part": "gone", "from": need, "to": base, "label": label, "over": False}
        row += 1
    over = account.need > account.limit
    label = f"Needed {_needed(account, size)} {unit}"
    yield {"row": row, "part": "need", "from": 0, "to": need, "label": label, "over": over}


def _gone(account: Account) -> float:
    """Bytes of parts that are gone, or not there yet, at the fullest moment."""
    together = sum(account.parts.values())
    return together - account.need if together > account.need * (1 + ROUNDING) else 0.0


def _share(track: Track, setting: Setting) -> float | None:
    return share(track.name, "audit", score(track.audit, setting))


def _judged(track: Track, account: Account, setting: Setting) -> str:
    reached = _share(track, setting)
    if reached is None:
        return " (too much)" if not account.fits else " (refused)" if account.refused else " (too slow)"
    return f" (learning speed {_speed(track.audit, setting)}, {100 * reached:.0f}\u00a0% of the best found)"


def _failure(track: Track, account: Account, setting: Setting, *, hint: bool) -> live.Failure | None:
    worth, why = judged(track.audit, setting)
    unit, size = track.audit.unit
    if not why:
        return None
    remedy = _remedy(track.audit, setting) if hint else ""
    if why == "slow":
        rate, asked_for = _number(worth), _number(track.audit.target)
        short = f"{rate} {track.audit.sample}, an update counted as Adam's; {asked_for} are asked for."
        return live.Failure("Too slow", "It fits, and learns too little.", short, remedy)
    if account.fits:
        return live.Failure("It fits, and the mission refuses it", account.refused, _spare(track, account), remedy)
    *first, last = (_SAID.get(part, f"the {NAMES[part].lower()}") for part in largest(account))
    most = f"{', '.join(first)} and {last} take" if first else f"{last} {'take' if last.endswith('s') else 'takes'}"
    alone = [NAMES[part].lower() for part, held in account.parts.items() if held > account.limit]
    what = f"Alone too much: {', '.join(alone)}." if alone else f"No part alone is too much; {most} the most."
    excess = f"{_number(account.need / size)} {unit} are needed and there are {_number(account.limit / size)} {unit}."
    return live.Failure("Out of memory", what, excess, remedy)


def _spare(track: Track, account: Account) -> str:
    unit, size = track.audit.unit
    return f"{_number((account.limit - account.need) / size)} {unit} are free, and that is not the question here."


def changes(audit: Audit, setting: Setting) -> dict[str, live.Value]:
    """The fewest levers to move, and where to, so that a setting counts; of equally few those that learn fastest."""
    for few in range(1, len(audit.levers) + 1):
        moves = (
            dict(zip((lever.name for lever in moved), places, strict=True))
            for moved in combinations(audit.levers, few)
            for places in product(*([one for one in lever.values if one != setting[lever.name]] for lever in moved))
        )
        tried = ((score(audit, {**setting, **move}), move) for move in moves)
        if counted := [(reached, move) for reached, move in tried if reached is not None]:
            return max(counted, key=lambda pair: pair[0])[1]
    raise UnsolvedError


def _remedy(audit: Audit, setting: Setting) -> str:
    levers = {lever.name: lever for lever in audit.levers}
    *others, last = (position(levers[name], value) for name, value in changes(audit, setting).items())
    if not others:
        return f"One change is enough: {last}."
    return f"{COUNTS[len(others) + 1]} changes are enough together: {', '.join(others)}, and {last}."


def _success(track: Track, account: Account, setting: Setting) -> live.Success | None:
    reached = _share(track, setting)
    if reached is None:
        return None
    rate = f"{_number(account.rate)} {track.audit.sample}"
    if reached >= NEAR:
        return live.Success(
            "Mission accomplished",
            f"It fits at {rate}. No setting that is taken learns 5 % faster. {track.audit.lesson}",
        )
    return live.Success(
        "It fits",
        f"At {rate}; counting each optimizer's updates, {100 * reached:.0f} % of the best that the search found.",
    )


def _summary(track: Track, account: Account) -> str:
    unit, size = track.audit.unit
    texts = _texts(account, size)
    gone = texts.pop("gone", "")
    parts = ", ".join(f"{NAMES[part].lower()} {text}" for part, text in texts.items())
    less = f"; {gone} are gone or not there yet at the peak" if gone else ""
    return f"In {unit}: {parts}{less}; needed {_needed(account, size)} of {_number(account.limit / size)}."


def _asked_table(audit: Audit, open_: bool) -> live.Table:
    parts = [live.row(NAMES[part], text) for part, text in _asked_texts(audit).items()]
    return live.Table(
        "What the question is about.",
        live.columns("Part", f"Size|{_ask_unit(audit)[0]}"),
        parts if open_ else [live.row("?", "?")],
    )


def _memory_table(track: Track, account: Account) -> live.Table:
    unit, size = track.audit.unit
    texts, limit = _texts(account, size), account.limit
    gone = -_gone(account)
    held = {**account.parts, **({"gone": gone} if gone else {})}
    shares = {part: 100 * one / limit for part, one in held.items()}
    digits = _digits(shares.values(), 0)
    names = {**NAMES, "gone": "Gone, or not there yet, at the peak"}
    rows = [
        live.row(names[part], _signed(text, held[part]), _signed(f"{abs(shares[part]):,.{digits}f}", held[part]))
        for part, text in texts.items()
    ]
    needed = _needed(account, size)
    rows.append(live.row("Needed at the peak", needed, f"{100 * account.need / limit:,.{digits}f}"))
    together = sum(account.parts.values()) / size
    sums = (
        f"Together they are {together:,.{_places(needed)}f} {unit}, of which {texts['gone']} {unit} are "
        "gone or not there yet at the peak."
        if gone
        else "All are there at the peak."
    )
    rounded = "" if all(_adds_up([row[cell] for row in rows]) for cell in "bc") else " Each is rounded by itself."
    return live.Table(
        f"Each part at its own fullest. {sums}{rounded}",
        live.columns("Part", f"Memory|{unit}", "Of the limit|%"),
        rows,
    )


def _adds_up(texts: Sequence[str]) -> bool:
    """Whether numbers as they are shown add up to the last of them."""
    *parts, whole = (float(text.replace(",", "").replace("−", "-")) for text in texts)
    return isclose(sum(parts), whole, abs_tol=1e-9)


def _signed(text: str, amount: float) -> str:
    return f"−{text}" if amount < 0 else text


def _standing(track: Track, setting: Setting) -> live.Table:
    audit, best = track.audit, FOUND[track.name]["audit"]
    places: Sequence[tuple[str, Setting]] = (("Where you began", start_of(audit.levers)), ("You, now", setting))
    # What runs has a speed, also where the mission does not take it: the list of moves tells the same.
    rows = [
        live.row(name, "–" if _fits(audit, at) == "too big" else _speed(audit, at), _fits(audit, at))
        for name, at in places
    ]
    rows.append(live.row(f"Best that is taken, of {best.total:,} settings", _number(best.score), "yes"))
    return live.Table(
        f"{audit.sample[0].upper()}{audit.sample[1:]}, an update counted as Adam's (◇ the course's steps to "
        "convergence).",
        live.columns("Setting", "Learning|per s", "Taken"),
        rows,
    )


def _speed(audit: Audit, setting: Setting) -> str:
    """The speed of what runs; what does not fit has none."""
    worth, why = judged(audit, setting)
    return "none (too big)" if why == "memory" else _number(worth)


def _fits(audit: Audit, setting: Setting) -> str:
    words = {"memory": "too big", "refused": "refused", "slow": "too slow", "": "yes"}
    return words[judged(audit, setting)[1]]


def _reveal(track: Track, said: float) -> live.Verdict:
    audit, parts = track.audit, asked(track.audit)
    answer = sum(parts.values())
    start = audit.account(start_of(audit.levers))
    unit, size = audit.unit
    right = _is_right(said, answer)
    amounts = asked(audit, size=size)
    each = ", ".join(f"{NAMES[part].lower()} {text}" for part, text in _written(amounts, sum(amounts.values())).items())
    least = start.serving / size
    judged_words = "" if not right else f", and that is {'right' if f'{said:,g}' == _number(answer) else 'near enough'}"
    return live.Verdict(
        correct=right,
        headline=f"{_number(answer)} {''.join(_ask_unit(audit))}: {each}{f' {unit}' if audit.ask.share else ''}. "
        f"You said {said:,.12g}{judged_words}.",
        paragraphs=(
            f"The weights of the finished {track.model} take {_number(least)} {unit}. As the mission begins, training "
            f"it needs {_number(start.need / size)} {unit} and has {_number(start.limit / size)}.",
        ),
    )
