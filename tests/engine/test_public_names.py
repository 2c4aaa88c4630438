"""The engine's public names and packages ("rooms"): what is public, what a room may import, what an import loads."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ironlaw: Any = import_module("ironlaw")
vocabulary = import_module("ironlaw.vocabulary")
HERE = Path(ironlaw.__file__).parent

PUBLIC = (
    "EngineError",
    "GB",
    "GIB",
    "Layout",
    "Setup",
    "Transformer",
    "__version__",
    "accelerator",
    "estimate",
    "explain",
    "fit",
    "fits",
    "flops_per_token",
    "job_time",
    "link",
    "list_accelerators",
    "list_links",
    "list_models",
    "list_optimizers",
    "list_precisions",
    "model",
    "optimizer",
    "precision",
    "search",
    "setup",
    "step_time",
    "training_memory",
)

ROOMS = (
    "core",
    "numerics",
    "hardware",
    "models",
    "graph",
    "config",
    "memory",
    "time",
    "parallel",
    "networks",
    "training",
    "economics",
    "calibration",
    "answers",
    "files",
    "cli",
)
"""The rooms in their order; each may import only rooms before it."""


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """Every import of the engine in a file, in functions too: the module, and the name taken from it or none."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            found = [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found = [(alias.name, "") for alias in node.names]
        else:
            continue
        yield from (pair for pair in found if pair[0].split(".")[0] == "ironlaw")


def in_a_fresh_process(code: str) -> str:
    """What a new interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


# ---- names ----


def test_the_public_names_are_these() -> None:
    assert tuple(sorted(ironlaw.__all__)) == PUBLIC
    assert len(ironlaw.__all__) == len(set(ironlaw.__all__))
    assert dir(ironlaw) == sorted(PUBLIC)


def test_every_public_name_can_be_had_and_is_documented() -> None:
    for name in set(PUBLIC) - {"__version__"}:
        thing = getattr(ironlaw, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing), name


def test_each_public_name_is_a_name_of_the_room_that_it_is_taken_from() -> None:
    assert set(PUBLIC) - {"__version__"} == set(ironlaw._HOME)
    for name, home in ironlaw._HOME.items():
        assert home.removeprefix("ironlaw.") in ROOMS, name
        assert getattr(ironlaw, name) is getattr(import_module(home), name), name


def test_type_checkers_know_the_same_names_from_the_same_rooms() -> None:
    body = ast.parse((HERE / "__init__.py").read_text()).body
    told = next(node for node in body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    imports = [node for node in told.body if isinstance(node, ast.ImportFrom)]
    taken = [(alias.asname, node.module) for node in imports for alias in node.names]
    assert all(alias.name == alias.asname for node in imports for alias in node.names)
    assert len(taken) == len(dict(taken))
    assert dict(taken) == ironlaw._HOME


def test_the_vocabulary_of_prose_has_the_names_of_every_room_and_each_means_one_thing() -> None:
    rooms = set(ROOMS) - {"calibration", "cli", "files"}
    offered = {(name, id(thing)) for room in rooms for name, thing in names_of(import_module(f"ironlaw.{room}"))}
    assert offered == {(name, id(thing)) for name, thing in names_of(vocabulary)}
    assert len(offered) == len(dict(offered))
    assert set(PUBLIC) - {"__version__"} <= dict(offered).keys()
    for name, thing in names_of(vocabulary):
        assert not (inspect.isclass(thing) or inspect.isfunction(thing)) or inspect.getdoc(thing), name


def names_of(module: ModuleType) -> list[tuple[str, Any]]:
    """What can be taken from a module, without its submodules."""
    return [
        (name, thing)
        for name, thing in vars(module).items()
        if not name.startswith("_") and not isinstance(thing, ModuleType | type(annotations))
    ]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'ironlaw' has no attribute 'warp_drive'"):
        ironlaw.warp_drive  # noqa: B018


# ---- rooms ----


def test_the_rooms_are_these() -> None:
    assert {path.parent.name for path in HERE.glob("*/__init__.py")} == set(ROOMS)


def test_no_room_imports_a_later_one() -> None:
    wrong = [
        f"{path.relative_to(HERE)} imports {module}"
        for path in HERE.glob("*/**/*.py")
        for module, name in imported(path)
        for room in [(module if module != "ironlaw" else f"ironlaw.{name}").split(".")[1]]
        if room != "__version__" and ROOMS.index(room) > ROOMS.index(path.relative_to(HERE).parts[0])
    ]
    assert wrong == []


def test_modules_import_each_other_in_no_circle() -> None:
    """At the top of a file; not what stands in a function, or is for type checkers alone."""
    names = {".".join(("ironlaw", *path.relative_to(HERE).with_suffix("").parts)): path for path in HERE.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for name, path in names.items()}
    needs: dict[str, set[str]] = {}
    for name, path in modules.items():
        taken = [
            (str(node.module), alias.name)
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        ]
        # A module of a package may be taken from it by name.
        needs[name] = {inner if (inner := f"{module}.{one}") in modules else module for module, one in taken} & set(
            modules
        )
    settled: set[str] = set()
    while ready := {name for name, others in needs.items() if name not in settled and others <= settled}:
        settled |= ready
    assert needs.keys() - settled == set()


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_opens_by_itself_and_opens_no_later_one(room: str) -> None:
    code = f"import sys, ironlaw.{room}; print(*{{n.split('.')[1] for n in sys.modules if n.startswith('ironlaw.')}})"
    opened = in_a_fresh_process(code).split()
    assert room in opened
    assert max(map(ROOMS.index, opened)) == ROOMS.index(room)


def test_importing_the_engine_imports_no_physics() -> None:
    code = "import sys, ironlaw; print(sum(name.startswith('ironlaw.') for name in sys.modules))"
    assert in_a_fresh_process(code) == "0"


def test_the_engine_needs_the_standard_library_alone() -> None:
    """Isolated and without site packages: nothing but Python's own and the engine can be imported."""
    code = (
        f"import sys; sys.path.append({str(HERE.parent)!r}); import ironlaw.vocabulary, ironlaw.cli;"
        "ironlaw.estimate('gpt2', 'h200', dp=2); print(*sorted({n.split('.')[0] for n in sys.modules}))"
    )
    out = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True).stdout
    assert set(out.split()) <= set(sys.stdlib_module_names) | {"__main__", "ironlaw"}
