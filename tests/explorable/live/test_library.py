"""The rest of the standard library, fetched when a module of it is first imported."""

from __future__ import annotations

import importlib.machinery
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from explorable.live.runtime.library import OnDemand, fetch_later, fetch_on_demand


@pytest.fixture(autouse=True)
def _import_system_restored() -> Iterator[None]:
    finders, path, modules = sys.meta_path[:], sys.path[:], set(sys.modules)
    yield
    sys.meta_path[:], sys.path[:] = finders, path
    for name in set(sys.modules) - modules:
        del sys.modules[name]


@pytest.fixture
def rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An archive with two modules that count as the library's: one at the top, one in a package already imported."""
    monkeypatch.setattr(sys, "stdlib_module_names", sys.stdlib_module_names | {"far_module", "near_package"})
    archive = tmp_path / "rest.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("far_module.py", "ANSWER = 42\n")
        packed.writestr("near_package/half.py", "HALF = 0.5\n")
    return str(archive)


def _started(name: str, start: str) -> ModuleType:
    package = ModuleType(name)
    package.__path__ = [f"{start}/{name}"]
    sys.modules[name] = package
    return package


def test_an_import_fetches_once_and_finds_the_module(rest: str) -> None:
    fetched: list[str] = []

    def fetch() -> str:
        fetched.append(rest)
        return rest

    fetch_on_demand(fetch)
    import far_module  # type: ignore[import-not-found]

    assert far_module.ANSWER == 42
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import no_such_module  # type: ignore[import-not-found]  # noqa: F401
    assert fetched == [rest]


def test_a_package_that_is_imported_already_gets_its_other_modules(rest: str, tmp_path: Path) -> None:
    start = str(tmp_path / "start.zip")
    package = _started("near_package", start)
    sys.meta_path.append(OnDemand(lambda name: name == "near_package.half", lambda: rest, start, "it"))
    import near_package.half  # type: ignore[import-not-found]

    assert near_package.half.HALF == 0.5
    assert package.__path__ == [f"{start}/near_package", f"{rest}/near_package"]


def test_what_the_library_does_not_have_is_never_asked_for(rest: str) -> None:
    def fetch() -> str:
        raise AssertionError("nothing of the library was imported")

    fetch_on_demand(fetch)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import no_such_module  # noqa: F401


def test_what_a_book_keeps_for_later_comes_with_the_first_import_of_it(rest: str) -> None:
    """Names that begin alike are others, and a package of the site gets its other half."""
    asked: list[str] = []

    def fetch() -> str:
        asked.append(rest)
        return rest

    fetch_later(["far_module"], fetch)
    with pytest.raises(ModuleNotFoundError):
        import far_modules  # type: ignore[import-not-found]  # noqa: F401
    assert not asked
    import far_module

    assert far_module.ANSWER == 42
    assert asked == [rest]


def test_a_failed_download_says_so_and_is_tried_again(rest: str) -> None:
    answers = iter([None, rest])
    fetch_on_demand(lambda: next(answers))
    with pytest.raises(ModuleNotFoundError, match=r"far_module .* could not be downloaded") as caught:
        import far_module
    assert caught.value.name == "far_module"
    import far_module

    assert far_module.ANSWER == 42


def test_the_finder_comes_after_pythons_own(rest: str) -> None:
    fetch_on_demand(lambda: rest)
    finders = [type(finder) for finder in sys.meta_path]
    assert finders.index(OnDemand) == sys.meta_path.index(importlib.machinery.PathFinder) + 1
