"""Part 3 of every mission, the scaling wall: MFU against memory, network and a loss that may explode."""

from __future__ import annotations

import math
from collections.abc import Iterator

from explorable import live
from ironlaw.training.noisy_quadratic import Course

from ..missions.facts import Plan, Setting, Track, Wall, start_of
from ..missions.found import FOUND
from ..missions.search import NEAR
from ..missions.shared import CLOSED, beyond, share
from ..missions.tracks import track_of
from ..missions.wall_cause import why
from ..missions.wall_reflection import busy, reflections
from ..missions.wall_remedy import hint
from ..missions.wall_score import (
    LEAST,
    NEEDED,
    SEEDS,
    Trials,
    final_loss,
    learning_rate,
    limited,
    ratio,
    score,
    trained,
)
from .corner import corner

POINTS = 120
"""Most places of the loss curve that are drawn."""
SAME = 0.005
"""Share by which something may change and still be called the same."""
BOTTOM, TOP = 1e-3, 10.0
"""Ends of the loss's axis."""
TITLES = {
    "memory": "Out of memory",
    "network": "The network is saturated",
    "mfu": "Below the target",
    "exploded": "The toy loss explodes",
    "loss": "The toy loss stays too high",
}


def act(name: str) -> live.Act:
    """The act of part 3 for the track with this name, which the page gives."""
    track = track_of(name)
    wall = track.wall
    start = 100 * wall.plan(start_of(wall.levers)).network
    return live.Act(
        name=f"{track.name}-scaling-wall",
        title=f"{track.title} 3: The Scaling Wall",
        minutes=15,
        situation=f"{wall.situation} The infrastructure lead: {wall.message.format(busy=start)}",
        contexts=(live.Context(track.name, track.device, f"{track.persona}. {track.mission} {wall.sources}"),),
        question=live.ChoiceQuestion(
            prompt=wall.ask.prompt,
            options=wall.ask.options,
            unit="times",
            answer=lambda: ratio(wall),
        ),
        controls=tuple(lever.control() for lever in wall.levers),
        compute=lambda state: _compute(track, state),
        reveal=lambda prediction, state: _reveal(track, float(prediction)),
        charts={
            "curve": f"Toy loss by samples seen: the middle one of {SEEDS} trainings, and the band of nine tenths",
            "scaling": "MFU by samples in an update, for each number of devices",
        },
        beside=("limits",),
        reflections=reflections(wall),
        hands=(
            live.Playback("curve", "steps", "seen", "text"),
            live.Segments("scaling", "points", "devices", "label"),
        ),
        reveal_first=True,
        can_fail=True,
        hints=True,
        moves=True,
        score=lambda state: score(wall, state.controls),
        best=FOUND[track.name]["wall"].score,
    )


def _compute(track: Track, state: live.State) -> live.View:
    wall, setting = track.wall, state.controls
    if state.prediction is None or not state.revealed:
        return _closed(wall)
    plan, rule = wall.plan(setting), str(setting["rate"])
    trials = trained(wall, plan, rule)
    hindrance = limited(wall, plan) or trials.obstacle
    reached = share(track.name, "wall", None if hindrance else 100 * plan.mfu)
    judged = "" if reached is None else f" ({100 * reached:.0f}\u00a0% of the best MFU found)"
    points, target = tuple(_points(wall, setting)), 100 * wall.target
    end, side = corner(points, target)
    return live.View(
        data={
            "band": tuple(_band(trials)),
            "curve": tuple(_curve(trials)),
            "exploded": tuple(_explosion(trials)),
            "steps": tuple(_steps(trials)),
            "goal": ({"loss": wall.loss, "text": f"to reach: {wall.loss:g}"},),
            "points": points,
            "target": ({"mfu": target, "text": f"target {target:g} %", "end": end, "side": side},),
        },
        headline=live.Figure(f"MFU, target {target:g} %{judged}", _mfu(wall, plan), "%"),
        summary=f"MFU {_mfu(wall, plan)} %, network busy {busy(wall, plan)} % of the step, {_outcome(trials)}.",
        tables={
            "curve": _loss_table(wall, plan, trials, setting),
            "scaling": _scaling_table(wall, setting),
            "limits": _limits(wall, plan, trials),
        },
        failure=_failure(wall, setting, trials, hindrance, hint(wall, setting, hindrance) if state.hint else "")
        if hindrance
        else None,
        success=None if reached is None else _success(wall, plan, reached),
        command=wall.command(setting),
        readings={
            "memory": f"{_memory(plan)} %",
            "network": f"{busy(wall, plan)} %",
            "trainings that reach the toy loss": _reached(trials),
        },
    )


def _closed(wall: Wall) -> live.View:
    return live.View(
        data={"band": (), "curve": (), "exploded": (), "steps": (), "goal": (), "points": (), "target": ()},
        headline=live.Figure(f"MFU, target {100 * wall.target:g} %", "?", "%"),
        summary="The bench opens with your prediction.",
        tables={"curve": CLOSED, "scaling": CLOSED, "limits": CLOSED},
    )


def _drawn(run: Course) -> Iterator[tuple[int, float]]:
    """Updates up to the explosion with the loss after each, evenly spaced and fewer than twice `POINTS`."""
    count = len(run.losses)
    for index in range(0, count, max(1, count // POINTS)):
        if math.isinf(run.losses[index]):
            return
        yield index + 1, run.losses[index]


def _whole(trials: Trials) -> int:
    """Updates after which all samples are seen, or all that is simulated."""
    return max(trials.wanted, len(trials.shown.losses))


def _curve(trials: Trials) -> Iterator[live.Row]:
    """The loss as it is drawn, kept between the ends of the axis."""
    for update, loss in _drawn(trials.shown):
        yield {"seen": 100 * update / _whole(trials), "loss": min(TOP, max(BOTTOM, loss))}


def _band(trials: Trials) -> Iterator[live.Row]:
    """The lowest and the highest loss of nine tenths of the trainings, where the curve is drawn."""
    count = len(trials.shown.losses)
    for index in range(0, count, max(1, count // POINTS)):
        losses = [run.losses[index] for run in trials.band]
        ends = (min(TOP, max(BOTTOM, end)) for end in (min(losses), max(losses)))
        yield dict(zip(("seen", "low", "high"), (100 * (index + 1) / _whole(trials), *ends), strict=True))


def _explosion(trials: Trials) -> Iterator[live.Row]:
    run = trials.shown
    if run.exploded_at is not None:
        seen = 100 * (run.exploded_at + 1) / _whole(trials)
        yield {"seen": seen, "loss": TOP / 2, "text": "NaN" if run.reason == "overflow" else "explodes"}


def _all_updates(trials: Trials) -> str:
    """How many updates the toy makes, and how many the samples are enough for where it makes more."""
    count = _whole(trials)
    if trials.wanted >= count:
        return f"{count}"
    return f"{count}, the fewest that are simulated (the samples are enough for {trials.wanted})"


def _steps(trials: Trials) -> Iterator[live.Row]:
    """Where a reader who plays the curve stops: each of its places, and the explosion."""
    run, count, of = trials.shown, _whole(trials), _all_updates(trials)
    for update, loss in _drawn(run):
        yield {"seen": 100 * update / count, "text": f"Update {update} of {of}: toy loss {loss:.3f}"}
    for row in _explosion(trials):
        yield {"seen": row["seen"], "text": f"Update {1 + (run.exploded_at or 0)} of {of}: {row['text']}"}


def _points(wall: Wall, setting: Setting) -> Iterator[live.Row]:
    """MFU with the other levers as they are, for each number of devices and of micro-batches."""
    levers = {lever.name: lever.values for lever in wall.levers}
    for devices in levers.get("devices", (None,)):
        for accumulate in levers["accumulate"]:
            moved = {**setting, "accumulate": accumulate} | ({} if devices is None else {"devices": devices})
            plan = wall.plan(moved)
            name = "" if devices is None else f"{devices:,} devices, "
            yield {
                "devices": str(devices or "both"),
                "batch": plan.batch,
                "mfu": 100 * plan.mfu,
                "fits": plan.need <= plan.limit and plan.network <= wall.ceiling,
                "current": moved == dict(setting),
                "label": f"{name}{plan.batch:,} samples: {100 * plan.mfu:.0f} %",
            }


def _memory(plan: Plan) -> str:
    """What a device needs, in % of what it has."""
    return beyond(100 * plan.need / plan.limit, 100, 0, kept=plan.need <= plan.limit)


def _mfu(wall: Wall, plan: Plan) -> str:
    return beyond(100 * plan.mfu, 100 * wall.target, 1, kept=plan.mfu >= wall.target)


def _loss(trials: Trials) -> str:
    """Where the middle training ends."""
    loss = final_loss(trials.shown)
    return beyond(loss, trials.limit, 3, kept=loss <= trials.limit)


def _reached(trials: Trials) -> str:
    """How many trainings reach the loss, where that is known."""
    return "not known" if trials.unjudged else f"{trials.kept} of {len(trials.runs)}"


def _outcome(trials: Trials) -> str:
    run, kept = trials.shown, f"{trials.kept} of {len(trials.runs)} trainings reach {trials.limit:g}"
    if trials.unjudged:
        some = f"{len(run.losses)} of {trials.wanted:,} updates"
        return f"the toy loss is at {_loss(trials)} after {some}; the others are not simulated"
    if run.exploded_at is not None:
        return f"the toy loss explodes at update {run.exploded_at + 1} of {_all_updates(trials)}; {kept}"
    return f"the toy loss ends at {_loss(trials)}; {kept}"


def _limits(wall: Wall, plan: Plan, trials: Trials) -> live.Table:
    run = trials.shown
    loss = "explodes" if run.exploded_at is not None else _loss(trials)

    def line(name: str, value: str, limit: str, *, good: bool, known: bool = True) -> dict[str, str]:
        return live.row(name, value, limit, ("✓" if good else "✗") if known else "–")

    known = not trials.unjudged
    return live.Table(
        "Everything has to hold at once. The toy loss is the mean of the last tenth of the updates, in the middle "
        "training; the last line counts the trainings that reach it.",
        live.columns("Limit", "Now", "Asked for", "Kept"),
        [
            line("Memory", f"{_memory(plan)} %", "100 %", good=plan.need <= plan.limit),
            line("Network", f"{busy(wall, plan)} %", f"{100 * wall.ceiling:g} %", good=plan.network <= wall.ceiling),
            line("MFU", f"{_mfu(wall, plan)} %", f"{100 * wall.target:g} %", good=plan.mfu >= wall.target),
            line("Toy loss", loss, f"{wall.loss:g}", good=final_loss(run) <= wall.loss, known=known),
            line(
                "Trainings that reach it",
                _reached(trials),
                f"{NEEDED} of {SEEDS}",
                good=not trials.obstacle,
                known=known,
            ),
        ],
    )


def _loss_table(wall: Wall, plan: Plan, trials: Trials, setting: Setting) -> live.Table:
    run = trials.shown
    rate = learning_rate(wall, plan, str(setting["rate"]))
    rows = [
        live.row("Samples in an update", f"{plan.batch:,}"),
        live.row(f"Updates simulated, at least {LEAST}", f"{len(run.losses):,}"),
        live.row("Updates that the samples are enough for", f"{trials.wanted:,}"),
        live.row("Learning rate (2 diverges)", f"{rate:.2f}"),
        live.row("Updates left out by the loss scale", f"{run.skipped}"),
        live.row("Updates shortened by clipping", f"{run.clipped}"),
    ]
    # A sentence has the whole width of a phone here; in the column of values it would push them out of sight.
    end = _outcome(trials)
    caption = (
        f"The middle training of the noisy quadratic model, a toy and not your network. {end[0].upper()}{end[1:]}."
    )
    return live.Table(caption, live.columns("What", "Value"), rows)


def _scaling_table(wall: Wall, setting: Setting) -> live.Table:
    rows = [
        live.row(str(row["devices"]), f"{row['batch']:,}", f"{row['mfu']:.1f}", "kept" if row["fits"] else "over")
        for row in _points(wall, setting)
    ]
    return live.Table(
        "The other levers as they are. The last column is about the limits of memory and network alone: neither MFU "
        "nor the toy loss counts in it.",
        live.columns("Devices", "Samples in an update", "MFU|%", "Memory, network"),
        rows,
    )


def _failure(wall: Wall, setting: Setting, trials: Trials, hindrance: str, remedy: str) -> live.Failure:
    plan = wall.plan(setting)
    few = f"{trials.kept} of {len(trials.runs)} trainings reach {wall.loss:g}; {NEEDED} are needed."
    excess = {
        "memory": f"A device needs {_memory(plan)} % of what it has.",
        "network": f"It is busy {busy(wall, plan)} % of the step; {100 * wall.ceiling:g} % are allowed.",
        "mfu": f"{_mfu(wall, plan)} % of {100 * wall.target:g} %.",
        "exploded": f"{trials.exploded} of {len(trials.runs)} trainings explode. {few}",
        "loss": few,
    }
    what = {
        "memory": "The step does not run.",
        "network": "Exchanges take too large a share of the step.",
        "mfu": _largest_loss(plan) if hindrance == "mfu" else "",
    }
    told = what.get(hindrance) or why(wall, setting, trials)
    return live.Failure(TITLES[hindrance], told, excess[hindrance], remedy)


def _largest_loss(plan: Plan) -> str:
    """What lowers the MFU most of all that levers can change."""
    cause, share = max(plan.lost().items(), key=lambda item: item[1])
    return f"What costs most here: {cause}. Without it the step would be {100 * share:.0f} % shorter."


def _success(wall: Wall, plan: Plan, reached: float) -> live.Success:
    held = f"MFU {100 * plan.mfu:.1f} %, the network busy {100 * plan.network:.0f} %, and the toy loss comes down."
    if reached >= NEAR:
        return live.Success(
            "Mission accomplished", f"{held} No setting that keeps every limit is 5 % better. {wall.lesson}"
        )
    return live.Success(
        "Every limit is kept", f"{held} That is {100 * reached:.0f} % of the best MFU that the search found."
    )


def _reveal(track: Track, said: float) -> live.Verdict:
    wall, answer = track.wall, ratio(track.wall)
    chosen = {float(option.value): option for option in wall.ask.options}
    nearest = min(chosen, key=lambda option: abs(option - answer))
    start = wall.plan(start_of(wall.levers))
    right, why = said == nearest, chosen[nearest].why
    return live.Verdict(
        correct=right,
        headline=(
            "It stays the same."
            if abs(answer - 1) < SAME
            else f"It becomes {answer:.{2 if answer > 0.1 else 3}f} times what it was."
        )
        + (f" You said so. {why}" if right else f" You said: {chosen[said].label.rstrip('.').lower()}."),
        paragraphs=(
            ("" if right else f"{why} ")
            + f"As the mission begins, the network is busy {100 * start.network:.0f} % of the step, and MFU is "
            f"{100 * start.mfu:.1f} %.",
            "Besides, the toy loss has to come down: a larger batch makes fewer updates of the same samples, and the "
            "rule by which the rate follows the batch can help or lose.",
        ),
    )
