"""Other programs on the processors are noticed: real ones, that really spin."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from gpu_bench.cases.suites import find_cases
from gpu_bench.machine import quiet
from gpu_bench.record.derive import derive
from tests.gpu_bench.tiny import recorded


@pytest.fixture
def noise() -> Iterator[None]:
    """One spinning process per processor."""
    spinners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()


def _spin(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.usefixtures("noise")
def test_spinning_neighbors_are_noticed() -> None:
    watch = quiet.OthersWatch()
    time.sleep(1.0)
    share = watch.share()
    assert share is not None
    assert share > 0.5


def test_own_work_is_not_counted_as_the_neighbors() -> None:
    before = quiet.cpu_seconds()
    _spin(0.3)
    after = quiet.cpu_seconds()
    assert before is not None
    assert after is not None
    # Both clocks count this process, so their difference leaves it out whatever else runs.
    assert 0.25 < after[1] - before[1] < 0.5
    assert after[0] - before[0] >= after[1] - before[1] - 0.05


def test_work_of_processes_that_it_started_is_its_own() -> None:
    before = quiet.cpu_seconds()
    code = "import time\nwhile time.process_time() < 0.5: pass"
    subprocess.run([sys.executable, "-c", code], check=True)
    after = quiet.cpu_seconds()
    assert before is not None
    assert after is not None
    assert after[1] - before[1] > 0.45


@pytest.mark.usefixtures("noise")
@pytest.mark.parametrize(
    ("suite", "name"),
    [
        ("roofline-tiny", "roofline-copy"),
        pytest.param("pipeline-tiny", "pipeline-tokenize", marks=pytest.mark.full),
    ],
)
def test_points_that_are_timed_beside_other_programs_are_no_result(suite: str, name: str) -> None:
    ((_, case),) = find_cases(suite, (name,))
    record = derive(recorded(suite, case))
    assert record["provenance"]["repeats"][0]["others_share"] > quiet.QUIET_SHARE
    assert record["status"] == "unsettled"
    assert record["message"].startswith("others took")


@pytest.mark.usefixtures("noise")
def test_waiting_for_quiet_ends_with_the_patience() -> None:
    began = time.monotonic()
    assert not quiet.await_quiet(1.0)
    assert time.monotonic() - began < 20
