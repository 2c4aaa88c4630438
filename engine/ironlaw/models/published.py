"""Configurations of published models, by the name that their hub has for them, and what of a configuration counts."""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from ironlaw.core.errors import EngineError
from ironlaw.models.config_json import Config, from_config, text_part
from ironlaw.models.families import FAMILIES
from ironlaw.models.layers import Dropouts
from ironlaw.models.transformer import Transformer


@cache
def published() -> Mapping[str, Mapping[str, Any]]:
    """Name -> its entry: the `config`, its `source`, and the keys that are there `from_memory`."""
    text = pkgutil.get_data(__package__, "published.json")
    assert text is not None
    found: dict[str, Mapping[str, Any]] = json.loads(text)
    return found


@cache
def published_model(name: str) -> Transformer:
    """The transformer of a published configuration, without dropout, as every model by name.

    Raises `EngineError` for a name that is not there.
    """
    if name not in published():
        raise EngineError("model", name, tuple(published()), because="and a config.json says the same of any other")
    found = from_config(published()[name]["config"], name.rpartition("/")[2])
    return replace(found, dropouts=(found.dropouts or Dropouts()).at(0.0))


def essentials(config: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a `config.json` that decide, without names, paths and everything else that somebody wrote into it.

    Raises:
        EngineError: As `from_config`.
    """
    from_config(config)
    text = text_part(config)
    defaults, build = FAMILIES[text["model_type"]]
    settings = Config(text, defaults)
    build(settings, "")
    # A key that says nothing is said to be absent, which a default must not undo.
    kept = {key: _plain(text[key]) for key in sorted(settings.asked & text.keys())}
    return {"model_type": text["model_type"], **{key: value for key, value in kept.items() if value != {}}}


def _plain(value: Any) -> Any:
    """Numbers, words that the reader of configurations has understood, and of a rope the share that is rotated."""
    if isinstance(value, Mapping):
        inner = {key: _plain(part) for key, part in value.items() if isinstance(part, Mapping)}
        shares = {key: part for key, part in value.items() if key == "partial_rotary_factor"}
        return shares or ({"rope": next(iter(inner.values()))} if inner else {})
    return value
