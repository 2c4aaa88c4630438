"""Runs the engine's tests in the Python that calls this, Pyodide under Node.js; `tools/pyodide_tests.mjs` starts it.

What Pyodide does not have here (NumPy, PyTorch, other processes) is a stand-in that skips the test that touches it. So
every test that needs only the standard library, pytest and Hypothesis runs, also beside others in one file.
"""

from __future__ import annotations

import collections
import subprocess
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NoReturn

import pytest

MISSING = ("functorch", "numpy", "pint", "torch", "torchao", "transformers")
EXAMPLES = 5
"""Examples of each property. CPython tries many more; this run only checks that Pyodide agrees."""


class StandIn(ModuleType):
    """Stands for a missing module. A test that takes anything from it is skipped."""

    def __getattr__(self, name: str) -> Any:
        """Skip the test, or its whole file while that is read."""
        # While tests are collected, Hypothesis checks whether values are NumPy arrays; none is.
        if name == "ndarray" and sys._getframe(1).f_code.co_filename.startswith("/packages/"):
            return type(name, (), {})
        if name.startswith("__"):
            raise AttributeError(name)
        pytest.skip(f"needs {self.__name__}", allow_module_level=True)


class StandIns(MetaPathFinder, Loader):
    """Gives a stand-in for each missing module and its parts."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find what is known to be missing."""
        return ModuleSpec(fullname, self, is_package=True) if _is_missing(fullname) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make the stand-in."""
        return StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: there is no code."""


class Counter:
    """A plugin of pytest that counts what came of the tests, and why some were skipped."""

    def __init__(self) -> None:
        self.passed = self.failed = 0
        self.skipped: collections.Counter[str] = collections.Counter()

    def pytest_collection_finish(self) -> None:
        """Try few examples. Every conftest.py has set its own number by now."""
        from hypothesis import settings

        settings.register_profile("pyodide", deadline=None, max_examples=EXAMPLES, database=None)
        settings.load_profile("pyodide")

    def pytest_runtest_setup(self) -> None:
        """Take stand-ins out of `sys.modules`, where Hypothesis and the engine look for NumPy; tests keep theirs."""
        for name in [name for name in sys.modules if _is_missing(name)]:
            del sys.modules[name]

    def pytest_collectreport(self, report: Any) -> None:
        """Count a file that could not be read."""
        self.failed += report.failed
        if report.skipped:
            self.skipped[f"{_why(report)}, whole files"] += 1

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Count a test."""
        self.passed += report.when == "call" and report.passed
        self.failed += report.failed
        if report.skipped:
            self.skipped[_why(report)] += 1


def run(paths: list[str]) -> int:
    """Run the tests and print the count. Returns pytest's exit status."""
    sys.meta_path.insert(0, StandIns())
    subprocess.run = subprocess.Popen = _no_process  # type: ignore[assignment, misc]
    counter = Counter()
    options = ["-q", "--no-header", "-p", "no:cacheprovider", "--tb=short", "--continue-on-collection-errors"]
    status = pytest.main([*options, *paths], [counter])
    skipped = sum(counter.skipped.values())
    print(f"In Pyodide: {counter.passed} tests of the engine passed, {counter.failed} failed, {skipped} skipped.")
    for why, count in counter.skipped.most_common():
        print(f"  {count} skipped: {why}")
    return int(status)


def _is_missing(module: str) -> bool:
    return module.partition(".")[0] in MISSING


def _why(report: Any) -> str:
    return str(report.longrepr[2].removeprefix("Skipped: "))


def _no_process(*_: object, **__: object) -> NoReturn:
    pytest.skip("needs another process")
