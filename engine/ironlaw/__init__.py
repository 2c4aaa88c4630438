"""The physics of training: memory, operations, time, cost and energy, from named tensors and explicit operation lists.

Standard library only. These are the names that most programs need; everything else is imported from its room, such as
`ironlaw.memory` or `ironlaw.parallel`:

    >>> from ironlaw import estimate, model
    >>> model("gpt2-xl").parameters
    1557611200
    >>> estimate("gpt2-xl", "h200", batch=8, sequence=1024).fits
    True

A room is imported when one of its names is first asked for: a program starts faster, and so does the browser.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_ROOMS = {
    "ironlaw.core": ("EngineError", "GB", "GIB"),
    "ironlaw.numerics": ("list_precisions", "precision"),
    "ironlaw.hardware": ("accelerator", "link", "list_accelerators", "list_links"),
    "ironlaw.models": ("Transformer", "list_models", "model"),
    "ironlaw.graph": ("flops_per_token",),
    "ironlaw.config": ("Layout", "Setup", "list_optimizers", "optimizer", "setup"),
    "ironlaw.memory": ("training_memory",),
    "ironlaw.time": ("step_time",),
    "ironlaw.parallel": ("job_time", "search"),
    "ironlaw.answers": ("estimate", "explain", "fit", "fits"),
}

_HOME = {name: room for room, names in _ROOMS.items() for name in names}

if TYPE_CHECKING:
    from ironlaw.answers import estimate as estimate
    from ironlaw.answers import explain as explain
    from ironlaw.answers import fit as fit
    from ironlaw.answers import fits as fits
    from ironlaw.config import Layout as Layout
    from ironlaw.config import Setup as Setup
    from ironlaw.config import list_optimizers as list_optimizers
    from ironlaw.config import optimizer as optimizer
    from ironlaw.config import setup as setup
    from ironlaw.core import GB as GB
    from ironlaw.core import GIB as GIB
    from ironlaw.core import EngineError as EngineError
    from ironlaw.graph import flops_per_token as flops_per_token
    from ironlaw.hardware import accelerator as accelerator
    from ironlaw.hardware import link as link
    from ironlaw.hardware import list_accelerators as list_accelerators
    from ironlaw.hardware import list_links as list_links
    from ironlaw.memory import training_memory as training_memory
    from ironlaw.models import Transformer as Transformer
    from ironlaw.models import list_models as list_models
    from ironlaw.models import model as model
    from ironlaw.numerics import list_precisions as list_precisions
    from ironlaw.numerics import precision as precision
    from ironlaw.parallel import job_time as job_time
    from ironlaw.parallel import search as search
    from ironlaw.time import step_time as step_time
else:

    def __getattr__(name: str) -> Any:
        """Import a public name's room on first use."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


__all__ = ["__version__", *_HOME]


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
