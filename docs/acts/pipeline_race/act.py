"""Part 2 of every mission, the staged race: data, bus and compute, and the longest pole, found in five moves."""

from __future__ import annotations

from collections.abc import Iterator

from explorable import live

from ..missions.facts import Race, Setting, Stages, Track, start_of
from ..missions.found import FOUND
from ..missions.race_reflection import WHOLE, reflections
from ..missions.race_score import MOVES, faster, score
from ..missions.search import NEAR
from ..missions.shared import CLOSED, gap, number, share
from ..missions.steps import Step, further, places, steps
from ..missions.tracks import track_of

TOLERANCE = 0.1
"""How far a predicted factor may be off."""
SLOTS = 5
"""Places that are drawn of a queue."""
WIDTH, GAP, LEFT = 25, 11.5, 1
"""Of the three boxes, on a stage 100 wide."""


def act(name: str) -> live.Act:
    """The act of part 2 for the track with this name, which the page gives."""
    track = track_of(name)
    race = track.race
    return live.Act(
        name=f"{track.name}-pipeline-race",
        title=f"{track.title} 2: The Staged Race",
        minutes=15,
        situation=f"{race.situation} You have {MOVES} moves.",
        contexts=(live.Context(track.name, track.device, f"{track.persona}. {track.mission} {race.sources}"),),
        question=live.NumberQuestion(
            prompt=f"{race.change}. How many times as fast is training, to ±{TOLERANCE:g}?",
            unit="times",
            minimum=0.8,
            maximum=2.2,
            step=0.05,
            answer=lambda: faster(race),
            beliefs=lambda: (1.0, 2.0),
        ),
        controls=tuple(lever.control() for lever in race.levers),
        compute=lambda state: _compute(track, state),
        reveal=lambda prediction, state: _reveal(track, float(prediction)),
        charts={
            "boxes": "How busy each stage is, and where samples queue",
            "change": "Speed after the change, as the mission begins",
        },
        beside=("standing",),
        reflections=reflections(race),
        hands=(live.Segments("boxes", "levels", "stage", "label"),),
        staging=live.Staging("change", (live.Beat(("answer", "answer_text")), live.Beat(("gap", "gap_text")))),
        reveal_first=True,
        can_fail=True,
        hints=True,
        moves=True,
        score=lambda state: score(race, state.controls) if state.moves <= MOVES else None,
        best=FOUND[track.name]["race"].score,
    )


def _compute(track: Track, state: live.State) -> live.View:
    race, setting = track.race, state.controls
    open_ = state.prediction is not None and state.revealed
    stages = race.stages(setting)
    said = state.held if state.prediction is None else state.prediction
    told = open_ and state.prediction is not None
    judged, failure, success = _judged(track, stages, state) if open_ else ("", None, None)
    seconds, period = race.period
    return live.View(
        data={
            "boxes": tuple(_boxes(race, stages if open_ else None)),
            "queues": tuple(_queues(stages if open_ else None)),
            "gauge": (
                {"from": 0, "to": 100 * stages.busy["compute"] if open_ else 0, "text": _gauge(race, stages, open_)},
            ),
            "guess": () if said is None else ({"from": 0, "to": float(said), "text": f"you: {said:.12g} times"},),
            "answer": ({"from": 0, "to": faster(race), "text": f"{faster(race):.2f} times"},) if told else (),
            "gap": (_gap(float(state.prediction or 0), faster(race)),) if told else (),
        },
        headline=live.Figure(
            f"{race.sample.capitalize()} {period}{judged}", _number(stages.rate * seconds) if open_ else "?", ""
        ),
        summary=_summary(race, stages) if open_ else "The race opens with your prediction.",
        tables={
            "boxes": _table(race, stages) if open_ else CLOSED,
            "change": _change_table(race, told),
            "standing": _standing(track, state) if open_ else CLOSED,
        },
        failure=failure,
        success=success,
        readings={
            "longest pole": race.boxes[stages.longest],
            race.worth[0]: _number(race.worth[1] * stages.rate / stages.cost),
        }
        if open_
        else {},
    )


def _number(value: float) -> str:
    return number(value, WHOLE)


def _boxes(race: Race, stages: Stages | None) -> Iterator[live.Row]:
    """A box for each stage, filled as far as it is busy."""
    for index, (stage, name) in enumerate(race.boxes.items()):
        busy = 100 * stages.busy[stage] if stages else 0.0
        left = LEFT + index * (WIDTH + GAP)
        yield {
            "stage": stage,
            "from": left,
            "to": left + WIDTH,
            "middle": left + WIDTH / 2,
            "level": busy,
            "name": name,
            "text": f"{busy:.0f} %" if stages else "?",
            "label": f"{name}: busy {busy:.0f} %",
            "longest": stages is not None and stages.longest == stage,
        }


def _queues(stages: Stages | None) -> Iterator[live.Row]:
    """Places between the boxes: full before the longest pole, empty behind it."""
    order = ("data", "bus", "compute")
    longest = order.index(stages.longest) if stages else 0
    for index in (1, 2):
        for slot in range(SLOTS):
            x = LEFT + index * (WIDTH + GAP) - GAP / 2
            yield {"x": x, "row": slot, "full": longest >= index}


def _gauge(race: Race, stages: Stages, open_: bool) -> str:
    return (
        f"{race.boxes['compute']} at work: {100 * stages.busy['compute']:.0f} % of the time{race.awake}"
        if open_
        else "?"
    )


def _gap(said: float, answer: float) -> live.Row:
    far = f"{abs(said - answer):.2f} {'short' if said < answer else 'too much'}"
    return gap(said, answer, far, right=_is_right(said, answer))


def _is_right(said: float, answer: float) -> bool:
    """Whether a prediction is near enough to the answer, as it is or as the page shows it."""
    return any(abs(said - one) < TOLERANCE + 1e-9 for one in (answer, round(answer, 2)))


def _judged(track: Track, stages: Stages, state: live.State) -> tuple[str, live.Failure | None, live.Success | None]:
    """What stands beside the number, and the failure or the success."""
    race, (seconds, period) = track.race, track.race.period
    count = f", move {state.moves} of {MOVES}" if state.moves else f", {MOVES} moves left"
    reached = share(track.name, "race", score(race, state.controls))
    pole = race.boxes[stages.longest]
    if state.moves > MOVES:
        count = ", out of moves"
        excess = f"You have made {state.moves} moves, and {MOVES} count."
        remedy = "Undo some: that costs nothing."
        return count, live.Failure("Out of moves", "What is reached now does not count.", excess, remedy), None
    if stages.refused:
        remedy = "Press Undo until that change is taken back: undoing costs nothing."
        failure = live.Failure("The mission refuses it", stages.refused, f"The longest pole: {pole}.", remedy)
        return count, failure, None
    if reached is None:
        short = (
            f"{_number(stages.rate * seconds)} {race.sample} {period}, and {_number(race.target * seconds)} are needed."
        )
        what = f"The longest pole is: {pole}. The other stages wait for it."
        remedy = _hint(race, state.controls) if state.hint else ""
        if race.turns:
            what = f"{race.turns} {pole}."
        return count, live.Failure("Too slow", what, short, remedy), None
    worth = f"{_number(reached * FOUND[track.name]['race'].score)} {race.worth[0]}"
    judged = f" ({worth}, {100 * reached:.0f}\u00a0% of the best found{count})"
    if reached >= NEAR:
        left = MOVES - state.moves
        spare = f", with {left} to spare" if left > 1 else ""
        moves = "1 move" if state.moves == 1 else f"{state.moves} moves"
        pace = _poles(race, race.stages(start_of(race.levers)), stages, "now")
        what = f"In {moves}{spare}. No setting that is taken gives 5 % more {race.worth[0]}. T{pace[1:]}. {race.lesson}"
        return judged, None, live.Success("The balance point", what)
    return (
        judged,
        None,
        live.Success(
            "Fast enough",
            f"In {race.worth[0]} this is {100 * reached:.0f} % of the best: another setting gets more "
            "for what it takes.",
        ),
    )


def _poles(race: Race, before: Stages, after: Stages, when: str) -> str:
    """Which stage the others waited for, and for which they do after some change."""
    first, then = race.boxes[before.longest], race.boxes[after.longest]
    return f"the longest pole was “{first}” and " + ("still is" if first == then else f"is “{then}” {when}")


def way(race: Race, setting: Setting) -> tuple[Step, ...]:
    """The single step after which the most comes out at the end, found by trying each; two where none alone helps."""
    now = _rate(race, setting)
    ways: list[tuple[Step, ...]] = [(step,) for step in steps(race.levers, setting)]
    for some in (ways, further(race.levers, ways)):
        best = max(some, key=lambda way: _rate(race, way[-1].setting))
        if _rate(race, best[-1].setting) > now:
            return best
    return ()


def _hint(race: Race, setting: Setting) -> str:
    seconds, period = race.period
    best = way(race, setting)
    if not best:
        return "No two steps make it faster: go back towards where it began."
    before, after = _rate(race, setting), _rate(race, best[-1].setting)
    moved = places(best)
    words = " and ".join(moved)
    most = (
        f"Of all steps to a neighboring position this one helps most: {words}."
        if len(best) == 1
        else f"No lever makes it faster by one position; two of this one do most: {words}."
        if len(moved) == 1
        else f"No lever makes it faster by one step alone; these two do most: {words}."
    )
    rate = f"{race.sample.capitalize()} {period}: {_number(before * seconds)}, then {_number(after * seconds)}."
    return f"{most} {_reason(race, setting, best[-1].setting)}{rate}"


def _reason(race: Race, now: Setting, then: Setting) -> str:
    """What the longest pole can do alone, before and after a step; empty where the step does not speed it up."""
    before, after = race.stages(now), race.stages(then)
    pole, seconds = before.longest, race.period[0]
    alone, more = (_number(seconds * stages.rate / stages.busy[pole]) for stages in (before, after))
    if after.rate / after.busy[pole] <= before.rate / before.busy[pole] or alone == more:
        return ""
    return f"The longest pole, {race.boxes[pole]}, could do {alone} alone, and {more} then. "


def _rate(race: Race, setting: Setting) -> float:
    stages = race.stages(setting)
    return 0.0 if stages.refused else stages.rate


def _summary(race: Race, stages: Stages) -> str:
    seconds, period = race.period
    busy = ", ".join(f"{name} {100 * stages.busy[stage]:.0f} %" for stage, name in race.boxes.items())
    return f"Busy: {busy} of the time{race.awake}. {_number(stages.rate * seconds)} {race.sample} {period}."


def _table(race: Race, stages: Stages) -> live.Table:
    rows = [
        live.row(name, f"{100 * stages.busy[stage]:.1f}", "yes" if stages.longest == stage else "")
        for stage, name in race.boxes.items()
    ]
    return live.Table(
        f"How busy each stage is, in % of the time{race.awake}.", live.columns("Stage", "Busy|%", "Longest pole"), rows
    )


def _change_table(race: Race, told: bool) -> live.Table:
    rows = [live.row(race.change, f"{faster(race):.2f}" if told else "?")]
    return live.Table("With everything else as the mission begins.", live.columns("Change", "Speed|times"), rows)


def _standing(track: Track, state: live.State) -> live.Table:
    race, best = track.race, FOUND[track.name]["race"]
    seconds, period = race.period
    start = start_of(race.levers)

    def line(name: str, setting: Setting, moves: int = 0) -> dict[str, str]:
        stages, reached = race.stages(setting), score(race, setting)
        worth = "refused" if stages.refused else "too slow" if reached is None else _number(reached)
        return live.row(name, _number(stages.rate * seconds), "out of moves" if moves > MOVES else worth)

    rows = [line("Where you began", start), line("You, now", state.controls, state.moves)]
    rows.append(live.row("Needed", _number(race.target * seconds), "–"))
    rows.append(live.row(f"Best that meets the target, of {best.total:,} settings", "?", _number(best.score)))
    caption = f"{race.sample.capitalize()} {period}, and what they cost."
    return live.Table(caption, live.columns("Setting", f"Rate|{period}", f"Worth|{race.worth[0]}"), rows)


def _reveal(track: Track, said: float) -> live.Verdict:
    race, answer = track.race, faster(track.race)
    right = _is_right(said, answer)
    start = start_of(race.levers)
    once, more = race.stages(start), race.stages({**start, **race.after})
    names = race.boxes
    pace = _poles(race, once, more, "then")
    return live.Verdict(
        correct=right,
        headline=f"{answer:.2f} times as fast. You said {said:.12g}{f', and that is right: {pace}' if right else ''}.",
        paragraphs=(
            f"At work before the change, and after it, in % of the time{race.awake}: "
            + ", ".join(f"{names[one]} {100 * once.busy[one]:.0f}, then {100 * more.busy[one]:.0f}" for one in names)
            + ".",
        ),
    )
