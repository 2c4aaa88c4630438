"""Other programs on the processors are noticed: real ones, that really spin."""

from __future__ import annotations

import os
import shlex
import signal
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
    """One spinning process per processor, of another parent: a shell that has ended."""
    spin = f"{shlex.quote(sys.executable)} -c 'while True: pass' > /dev/null 2>&1 & echo $!"
    started = [subprocess.run(spin, shell=True, capture_output=True, check=True) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for spinner in started:
            os.kill(int(spinner.stdout), signal.SIGKILL)


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
def test_a_process_that_ended_before_hides_no_neighbor() -> None:
    """Its time of before came over into its parent's when it was waited for, and was taken from the others'."""
    code = "import time\nwhile time.process_time() < 1: pass"
    with subprocess.Popen([sys.executable, "-c", code]) as ended:
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        watch = quiet.OthersWatch()
        ended.wait()
    time.sleep(0.5)
    share = watch.share()
    assert share is not None
    assert share > 0.5


def test_a_process_that_runs_counts_as_its_own() -> None:
    code = "import time\nwhile time.process_time() < 0.5: pass\nprint(flush=True)\ntime.sleep(60)"
    before = quiet.cpu_seconds()
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as runs:
        assert runs.stdout is not None
        runs.stdout.readline()
        after = quiet.cpu_seconds()
        runs.kill()
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
