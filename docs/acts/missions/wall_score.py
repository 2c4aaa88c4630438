"""How good a setting of part 3 is: its MFU, where memory, network and loss allow it."""

from __future__ import annotations

from engine.training.noisy_quadratic import Course, course

from .facts import Plan, Setting, Wall, start_of

SEED = 3
MOST = 1000
"""The most updates that are simulated. A setting that needs more is slow anyway."""
LAST = 0.1
"""Share of the updates over which the final loss is the mean."""


def learning_rate(wall: Wall, plan: Plan, rule: str) -> float:
    """The rate for the plan's batch, by the linear rule or by the square root. Source: arXiv 1706.02677, 2.1."""
    scale = plan.batch / wall.base
    return wall.rate * (scale if rule == "linear" else scale**0.5)


def trained(wall: Wall, plan: Plan, rule: str) -> Course:
    """The simulated training: the same samples whatever the batch, so that a larger one makes fewer updates."""
    updates = min(MOST, max(5, round(wall.updates * wall.base / plan.batch)))
    # The model's unit is one sample of the base batch: only the ratio of the two matters.
    return course(
        updates,
        plan.batch,
        learning_rate(wall, plan, rule),
        noise=wall.noise,
        guard=plan.guard,
        outliers=wall.outliers,
        seed=SEED,
    )


def final_loss(run: Course) -> float:
    """The mean over the last updates."""
    last = run.losses[-max(1, round(LAST * len(run.losses))) :]
    return sum(last) / len(last)


def obstacle(wall: Wall, plan: Plan, rule: str) -> str:
    """Why a setting is not accepted: the first true one of `memory`, `network`, `mfu`, `exploded`, `loss`; or empty.

    Args:
        wall: The part of the track.
        plan: The plan of the setting.
        rule: The setting's rule for the learning rate, as in `learning_rate`.
    """
    if plan.need > plan.limit:
        return "memory"
    if plan.network > wall.ceiling:
        return "network"
    if plan.mfu < wall.target:
        return "mfu"
    run = trained(wall, plan, rule)
    if run.exploded_at is not None:
        return "exploded"
    return "" if final_loss(run) <= wall.loss else "loss"


def judged(wall: Wall, setting: Setting) -> tuple[float, str]:
    """The MFU in percent that a setting has, accepted or not, and its `obstacle`."""
    plan = wall.plan(setting)
    return 100 * plan.mfu, obstacle(wall, plan, str(setting["rate"]))


def score(wall: Wall, setting: Setting) -> float | None:
    """The MFU in percent, or None for a setting that is not accepted."""
    worth, why = judged(wall, setting)
    return None if why else worth


def ratio(wall: Wall) -> float:
    """The factor by which communication over computation grows when the lever of the question is doubled."""
    start = start_of(wall.levers)
    name = wall.double[0]
    before, after = (_communication(wall.plan(at)) for at in (start, {**start, name: 2 * int(start[name])}))
    return after / before


def _communication(plan: Plan) -> float:
    return plan.network * sum(plan.step.values()) / plan.step["compute"]
