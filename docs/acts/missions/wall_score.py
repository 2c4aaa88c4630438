"""How good a setting of part 3 is: its MFU, where memory, network and loss allow it.

The loss depends on chance, so a setting is judged by many trainings that differ in their seed alone.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ironlaw.training.noisy_quadratic import Course, course

from .facts import Plan, Setting, Wall, start_of

SEEDS = 21
"""Trainings of a setting. An odd number has a middle one."""
NEEDED = 17
"""How many of them have to stay under the limit: four fifths."""
OUTSIDE = 1
"""How many of the best, and of the worst, lie outside the band: what is left are nine tenths."""
LEAST, MOST = 5, 128
"""How many updates are simulated, whatever the samples are enough for. A plan of more breaks another limit, too."""
LAST = 0.1
"""Share of the updates over which the final loss is the mean."""


@dataclass(frozen=True)
class Trials:
    """The simulated trainings of a setting, the best first.

    Attributes:
        runs: By their final loss; those that explode come last.
        limit: The loss to reach.
        wanted: Updates that the samples are enough for.
    """

    runs: tuple[Course, ...]
    limit: float
    wanted: int

    @property
    def shown(self) -> Course:
        """The middle one, which the page draws. Where it fails, most others fail too."""
        return self.runs[len(self.runs) // 2]

    @property
    def kept(self) -> int:
        """How many stay under the limit."""
        return sum(final_loss(run) <= self.limit for run in self.runs)

    @property
    def exploded(self) -> int:
        """How many explode."""
        return sum(run.exploded_at is not None for run in self.runs)

    @property
    def reason(self) -> str:
        """Why most of those explode that do; empty where none does."""
        reasons = Counter(run.reason for run in self.runs if run.reason)
        return reasons.most_common(1)[0][0] if reasons else ""

    @property
    def obstacle(self) -> str:
        """`exploded` or `loss` where too few stay under the limit, by what becomes of most of the others; or empty."""
        if self.kept >= NEEDED:
            return ""
        return "exploded" if 2 * self.exploded > len(self.runs) - self.kept else "loss"

    @property
    def unjudged(self) -> bool:
        """Whether more updates than the simulated ones may still bring the loss down."""
        return self.wanted > MOST and self.obstacle == "loss"

    @property
    def band(self) -> tuple[Course, ...]:
        """Nine tenths of them: without the best and the worst."""
        return self.runs[OUTSIDE:-OUTSIDE]


def learning_rate(wall: Wall, plan: Plan, rule: str) -> float:
    """The rate for the plan's batch, by the linear rule or by the square root. Source: arXiv 1706.02677, 2.1."""
    scale = plan.batch / wall.base
    return wall.rate * (scale if rule == "linear" else scale**0.5)


def updates_of(wall: Wall, plan: Plan) -> int:
    """Updates that the samples are enough for: a larger batch makes fewer."""
    return round(wall.updates * wall.base / plan.batch)


def trained(wall: Wall, plan: Plan, rule: str) -> Trials:
    """The simulated trainings, a seed for each: the same samples whatever the batch, as far as they are simulated."""
    wanted, rate = updates_of(wall, plan), learning_rate(wall, plan, rule)
    steps = min(MOST, max(LEAST, wanted))
    # The model's unit is one sample of the base batch: only the ratio of the two matters.
    noise, guard, strange = wall.noise, plan.guard, wall.outliers
    runs = (
        course(steps, plan.batch, rate, noise=noise, guard=guard, outliers=strange, seed=seed) for seed in range(SEEDS)
    )
    return Trials(tuple(sorted(runs, key=final_loss)), wall.loss, wanted)


def final_loss(run: Course) -> float:
    """The mean over the last updates; infinite after an explosion."""
    last = run.losses[-max(1, round(LAST * len(run.losses))) :]
    return sum(last) / len(last)


def exceeded(wall: Wall, plan: Plan) -> tuple[str, ...]:
    """Which limits other than the loss a plan exceeds: of `memory`, `network` and `mfu`."""
    failed = {"memory": plan.need > plan.limit, "network": plan.network > wall.ceiling, "mfu": plan.mfu < wall.target}
    return tuple(name for name, fails in failed.items() if fails)


def limited(wall: Wall, plan: Plan) -> str:
    """The first limit other than the loss that a plan exceeds, or none."""
    return next(iter(exceeded(wall, plan)), "")


def obstacle(wall: Wall, plan: Plan, rule: str) -> str:
    """Why a setting is not accepted: the first true one of `memory`, `network`, `mfu`, `exploded`, `loss`; or empty.

    Args:
        wall: The part of the track.
        plan: The plan of the setting.
        rule: The setting's rule for the learning rate, as in `learning_rate`.
    """
    return limited(wall, plan) or trained(wall, plan, rule).obstacle


def judged(wall: Wall, setting: Setting) -> tuple[float, str]:
    """The MFU in percent that a setting has, accepted or not, and its `obstacle`."""
    plan = wall.plan(setting)
    return 100 * plan.mfu, obstacle(wall, plan, str(setting["rate"]))


def score(wall: Wall, setting: Setting) -> float | None:
    """The MFU in percent, or None for a setting that is not accepted."""
    worth, why = judged(wall, setting)
    return None if why else worth


def ratio(wall: Wall) -> float:
    """How many times what it was the quantity of the question becomes, everything else as at the start."""
    start = start_of(wall.levers)
    before, after = (wall.ask.measure(wall.plan(at)) for at in (start, {**start, **wall.ask.after}))
    return after / before
