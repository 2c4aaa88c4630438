"""What the browser's Python loads is small, exact, and really runs in Pyodide."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import ironlaw
from book.adapter import BOOK
from explorable.live.build.assets import LIBRARY as BUILT
from explorable.live.build.assets import PYODIDE
from explorable.live.build.bundle import EXPLORABLE, Wheel, build_wheels, later_archive, lock
from explorable.live.build.compiled import compiled
from explorable.live.runtime import acts, snippets
from explorable.live.runtime.program import Program
from explorable.shared.errors import UnbuildableError

REPOSITORY = Path(__file__).parents[3]
LIBRARY = Path(ironlaw.__file__).parent
WHEELS = build_wheels()
LOCK: dict[str, Any] = json.loads(lock(WHEELS, PYODIDE))


def names(wheel: Wheel) -> set[str]:
    return set(wheel.files)


def test_equal_sources_give_equal_wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "elsewhere"
    for folder in (EXPLORABLE, LIBRARY):
        shutil.copytree(folder, copy / folder.name, ignore=shutil.ignore_patterns("web", "__pycache__"))
        shutil.copy(folder.parent / "LICENSE", copy)
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    elsewhere = build_wheels(copy / "explorable", replace(BOOK, library=copy / "ironlaw"))
    assert [wheel.sha256 for wheel in elsewhere] == [wheel.sha256 for wheel in WHEELS]


def test_the_wheel_and_what_comes_later_are_the_whole_engine() -> None:
    sources = {
        path.relative_to(LIBRARY.parent).as_posix()
        for path in LIBRARY.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and not path.name.endswith(("py.typed", ".pyi"))
    }
    first = {name for name in names(WHEELS[0]) if name.startswith("ironlaw/")}
    archive = later_archive()
    assert archive is not None
    assert archive == later_archive()
    later = set(zipfile.ZipFile(io.BytesIO(archive)).namelist())
    assert not first & later
    assert {name for name in first | later if name.startswith("ironlaw/")} == sources - {"ironlaw/__main__.py"}
    assert "yaml/__init__.py" in later


def test_the_runtime_brings_nothing_of_the_build() -> None:
    code = {name for name in names(WHEELS[1]) if name.startswith("explorable/")}
    assert {"explorable/__init__.py", "explorable/live/__init__.py", "explorable/live/runtime/acts.py"} <= code
    assert {name for name in code if "/runtime/" not in name} == {
        "explorable/__init__.py",
        "explorable/live/__init__.py",
    }


def test_the_lock_file_names_each_wheel_by_its_hash() -> None:
    for wheel in WHEELS:
        entry = LOCK["packages"][wheel.name]
        assert entry["sha256"] == hashlib.sha256(wheel.sent).hexdigest()
        assert gzip.decompress(wheel.sent) == wheel.data
        assert entry["file_name"] == wheel.path


def test_the_lock_file_lists_only_what_a_reader_can_load() -> None:
    assert set(LOCK["packages"]) == {"ironlaw", "explorable-live"}
    assert LOCK["info"] == json.loads((PYODIDE / "pyodide-lock.json").read_text())["info"]


ACT = """
from ironlaw import model
from explorable.live import *

def fields(state):
    return {"final_mfu_pct": 1}

def compute(state):
    gb = model("gpt2-xl").parameters * state.controls["bytes"] / 1e9
    return View({"bars": [{"gb": gb}]}, Figure("Weights", f"{gb:.2f}", "GB"), f"{gb} GB")

ACT = Act("weights", "Weights", 1, "s", (Context("c", "C", "d"),), NumberQuestion("?", "GB", 0, 20, lambda: 6.23),
          (Choice("bytes", "Bytes", (ControlOption(2, "2"), ControlOption(4, "4")), 4),), compute,
          lambda prediction, state: Verdict(False, f"off by {prediction / 6.23}", ()), {}, ledger=fields)
"""
SNIPPETS = [
    "from ironlaw import training_memory\n"
    "x = training_memory('gpt2-xl', optimizer='adam', precision='fp32')\nx.total_bytes / 3",
    "1\nx.y",
    "import inspect, ironlaw\ninspect.getdoc(ironlaw.training_memory)",
]
STATE = json.dumps({"context": "c", "controls": {"bytes": 2}, "prediction": 7})
SCRIPT = """
const [pyodide, base, lockFile, calls] = process.argv.slice(2);
const { loadPyodide } = await import(pyodide + "/pyodide.mjs");
const options = { indexURL: pyodide, lockFileURL: lockFile, packageBaseUrl: base, stdout: () => {} };
const python = await loadPyodide({ ...options, packages: ["ironlaw", "explorable-live"] });
const [acts, snippets] = ["acts", "snippets"].map((name) => python.pyimport(`explorable.live.runtime.${name}`));
const answers = JSON.parse(calls).map(([name, ...given]) =>
  name === "run_snippet" ? snippets[name](...given, () => {}) : (acts[name](...given) ?? null),
);
console.log(JSON.stringify(answers));
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Wheel, ...]:
    """The wheels as the site has them: what a start imports is compiled."""
    return compiled(WHEELS, tuple(BOOK.compiled), PYODIDE, BUILT, tmp_path_factory.mktemp("cache"))


def test_what_act_1_imports_is_compiled(wheels: tuple[Wheel, ...]) -> None:
    program = "import sys, docs.acts.optimizer_memory_tax.act; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    imported = {name for name in ran.stdout.split() if name.partition(".")[0] == "ironlaw"}
    assert "ironlaw.memory.ledger" in imported
    ready = {name.removesuffix(".pyc").removesuffix("/__init__") for name in names(wheels[0]) if name.endswith(".pyc")}
    assert imported <= {name.replace("/", ".") for name in ready}


@pytest.mark.full
def test_compiling_takes_the_place_of_sources_and_is_the_same_each_time(
    wheels: tuple[Wheel, ...], tmp_path: Path
) -> None:
    for before, after in zip(WHEELS, wheels, strict=True):
        assert [name.replace(".pyc", ".py") for name in after.files] == list(before.files)
        assert after.sha256 != before.sha256
    again = compiled(WHEELS, tuple(BOOK.compiled), PYODIDE, BUILT, tmp_path)
    assert [wheel.sha256 for wheel in again] == [wheel.sha256 for wheel in wheels]
    assert compiled(WHEELS, (), PYODIDE, BUILT, tmp_path) == WHEELS


def test_what_cannot_be_compiled_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnbuildableError, match=r"^the book's library cannot be compiled .*has no attribute 'no'$"):
        compiled(WHEELS, ("ironlaw.no.such",), PYODIDE, BUILT, tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UnbuildableError, match=r"^Node\.js, which compiles the book's library, is missing"):
        compiled(WHEELS, tuple(BOOK.compiled), PYODIDE, BUILT, tmp_path)


@pytest.mark.full
def test_pyodide_and_cpython_give_the_same_answers(wheels: tuple[Wheel, ...], tmp_path: Path) -> None:
    for wheel in wheels:
        (tmp_path / wheel.path).parent.mkdir()
        (tmp_path / wheel.path).write_bytes(wheel.data)
    (tmp_path / "lock.json").write_bytes(lock(wheels, PYODIDE))
    (tmp_path / "run.mjs").write_text(SCRIPT)
    calls = [
        *(["run_snippet", "page", f"s{number}", source] for number, source in enumerate(SNIPPETS)),
        ["load_act", "weights", Program({"act.py": ACT}).to_json()],
        ["compute", "weights", STATE],
        ["reveal", "weights", STATE],
    ]
    arguments = [str(PYODIDE), f"{tmp_path}/", str(tmp_path / "lock.json"), json.dumps(calls)]
    command = ["node", str(tmp_path / "run.mjs"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    in_pyodide = json.loads(done.stdout.splitlines()[-1])
    ours: dict[str, Any] = {**vars(acts), "run_snippet": partial(snippets.run_snippet, write=lambda text: None)}
    here = [ours[name](*rest) for name, *rest in calls]
    assert in_pyodide == here
