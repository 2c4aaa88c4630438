"""The schema for editors and the options that the plugin really has are the same."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from explorable.live import options as module
from explorable.live.options import LiveOptions
from explorable.shared import typed
from explorable.shared.errors import UnbuildableError

SCHEMA: dict[str, Any] = json.loads((Path(module.__file__).parent / "schema.json").read_text())


def problems(options: dict[str, Any]) -> list[str]:
    try:
        typed.made(LiveOptions, options)
    except (UnbuildableError, ValueError) as error:
        return [str(error)]
    return []


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_schema_has_the_options_and_their_defaults() -> None:
    given = {**asdict(LiveOptions()), "packages": []}
    assert {name: spec["default"] for name, spec in SCHEMA["properties"].items()} == given


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"enabled": False},
        {"time_limit_s": 0.5},
        {"cache": "yes"},
        {"time_limit_s": 0},
        {"time_limit_s": "10"},
        {"time_limit_s": True},
        {"acts_dir": 3},
        {"unknown": 1},
    ],
)
def test_schema_and_plugin_agree_on_what_is_valid(options: dict[str, Any]) -> None:
    valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(options)
    assert valid == (not problems(options))
