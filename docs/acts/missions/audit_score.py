"""How good a setting of part 1 is: how fast the model learns, where everything fits."""

from __future__ import annotations

from engine.training import convergence

from .facts import Account, Audit, Setting


def progress(optimizer: str) -> float:
    """What an update with this optimizer is worth beside one with Adam.

    By the course material's steps to convergence, which shows no experiment. 8 bits for Adam's states change nothing
    there.
    """
    return convergence("adam").steps / convergence("adam" if optimizer == "adam8" else optimizer).steps


def obstacle(audit: Audit, setting: Setting) -> str:
    """What is in the way: `memory`, or `refused` by the mission; empty when nothing is."""
    return _obstacle(audit.account(setting))


def _obstacle(account: Account) -> str:
    return "memory" if not account.fits else "refused" if account.refused else ""


def score(audit: Audit, setting: Setting) -> float | None:
    """Samples per second, in the worth of Adam's updates; None for what does not fit or the mission does not take."""
    account = audit.account(setting)
    if _obstacle(account):
        return None
    return account.rate * progress(str(setting["optimizer"]))
