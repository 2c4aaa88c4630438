"""What would help in part 3, found by trying the settings next to the reader's: nothing here knows an answer."""

from __future__ import annotations

from .facts import Setting, Wall
from .steps import Step, further, steps
from .wall_score import final_loss, score, trained

LIMITS = ("memory", "network", "mfu", "loss")
"""The loss last: it takes trainings to tell."""
COUNTS = {2: "two", 3: "three"}


def excess(wall: Wall, setting: Setting, limit: str) -> tuple[float, ...]:
    """How far a setting is from keeping a limit, to be compared: less is better."""
    plan = wall.plan(setting)
    if limit == "memory":
        return (plan.need / plan.limit,)
    if limit == "network":
        return (plan.network,)
    if limit == "mfu":
        return (-plan.mfu,)
    trials = trained(wall, plan, str(setting["rate"]))
    # Of explosions, the later is the better.
    late = sum(run.exploded_at or 0 for run in trials.runs)
    return (-trials.kept, trials.exploded, -late, final_loss(trials.shown))


def best_way(wall: Wall, setting: Setting, limit: str) -> tuple[Step, ...]:
    """The steps that bring a setting nearest to keeping a limit: one or two, or three where no fewer do.

    Best is a way to a setting that counts, then one that gives up nothing of what is kept now. At last come three steps
    to a setting that counts, and then steps that give something up. Empty where none brings it nearer.
    """
    now = excess(wall, setting, limit)
    kept = [name for name in LIMITS if _keeps(wall, setting, name)]

    def nearer(longer: list[tuple[Step, ...]]) -> list[tuple[Step, ...]]:
        return [way for way in longer if excess(wall, way[-1].setting, limit) < now]

    def best(some: list[tuple[Step, ...]]) -> tuple[Step, ...]:
        return min(some, key=lambda way: excess(wall, way[-1].setting, limit), default=())

    def goals(some: list[tuple[Step, ...]]) -> list[tuple[Step, ...]]:
        return [way for way in some if score(wall, way[-1].setting) is not None]

    single: list[tuple[Step, ...]] = [(step,) for step in steps(wall.levers, setting)]
    double = further(wall.levers, single)
    for some in (single, double):
        if way := best(goals(nearer(some))):
            return way
    for some in (single, double):
        clean = (way for way in nearer(some) if all(_keeps(wall, way[-1].setting, name) for name in kept))
        if way := best(list(clean)):
            return way
    return best(goals(nearer(further(wall.levers, double)))) or best(nearer(single)) or best(nearer(double))


def _keeps(wall: Wall, setting: Setting, limit: str) -> bool:
    plan = wall.plan(setting)
    if limit == "loss":
        return not trained(wall, plan, str(setting["rate"])).obstacle
    return {"memory": plan.need <= plan.limit, "network": plan.network <= wall.ceiling, "mfu": plan.mfu >= wall.target}[
        limit
    ]


def hint(wall: Wall, setting: Setting, limit: str) -> str:
    """The best way in words, with what it changes."""
    way = best_way(wall, setting, limit)
    if not way:
        return "No three steps bring it nearer: go back towards where it began."
    change = _change(wall, setting, way[-1].setting, limit)
    if len(way) == 1:
        return f"Of all single steps this one helps most: {way[0].words}. {change}"
    *others, last = (step.words for step in way)
    return f"No single step is enough; these {COUNTS[len(way)]} help most: {', '.join(others)}, and {last}. {change}"


def _change(wall: Wall, now: Setting, then: Setting, limit: str) -> str:
    before, after = wall.plan(now), wall.plan(then)
    if limit == "memory":
        return f"Memory: {100 * before.need / before.limit:.0f} %, then {100 * after.need / after.limit:.0f} %."
    if limit == "network":
        return f"Network: {100 * before.network:.0f} %, then {100 * after.network:.0f} %."
    if limit == "mfu":
        return f"MFU: {100 * before.mfu:.1f} %, then {100 * after.mfu:.1f} %."
    few, more = (trained(wall, plan, str(at["rate"])) for plan, at in ((before, now), (after, then)))
    if more.kept == few.kept:
        return "It is not enough alone."
    return f"Trainings that reach the toy loss: {few.kept} of {len(few.runs)}, then {more.kept}."
