"""Why the toy loss of part 3 fails, found by taking causes away: what is named cures it, and nothing less does."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import combinations

from explorable import live

from .facts import Plan, Setting, Wall
from .shared import COUNTS
from .wall_score import LEAST, MOST, Trials, learning_rate, trained, updates_of

RULES = {"linear": "root", "root": "linear"}


def causes(wall: Wall, setting: Setting) -> tuple[str, ...]:
    """The fewest of `scaling`, `clip`, `rate` and `batch` whose change ends the failure; empty where no change does.

    An explosion has ended when it is no longer why the setting fails. Of equally few causes levers come first: the
    batch is many levers. Of several each is enough alone to fail, because no fewer changes help.
    """
    failing = trained(wall, wall.plan(setting), str(setting["rate"])).obstacle
    possible = [name for name in _other(setting) if name in setting]

    def ended(away: Collection[str]) -> bool:
        after = (trained(wall, plan, rule).obstacle for plan, rule in _without(wall, setting, away))
        return any(now != failing if failing == "exploded" else not now for now in after)

    sets = (away for count in range(1, len(possible) + 1) for away in combinations(possible, count))
    return next((away for away in sets if ended(away)), ())


def _other(setting: Setting) -> dict[str, live.Value]:
    """Where each lever stands when its cause is taken away; the batch is halved instead."""
    return {"scaling": "dynamic", "clip": not setting["clip"], "rate": RULES[str(setting["rate"])], "batch": 0}


def _without(wall: Wall, setting: Setting, away: Collection[str]) -> Iterator[tuple[Plan, str]]:
    """The plan without these causes, and its rule; or many: a half of the batch, a quarter and so on.

    Batches end where not all of their updates would be simulated.
    """
    other = _other(setting)
    setting = {**setting, **{name: other[name] for name in away if name != "batch"}}
    plan, rule = wall.plan(setting), str(setting["rate"])
    if "batch" not in away:
        yield plan, rule
        return
    while plan.batch > 1 and updates_of(wall, plan := replace(plan, batch=plan.batch // 2)) <= MOST:
        yield plan, rule


def why(wall: Wall, setting: Setting, trials: Trials) -> str:
    """The causes in words, for a setting whose loss fails."""
    found = causes(wall, setting)
    told = " ".join(_sentence(wall, setting, trials, cause) for cause in found)
    return f"{COUNTS[len(found)]} causes, and each is enough alone. {told}" if len(found) > 1 else told


def _sentence(wall: Wall, setting: Setting, trials: Trials, cause: str) -> str:
    plan, rule = wall.plan(setting), str(setting["rate"])
    if cause == "scaling":
        if setting["scaling"] == "none" and trials.obstacle == "loss":
            return "Gradients that are too small for FP16 become zero, and what they would have taught is lost."
        return "A strange batch made gradients that FP16 cannot hold: they became infinite, and the toy loss NaN."
    if cause == "clip":
        if not setting["clip"]:
            return "A strange batch made one huge update, and the weights did not come back."
        run = trials.shown
        return f"Clipping shortened {run.clipped} of {len(run.losses)} updates, and the toy loss comes down too slowly."
    rate = learning_rate(wall, plan, rule)
    if cause == "rate":
        low = rate < learning_rate(wall, plan, RULES[rule])
        much = f"too low for {_updates(trials)}" if low else "beyond what the toy loss can follow"
        return f"By this rule the learning rate is {rate:.2f}: {much}."
    more = f" Even after {LEAST}, the fewest that are simulated, the toy loss stays too high."
    return (
        f"The batch is too large: the samples are enough for {_updates(trials)}, at a learning rate of {rate:.2f} "
        f"(2 diverges).{more if trials.wanted < LEAST else ''}"
    )


def _updates(trials: Trials) -> str:
    count = trials.wanted
    return "no whole update" if not count else "one update" if count == 1 else f"{count} updates"
