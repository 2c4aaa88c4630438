"""What holds for all tests: which of them a run has, and that none fails because a machine is slow.

A full run (`FULL=1`) also has what the run of every change leaves out, because other tests prove it in part:

    @pytest.mark.full         this test runs only in a full run, or where its name is given
    @pytest.mark.sampled(n)   of this test's cases every n-th runs, and all of them in a full run
"""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# The matrices are small, and two threads that wait for each other on a busy core take twenty times as long as one.
# NumPy and PyTorch read these when they are first imported, which is later.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Tests start hundreds of processes. Where Python is told to write no bytecode, each would compile PyTorch anew: 3 s.
sys.dont_write_bytecode = False
sys.pycache_prefix = str(Path(__file__).parents[1] / ".cache" / "bytecode")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix

# Time is measured by the benchmark scripts; here it would only make tests fail on a busy machine.
FULL = bool(os.environ.get("FULL"))


def tries(full: int) -> int:
    """How many examples a property tries that tries so many in a full run: a tenth, and six at least."""
    return full if FULL else max(6, full // 10)


settings.register_profile("any clock", deadline=None, max_examples=tries(200))
settings.load_profile("any clock")

SUMMARY = "summary"
"""A property of a test's report whose value is a line at the end of the run. What a test prints is lost where several
processes run the tests."""


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Nothing of what is collected becomes garbage: looking for it takes a third of the collection's time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to the full run what is its alone."""
    if not FULL and not any("::" in argument for argument in config.args):
        cases: Counter[str] = Counter()
        left = [item for item in items if _left_out(item, cases)]
        config.hook.pytest_deselected(items=left)
        out = set(left)
        items[:] = [item for item in items if item not in out]


def _left_out(item: pytest.Item, cases: Counter[str]) -> bool:
    """Whether only a full run has this item. `cases` counts what was seen of each test."""
    test = item.nodeid.partition("[")[0]
    number = cases[test]
    cases[test] += 1
    sampled = item.get_closest_marker("sampled")
    return item.get_closest_marker("full") is not None or (sampled is not None and number % sampled.args[0] != 0)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests want to have said at the end of the run, such as how much they tried."""
    ended = [*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")]
    said = [str(value) for one in ended for name, value in one.user_properties if name == SUMMARY]
    for line in sorted(said):
        terminalreporter.write_line(line)
