"""The physics of training: memory, operations, time, cost and energy, from named tensors and explicit operation lists.

Standard library only. These are the names that most programs need; everything else is imported from its room, such as
`ironlaw.memory` or `ironlaw.parallel`:

    >>> from ironlaw import estimate, model
    >>> model("gpt2-xl").parameters
    1557611200
    >>> estimate("gpt2-xl", "h200", batch=8, sequence=1024).fits
    True

A room is imported when one of its names is first asked for: a program starts faster, and so does the browser. Type
checkers find the names in `__init__.pyi`.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

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

__all__ = ["__version__", *_HOME]


def __getattr__(name: str) -> Any:
    """Import a public name's room on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
