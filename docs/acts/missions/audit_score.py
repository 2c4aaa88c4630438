"""How good a setting of part 1 is: how fast the model learns, where everything fits."""

from __future__ import annotations

from ironlaw.training import convergence

from .facts import Audit, Setting


def progress(optimizer: str) -> float:
    """How much an update with this optimizer brings, relative to one with Adam.

    By the course material's steps to convergence, which shows no experiment. 8 bits for Adam's states change nothing
    there.
    """
    return convergence("adam").steps / convergence("adam" if optimizer == "adam8" else optimizer).steps


def judged(audit: Audit, setting: Setting) -> tuple[float, str]:
    """The score that a setting has, accepted or not, and the reason why it is not accepted.

    The score is samples per second times the optimizer's `progress`. The reason is `memory`, `refused` where the
    mission does not take the setting, `slow` where it falls short of the target, or empty if the setting is accepted.
    """
    account = audit.account(setting)
    worth = account.rate * progress(str(setting["optimizer"]))
    slow = "slow" if worth < audit.target else ""
    return worth, "memory" if not account.fits else "refused" if account.refused else slow


def score(audit: Audit, setting: Setting) -> float | None:
    """The score of a setting; None for what does not fit or the mission does not take."""
    worth, why = judged(audit, setting)
    return None if why else worth
