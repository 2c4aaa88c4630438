"""A result is computed again when what it was computed with has changed, and only then."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from explorable.live.build.measured import Evidence
from explorable.live.build.runner import Outcome, Runner
from explorable.shared.cache import Cache
from explorable.shared.child import Child


class Library:
    """A library called tiny, in a folder that Python searches; with `installed`, as pip leaves it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()

    def write(self, file: str, text: str) -> None:
        """Write a module."""
        (self.folder / file).parent.mkdir(exist_ok=True)
        (self.folder / file).write_text(text, "utf-8")

    def install(self, version: str, *files: str) -> None:
        """Write down which files a version consists of."""
        for old in self.folder.glob("tiny-*.dist-info/*"):
            old.unlink()
            old.parent.rmdir()
        record = "".join(f"{file},sha256=of-{version},9\n" for file in files)
        self.write(f"tiny-{version}.dist-info/RECORD", record)


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "library"))
    return Library(tmp_path / "library")


@pytest.fixture
def run(tmp_path: Path) -> Callable[[str], Outcome]:
    """Run a snippet as another build does, with the cache of the builds before."""

    def once(source: str) -> Outcome:
        evidence = Evidence(tmp_path / "records", tmp_path)
        acts = tmp_path / "acts"
        runner = Runner(Cache(tmp_path / "cache"), tmp_path / "bytecode", 60.0, acts, "acts", evidence)
        try:
            return runner.snippet("page", "name", source)
        finally:
            runner.close()

    return once


USES = "import importlib\nimportlib.import_module('tiny').FACTOR"


def test_the_same_is_not_run_again(
    library: Library, run: Callable[[str], Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    library.write("tiny.py", "FACTOR = 1")
    library.install("1", "tiny.py")
    first = run(USES)
    monkeypatch.setattr(Child, "request", lambda *_: pytest.fail("it was run again"))
    assert run(USES) == first


def test_a_library_without_a_distribution_that_has_changed(library: Library, run: Callable[[str], Outcome]) -> None:
    library.write("tiny.py", "FACTOR = 1")
    assert run(USES).result == "1"
    library.write("tiny.py", "FACTOR = 10")
    assert run(USES).result == "10"


def test_a_new_version_of_a_distribution(library: Library, run: Callable[[str], Outcome]) -> None:
    library.write("tiny/__init__.py", "from pathlib import Path\nFACTOR = Path(__file__).with_name('data').read_text()")
    library.write("tiny/data", "1")
    library.install("1", "tiny/__init__.py", "tiny/data")
    assert run(USES).result == "'1'"
    # Only a file that is no module changes, and has its old size.
    library.write("tiny/data", "2")
    library.install("2", "tiny/__init__.py", "tiny/data")
    assert run(USES).result == "'2'"


def test_a_library_behind_a_library_that_has_changed(library: Library, run: Callable[[str], Outcome]) -> None:
    library.write("tiny.py", "from inner import FACTOR")
    library.write("inner.py", "FACTOR = 1")
    assert run(USES).result == "1"
    library.write("inner.py", "FACTOR = 10")
    assert run(USES).result == "10"


def test_a_module_that_was_missing_and_is_installed_now(library: Library, run: Callable[[str], Outcome]) -> None:
    error = run("import tiny\ntiny.FACTOR").error
    assert error is not None
    assert error["text"].startswith("There is no module tiny here")
    library.write("tiny.py", "FACTOR = 1")
    assert run("import tiny\ntiny.FACTOR").result == "1"


@pytest.mark.full
def test_a_part_of_a_library_that_was_missing(library: Library, run: Callable[[str], Outcome]) -> None:
    tried = "try:\n    from tiny import part\nexcept ImportError:\n    part = None\npart is None"
    library.write("tiny/__init__.py", "")
    assert run(tried).result == "True"
    library.write("tiny/part.py", "")
    assert run(tried).result == "False"


@pytest.mark.full
def test_a_version_that_a_snippet_asked_for(library: Library, run: Callable[[str], Outcome]) -> None:
    asks = "from importlib.metadata import distributions\n[one.name for one in distributions(name='tiny')]"
    library.write("tiny-1.dist-info/METADATA", "Name: tiny\nVersion: 1\n")
    library.write("tiny-1.dist-info/RECORD", "")
    assert run(asks).result == "['tiny']"
    (library.folder / "tiny-1.dist-info/METADATA").unlink()
    (library.folder / "tiny-1.dist-info/RECORD").unlink()
    (library.folder / "tiny-1.dist-info").rmdir()
    assert run(asks).result == "[]"


def test_an_editable_installation_changes_where_modules_are_found(
    library: Library, run: Callable[[str], Outcome]
) -> None:
    once = "1 + 1"
    run(once)
    library.write("tiny.pth", "/somewhere/else")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Child, "request", lambda *_: pytest.fail("it was run again"))
        with pytest.raises(pytest.fail.Exception):
            run(once)
