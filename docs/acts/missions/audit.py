"""Part 1 of every mission, the state audit: what training holds in memory, on a device that has little of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plugins import live

from .audit_reflection import reflections
from .audit_score import score
from .facts import Account, Audit, Setting, Track, position, start_of
from .found import FOUND
from .search import NEAR
from .shared import CLOSED, gap, number, share

PER_PARAMETER = {"weights": "weights", "gradients": "gradients", "state_1": "m", "state_2": "v"}
"""What Adam in FP32 keeps for each parameter."""
FP32_BYTES = 4
TOLERANCE = 0.5
"""Bytes per parameter by which a prediction may miss."""
NAMES = {
    "weights": "Weights",
    "gradients": "Gradients",
    "master": "Master copy",
    "optimizer": "Optimizer state",
    "activations": "Activations",
    "gathered": "Gathered",
}
WHOLE = 1000
"""Amounts from here on are shown without digits behind the point."""


def bytes_per_parameter() -> float:
    """Of weights, gradients and Adam's two vectors in FP32."""
    return float(FP32_BYTES * len(PER_PARAMETER))


def audit_act(track: Track) -> live.Act:
    """The act of part 1 for a track."""
    audit = track.audit
    return live.Act(
        name=f"{track.name}-state-audit",
        title=f"{track.title} 1: The State Audit",
        minutes=15,
        situation=audit.situation,
        contexts=(live.Context(track.name, track.device, f"{track.persona}. {track.mission} {audit.sources}"),),
        question=live.NumberQuestion(
            prompt="Adam, everything in FP32: how many bytes for each parameter, before activations?",
            unit="bytes",
            minimum=0,
            maximum=32,
            step=1,
            answer=bytes_per_parameter,
        ),
        controls=tuple(lever.control() for lever in audit.levers),
        compute=lambda state: _compute(track, state),
        reveal=lambda prediction, state: _reveal(track, float(prediction)),
        charts={
            "waterfall": f"Training memory of {track.model}, part by part",
            "each": "Adam in FP32: bytes for each parameter",
        },
        beside=("standing",),
        reflections=reflections(audit),
        hands=(
            live.Handle("each", "guess", live.PREDICTION, axis="x", field="to"),
            live.Segments("waterfall", "bars", "part", "label"),
        ),
        staging=live.Staging(
            "each",
            (
                live.Beat(("stack", "names"), {"part": "weights"}),
                live.Beat(("stack", "names"), {"part": "gradients"}),
                live.Beat(("stack", "names"), {"part": "state_1"}),
                live.Beat(("stack", "names"), {"part": "state_2"}),
                live.Beat(("gap", "gap_text")),
            ),
        ),
        reveal_first=True,
        can_fail=True,
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
            "guess": ({"from": 0, "to": float(said or 0), "text": "drag right" if said is None else f"you: {said:g}"},),
            "stack": tuple(_per_parameter()) if open_ else (),
            "gap": (_gap(float(state.prediction)),) if open_ and state.prediction is not None else (),
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
            "each": _bytes_table(open_),
            "waterfall": _memory_table(track, account) if open_ else CLOSED,
            "standing": _standing(track, setting) if open_ else CLOSED,
        },
        failure=_failure(track, account, setting) if open_ else None,
        success=_success(track, account, setting) if open_ else None,
    )


def _number(value: float) -> str:
    return number(value, WHOLE)


def _top(audit: Audit, highest: float) -> float:
    return next((top for top in audit.tops if top >= highest), audit.tops[-1])


def _ends(account: Account, size: float) -> Iterator[float]:
    yield sum(account.parts.values()) / size


def _per_parameter() -> Iterator[live.Row]:
    for index, (part, name) in enumerate(PER_PARAMETER.items()):
        start = FP32_BYTES * index
        yield {"part": part, "from": start, "to": start + FP32_BYTES, "text": f"{name} {FP32_BYTES}"}


def _gap(said: float) -> live.Row:
    answer = bytes_per_parameter()
    return gap(said, answer, f"{abs(said - answer):g} bytes {'short' if said < answer else 'too many'}")


def _bars(account: Account, size: float, unit: str) -> Iterator[live.Row]:
    """A bar for each part, beginning where the last one ended, and the fullest moment below."""
    base = 0.0
    for row, (part, held) in enumerate(account.parts.items()):
        amount = held / size
        label = f"{NAMES[part]} {_number(amount)} {unit}"
        yield {"row": row, "part": part, "from": base, "to": base + amount, "label": label, "over": False}
        base += amount
    need = account.need / size
    over = account.need > account.limit
    label = f"Needed {_number(need)} {unit}"
    yield {"row": len(account.parts), "part": "need", "from": 0, "to": need, "label": label, "over": over}


def _share(track: Track, setting: Setting) -> float | None:
    return share(track.name, "audit", score(track.audit, setting))


def _judged(track: Track, account: Account, setting: Setting) -> str:
    reached = _share(track, setting)
    if reached is None:
        return " (too much)" if not account.fits else " (not taken)"
    return f" ({100 * reached:.0f} % of the best found)"


def _failure(track: Track, account: Account, setting: Setting) -> live.Failure | None:
    unit, size = track.audit.unit
    if account.fits and not account.refused:
        return None
    if account.fits:
        return live.Failure(
            "It fits, and the mission refuses it", account.refused, _spare(track, account), _remedy(track, setting)
        )
    largest = max(account.parts, key=lambda part: account.parts[part])
    alone = [NAMES[part].lower() for part, held in account.parts.items() if held > account.limit]
    what = (
        f"Alone too much: {', '.join(alone)}."
        if alone
        else f"No part alone is too much; {NAMES[largest].lower()} take the most."
    )
    excess = f"{_number(account.need / size)} {unit} are needed and there are {_number(account.limit / size)} {unit}."
    return live.Failure("Out of memory", what, excess, _remedy(track, setting))


def _spare(track: Track, account: Account) -> str:
    unit, size = track.audit.unit
    return f"{_number((account.limit - account.need) / size)} {unit} are free, and that is not the question here."


def _remedy(track: Track, setting: Setting) -> str:
    """A sentence with the single changes that help, found by trying each; or that none does."""
    offers = []
    for lever in track.audit.levers:
        for value in lever.values:
            if value != setting[lever.name] and score(track.audit, {**setting, lever.name: value}) is not None:
                offers.append(position(lever, value))
                break
    if not offers:
        return "No single change is enough here."
    return f"One change is enough: {', or '.join(offers)}."


def _success(track: Track, account: Account, setting: Setting) -> live.Success | None:
    reached = _share(track, setting)
    if reached is None:
        return None
    rate = f"{_number(account.rate)} {track.audit.sample}"
    if reached >= NEAR:
        return live.Success("Mission accomplished", f"It fits at {rate}. No setting on this bench learns 5 % faster.")
    return live.Success(
        "It fits",
        f"At {rate}; counting each optimizer's updates, {100 * reached:.0f} % of the best that the search found.",
    )


def _summary(track: Track, account: Account) -> str:
    unit, size = track.audit.unit
    parts = ", ".join(f"{NAMES[part].lower()} {_number(held / size)}" for part, held in account.parts.items())
    return f"In {unit}: {parts}; needed {_number(account.need / size)} of {_number(account.limit / size)}."


def _bytes_table(open_: bool) -> live.Table:
    rows = [live.row(name, f"{FP32_BYTES}") for name in PER_PARAMETER.values()] if open_ else [live.row("?", "?")]
    return live.Table("Adam in FP32, for each parameter.", live.columns("Kept", "Size|bytes"), rows)


def _memory_table(track: Track, account: Account) -> live.Table:
    unit, size = track.audit.unit
    lines = [(NAMES[part], held) for part, held in account.parts.items()] + [
        ("Needed at the fullest moment", account.need)
    ]
    rows = [live.row(name, _number(held / size), f"{100 * held / account.limit:,.0f}") for name, held in lines]
    return live.Table(
        "Each part at its own fullest. They are not all fullest at once, so their sum can be more than is needed.",
        live.columns("Part", f"Memory|{unit}", "Of the limit|%"),
        rows,
    )


def _standing(track: Track, setting: Setting) -> live.Table:
    audit, best = track.audit, FOUND[track.name]["audit"]
    places: Sequence[tuple[str, Setting]] = (("Where you began", start_of(audit.levers)), ("You, now", setting))
    rows = [live.row(name, _worth(score(audit, at)), _fits(audit, at)) for name, at in places]
    rows.append(live.row(f"Best of {best.total:,} settings", _worth(best.score), "yes"))
    return live.Table(
        f"{audit.sample[0].upper()}{audit.sample[1:]}, an update counted as Adam's (◇ the course's steps to "
        "convergence).",
        live.columns("Setting", "Learning|per s", "Taken"),
        rows,
    )


def _worth(value: float | None) -> str:
    return "–" if value is None else _number(value)


def _fits(audit: Audit, setting: Setting) -> str:
    account = audit.account(setting)
    return "too big" if not account.fits else "refused" if account.refused else "yes"


def _reveal(track: Track, said: float) -> live.Verdict:
    answer, audit = bytes_per_parameter(), track.audit
    start = audit.account(start_of(audit.levers))
    unit, size = audit.unit
    right = abs(said - answer) <= TOLERANCE
    least = start.serving / size
    return live.Verdict(
        correct=right,
        headline=f"{answer:g} bytes: 4 for the weight, 4 for its gradient, 4 each for Adam's m and v."
        + ("" if right else f" You said {said:g}."),
        paragraphs=(
            f"Adam's state is twice the weights, and weights, gradients and state together are four times the weights. "
            f"Running the finished {track.model} takes {_number(least)} {unit}; training "
            f"it as the bench stands needs {_number(start.need / size)} {unit} and has {_number(start.limit / size)}.",
            audit.lesson,
        ),
    )
