"""Transformers by name, by shape or by `config.json`, and every parameter tensor they have."""

from __future__ import annotations

import typing as _typing

from ironlaw.models.transformer import Transformer, list_models, model, of_layers

if _typing.TYPE_CHECKING:
    from ironlaw.models.config_json import from_config


def __getattr__(name: str) -> object:
    """Import the reader of configurations when it is first asked for."""
    if name == "from_config":
        from ironlaw.models.config_json import from_config

        return from_config
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
