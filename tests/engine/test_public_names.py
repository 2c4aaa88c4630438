"""The engine's front door: every name is there, once, and opening it is cheap."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import engine


def test_every_public_name_can_be_had_and_is_documented() -> None:
    for name in set(engine.__all__) - {"__version__"}:
        thing = getattr(engine, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), name


def test_names_are_unique_and_sorted_into_the_modules_that_define_them() -> None:
    assert len(engine.__all__) == len(set(engine.__all__))
    assert set(engine.__all__) - {"__version__"} == set(engine._HOME)
    for name, home in engine._HOME.items():
        assert getattr(getattr(engine, name), "__module__", home) in (home, "typing"), name


def test_importing_the_engine_imports_no_physics() -> None:
    code = "import sys, engine; print(sum(name.startswith('engine.') for name in sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert int(out) <= 5


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'engine' has no attribute 'warp_drive'"):
        engine.warp_drive  # noqa: B018
    assert "step_time" in dir(engine)
