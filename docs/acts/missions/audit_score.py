"""How good a setting of part 1 is: how fast the model learns, where everything fits."""

from __future__ import annotations

from engine.training import convergence

from .facts import Audit, Setting


def progress(optimizer: str) -> float:
    """What an update with this optimizer is worth beside one with Adam.

    By the course material's steps to convergence, which shows no experiment. 8 bits for Adam's states change nothing
    there.
    """
    return convergence("adam").steps / convergence("adam" if optimizer == "adam8" else optimizer).steps


def judged(audit: Audit, setting: Setting) -> tuple[float, str]:
    """Samples per second, in the worth of Adam's updates, were nothing in the way; and what is.

    In the way is the `memory`, or the mission that has it `refused`; empty when nothing is.
    """
    account = audit.account(setting)
    why = "memory" if not account.fits else "refused" if account.refused else ""
    return account.rate * progress(str(setting["optimizer"])), why


def score(audit: Audit, setting: Setting) -> float | None:
    """What a setting is worth; None for what does not fit or the mission does not take."""
    worth, why = judged(audit, setting)
    return None if why else worth
