"""Part 3 of every mission, the scaling wall: MFU against memory, network and a loss that may explode."""

from __future__ import annotations

import math
from collections.abc import Iterator

from engine.training.noisy_quadratic import Course
from plugins import live

from .facts import Plan, Setting, Track, Wall, start_of
from .found import FOUND
from .search import NEAR
from .shared import CLOSED, share
from .wall_reflection import reflections
from .wall_score import SEED, final_loss, learning_rate, obstacle, ratio, score, trained

POINTS = 120
"""Most places of the loss curve that are drawn."""
BOTTOM, TOP = 1e-3, 10.0
"""Ends of the loss's axis."""
OPTIONS = {2.0: "It doubles, or nearly.", 1.0: "It stays about the same.", 0.5: "It falls to about a half."}
WHY = {
    2.0: "More samples are more arithmetic. An exchange sends weights or gradients, and does not grow with them.",
    1.0: "It stays where every micro-batch brings its own exchange. Here the same exchange serves more samples.",
    0.5: "The exchange is as large as before, and there is twice the arithmetic to set against it.",
}
TITLES = {
    "memory": "Out of memory",
    "network": "The network is saturated",
    "mfu": "Below the target",
    "exploded": "The loss explodes",
    "loss": "The loss stays too high",
}


def wall_act(track: Track) -> live.Act:
    """The act of part 3 for a track."""
    wall = track.wall
    return live.Act(
        name=f"{track.name}-scaling-wall",
        title=f"{track.title} 3: The Scaling Wall",
        minutes=15,
        situation=f"{wall.situation} The infrastructure lead: {wall.message}",
        contexts=(live.Context(track.name, track.device, f"{track.persona}. {track.mission} {wall.sources}"),),
        question=live.ChoiceQuestion(
            prompt=f"{wall.double[1]} What becomes of communication over computation?",
            options=tuple(live.Option(value, label, WHY[value]) for value, label in OPTIONS.items()),
            unit="times",
            answer=lambda: ratio(wall),
        ),
        controls=tuple(lever.control() for lever in wall.levers),
        compute=lambda state: _compute(track, state),
        reveal=lambda prediction, state: _reveal(track, float(prediction)),
        charts={
            "curve": f"Simulated training loss by samples seen, seed {SEED}",
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
        moves=True,
        score=lambda state: score(wall, state.controls),
        best=FOUND[track.name]["wall"].score,
    )


def _compute(track: Track, state: live.State) -> live.View:
    wall, setting = track.wall, state.controls
    if state.prediction is None or not state.revealed:
        return _closed(wall)
    plan, rule = wall.plan(setting), str(setting["rate"])
    run = trained(wall, plan, rule)
    hindrance = "exploded" if run.exploded_at is not None and plan.need <= plan.limit else obstacle(wall, plan, rule)
    reached = share(track.name, "wall", None if hindrance else 100 * plan.mfu)
    judged = "" if reached is None else f" ({100 * reached:.0f} % of the best found)"
    return live.View(
        data={
            "curve": tuple(_curve(run)),
            "exploded": tuple(_explosion(run)),
            "steps": tuple(_steps(run)),
            "goal": ({"loss": wall.loss, "text": f"to reach: {wall.loss:g}"},),
            "points": tuple(_points(wall, setting)),
            "target": ({"mfu": 100 * wall.target, "text": f"target {100 * wall.target:g} %"},),
        },
        headline=live.Figure(f"MFU, target {100 * wall.target:g} %{judged}", f"{100 * plan.mfu:.1f}", "%"),
        summary=f"MFU {100 * plan.mfu:.1f} %, network busy {100 * plan.network:.0f} % of the step, {_outcome(run)}.",
        tables={
            "curve": _loss_table(wall, plan, run, setting),
            "scaling": _scaling_table(wall, setting),
            "limits": _limits(wall, plan, run),
        },
        failure=_failure(wall, plan, run, hindrance) if hindrance else None,
        success=None if reached is None else _success(plan, reached),
    )


def _closed(wall: Wall) -> live.View:
    return live.View(
        data={"curve": (), "exploded": (), "steps": (), "goal": (), "points": (), "target": ()},
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


def _curve(run: Course) -> Iterator[live.Row]:
    """The loss as it is drawn, kept between the ends of the axis."""
    for update, loss in _drawn(run):
        yield {"seen": 100 * update / len(run.losses), "loss": min(TOP, max(BOTTOM, loss))}


def _explosion(run: Course) -> Iterator[live.Row]:
    if run.exploded_at is not None:
        seen = 100 * (run.exploded_at + 1) / len(run.losses)
        yield {"seen": seen, "loss": TOP / 2, "text": "NaN" if run.reason == "overflow" else "explodes"}


def _steps(run: Course) -> Iterator[live.Row]:
    """Where a reader who plays the curve stops: each of its places, and the explosion."""
    count = len(run.losses)
    for update, loss in _drawn(run):
        yield {"seen": 100 * update / count, "text": f"Update {update} of {count}: loss {loss:.3f}"}
    for row in _explosion(run):
        yield {"seen": row["seen"], "text": f"Update {1 + (run.exploded_at or 0)} of {count}: {row['text']}"}


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


def _outcome(run: Course) -> str:
    if run.exploded_at is not None:
        return f"the loss explodes at update {run.exploded_at + 1} of {len(run.losses)}"
    return f"the loss ends at {final_loss(run):.3f}"


def _limits(wall: Wall, plan: Plan, run: Course) -> live.Table:
    loss = "explodes" if run.exploded_at is not None else f"{final_loss(run):.3f}"
    good_loss = run.exploded_at is None and final_loss(run) <= wall.loss

    def line(name: str, value: str, limit: str, *, good: bool) -> dict[str, str]:
        return live.row(name, value, limit, "✓" if good else "✗")

    memory = 100 * plan.need / plan.limit
    return live.Table(
        "Everything has to hold at once.",
        live.columns("Limit", "Now", "Allowed", "Kept"),
        [
            line("Memory", f"{memory:.0f} %", "100 %", good=plan.need <= plan.limit),
            line(
                "Network", f"{100 * plan.network:.0f} %", f"{100 * wall.ceiling:g} %", good=plan.network <= wall.ceiling
            ),
            line("MFU", f"{100 * plan.mfu:.1f} %", f"{100 * wall.target:g} %", good=plan.mfu >= wall.target),
            line("Final loss", loss, f"{wall.loss:g}", good=good_loss),
        ],
    )


def _loss_table(wall: Wall, plan: Plan, run: Course, setting: Setting) -> live.Table:
    rate = learning_rate(wall, plan, str(setting["rate"]))
    rows = [
        live.row("Samples in an update", f"{plan.batch:,}"),
        live.row("Updates", f"{len(run.losses):,}"),
        live.row("Learning rate, of the 2 that diverge", f"{rate:.2f}"),
        live.row("Updates left out by the loss scale", f"{run.skipped}"),
        live.row("Updates shortened by clipping", f"{run.clipped}"),
        live.row("Outcome", _outcome(run)),
    ]
    return live.Table("The noisy quadratic model, not your network's loss.", live.columns("What", "Value"), rows)


def _scaling_table(wall: Wall, setting: Setting) -> live.Table:
    rows = [
        live.row(str(row["devices"]), f"{row['batch']:,}", f"{row['mfu']:.1f}", "" if row["fits"] else "over a limit")
        for row in _points(wall, setting)
    ]
    return live.Table(
        "The other levers as they are.", live.columns("Devices", "Samples in an update", "MFU|%", "Limits"), rows
    )


def _failure(wall: Wall, plan: Plan, run: Course, hindrance: str) -> live.Failure:
    excess = {
        "memory": f"A device needs {100 * plan.need / plan.limit:.0f} % of what it has.",
        "network": f"It is busy {100 * plan.network:.0f} % of the step; {100 * wall.ceiling:g} % are allowed.",
        "mfu": f"{100 * plan.mfu:.1f} % of {100 * wall.target:g} %.",
        "exploded": f"At update {1 + (run.exploded_at or 0)} of {len(run.losses)}.",
        "loss": ""
        if run.exploded_at is not None
        else f"It ends at {final_loss(run):.3f}; {wall.loss:g} is to be reached.",
    }
    reasons = {
        "overflow": "A strange batch made gradients that FP16 cannot hold: they became infinite, and the loss NaN.",
        "outlier": "A strange batch made one huge update, and the weights did not come back.",
        "rate": "The learning rate was scaled with the batch beyond what the loss can follow.",
    }
    cures = {
        "overflow": "A loss scale that adapts leaves such an update out; a format with more range holds it, and costs "
        "speed or memory.",
        "outlier": "Clipping bounds what one batch can do, and shortens other long steps too; a lower rate makes it "
        "smaller, and all progress slower.",
        "rate": "A smaller batch, which exchanges more often, or the square-root rule, which learns less from each "
        "sample.",
    }
    what = {
        "memory": "The step does not run.",
        "network": "Exchanges take too large a share of the step.",
        "mfu": "The devices wait, or compute again, for too much of their time.",
        "exploded": reasons.get(run.reason, ""),
        "loss": f"The same samples made {len(run.losses)} updates.",
    }
    remedy = {
        "memory": "Divide the model otherwise, or keep less.",
        "network": "Send less, or compute more between exchanges. That makes a larger batch.",
        "mfu": "Look at the table: what takes the time?",
        "exploded": cures.get(run.reason, ""),
        "loss": "More updates from the same samples need a smaller batch; larger ones need a higher rate.",
    }
    return live.Failure(TITLES[hindrance], what[hindrance], excess[hindrance], remedy[hindrance])


def _success(plan: Plan, reached: float) -> live.Success:
    held = f"MFU {100 * plan.mfu:.1f} %, the network busy {100 * plan.network:.0f} %, and the loss comes down."
    if reached >= NEAR:
        return live.Success("Mission accomplished", f"{held} No setting on this bench is 5 % better.")
    return live.Success(
        "Every limit is kept", f"{held} That is {100 * reached:.0f} % of the best MFU that the search found."
    )


def _reveal(track: Track, said: float) -> live.Verdict:
    wall, answer = track.wall, ratio(track.wall)
    nearest = min(OPTIONS, key=lambda option: abs(option - answer))
    start = wall.plan(start_of(wall.levers))
    return live.Verdict(
        correct=said == nearest,
        headline=f"It becomes {answer:.2f} times what it was.",
        paragraphs=(
            f"{WHY[nearest]} As the mission begins, the network is busy {100 * start.network:.0f} % of the step, and "
            f"MFU is {100 * start.mfu:.1f} %.",
            "But a larger batch makes fewer updates of the same samples, and asks for a higher learning rate, up to "
            f"one at which training explodes. {wall.lesson}",
        ),
    )
