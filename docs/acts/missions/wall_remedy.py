"""What would help in part 3, found by trying the settings next to the reader's: nothing here knows an answer."""

from __future__ import annotations

from itertools import permutations

from .facts import Setting, Wall
from .shared import COUNTS
from .steps import Step, further, places, steps
from .wall_score import Trials, final_loss, score, trained

LIMITS = ("memory", "network", "mfu", "loss")
"""The loss last: it takes trainings to tell."""


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
    Of a way only the steps remain that the limit needs, in an order in which each helps if there is one.
    """
    way = _best_way(wall, setting, limit)
    single = len({step.lever.name for step in way}) == len(way)
    orders = (_along(setting, list(order)) for order in permutations(way)) if single else ()
    return next((order for order in orders if not astray(wall, setting, order, limit)), way)


def astray(wall: Wall, setting: Setting, way: tuple[Step, ...], limit: str) -> bool:
    """Whether a way leads further from its limit first."""
    now = excess(wall, setting, limit)
    return any(excess(wall, step.setting, limit) > now for step in way)


def _best_way(wall: Wall, setting: Setting, limit: str) -> tuple[Step, ...]:
    now = excess(wall, setting, limit)
    kept = [name for name in LIMITS if keeps(wall, setting, name)]

    def nearer(longer: list[tuple[Step, ...]]) -> list[tuple[Step, ...]]:
        return [way for way in longer if excess(wall, way[-1].setting, limit) < now]

    def best(some: list[tuple[Step, ...]]) -> tuple[Step, ...]:
        return min(some, key=lambda way: excess(wall, way[-1].setting, limit), default=())

    def goals(some: list[tuple[Step, ...]]) -> list[tuple[Step, ...]]:
        return [way for way in some if score(wall, way[-1].setting) is not None]

    def needed(way: tuple[Step, ...]) -> tuple[Step, ...]:
        """Those steps of a way without which the limit is further off, or a limit is lost that the way keeps."""
        safe = {name for name in kept if way and keeps(wall, way[-1].setting, name)}
        for left_out in way:
            fewer = _along(setting, [step for step in way if step is not left_out])
            if not fewer or len({step.lever.name for step in way}) < len(way):
                continue
            end = fewer[-1].setting
            if excess(wall, end, limit) <= excess(wall, way[-1].setting, limit) and all(
                keeps(wall, end, name) for name in safe
            ):
                return needed(fewer)
        return way

    single: list[tuple[Step, ...]] = [(step,) for step in steps(wall.levers, setting)]
    double = further(wall.levers, single)
    for some in (single, double):
        if way := best(goals(nearer(some))):
            return needed(way)
    for some in (single, double):
        clean = (way for way in nearer(some) if all(keeps(wall, way[-1].setting, name) for name in kept))
        if way := best(list(clean)):
            return needed(way)
    return needed(best(goals(nearer(further(wall.levers, double)))) or best(nearer(single)) or best(nearer(double)))


def _along(setting: Setting, way: list[Step]) -> tuple[Step, ...]:
    """The same steps, one after the other, from this setting."""
    taken: list[Step] = []
    for step in way:
        setting = {**setting, step.lever.name: step.setting[step.lever.name]}
        taken.append(Step(step.lever, setting))
    return tuple(taken)


def keeps(wall: Wall, setting: Setting, limit: str) -> bool:
    """Whether a setting keeps a limit."""
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
    words = places(way)
    enough = score(wall, way[-1].setting) is not None
    if len(words) == 1:
        return f"One step {'is enough' if enough else 'that helps'}: {words[0]}. {change}"
    only = " only" if astray(wall, setting, way, limit) else ""
    helps = f"are enough{only} together" if enough else f"help{only} together"
    return f"{COUNTS[len(words)]} steps {helps}: {', '.join(words[:-1])}, and {words[-1]}. {change}"


def _change(wall: Wall, now: Setting, then: Setting, limit: str) -> str:
    before, after = wall.plan(now), wall.plan(then)
    if limit == "memory":
        return f"Memory: {100 * before.need / before.limit:.0f} %, then {100 * after.need / after.limit:.0f} %."
    if limit == "network":
        return f"Network: {100 * before.network:.0f} %, then {100 * after.network:.0f} %."
    if limit == "mfu":
        return f"MFU: {100 * before.mfu:.1f} %, then {100 * after.mfu:.1f} %."
    few, more = (trained(wall, plan, str(at["rate"])) for plan, at in ((before, now), (after, then)))
    if more.kept != few.kept:
        return f"Trainings that reach the toy loss: {few.kept} of {len(few.runs)}, then {more.kept}."
    said = f"Trainings that reach the toy loss: still {few.kept} of {len(few.runs)}."
    if more.exploded != few.exploded:
        return f"{said} Of them {few.exploded} explode, then {more.exploded}."
    if _lasts(more) > _lasts(few):
        return f"{said} They explode later: at update {_lasts(few):.1f} on average, then {_lasts(more):.1f}."
    return f"{said} The loss that is drawn: {final_loss(few.shown):.2g}, then {final_loss(more.shown):.2g}."


def _lasts(trials: Trials) -> float:
    """The update at which trainings explode, on average over those that do."""
    return sum(run.exploded_at or 0 for run in trials.runs) / max(trials.exploded, 1)
