"""A sweep over a real two-machine Ray cluster: workers are really killed, a machine is really taken away."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ray.cluster_utils import Cluster

from gpu_bench.cluster.ray_cluster import RayExecutor, orders_environment
from gpu_bench.record.load import file_faults, valid
from gpu_bench.run.isolation import Place
from tests.gpu_bench.processes import alive, descendants, within

ROOT = Path(__file__).parents[3]
LIMIT_S = 150
STORE = 78 * 2**20
"""Bytes of shared memory per machine, the least that Ray allows."""
_SWEEP = """
import sys
from pathlib import Path
from gpu_bench.run import runner
from tests.gpu_bench.tiny import tiny_case

out, cases, repeats, steps, retries = sys.argv[1], *map(int, sys.argv[2:])
plan = [("trial", tiny_case(f"case-{number}", repeats=repeats, steps=steps)) for number in range(cases)]
sys.exit(runner.run(plan, runner.Settings("cpu", Path(out), executor="ray", retries=retries)))
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two machines of one slot each, as processes below this one. The first one, which leads, cannot be taken away."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {"num_cpus": 1, "object_store_memory": STORE, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        cluster.add_node(num_cpus=1, object_store_memory=STORE)
        cluster.wait_for_nodes()
        os.environ["RAY_ADDRESS"] = cluster.address
        yield cluster
    finally:
        os.environ.pop("RAY_ADDRESS", None)
        cluster.shutdown()  # type: ignore[no-untyped-call]
    assert within(20, lambda: not _workers()), "workers outlived their cluster"


def _workers() -> list[int]:
    """Our measuring processes on the machines of the cluster, which are processes below this one."""
    return descendants(os.getpid(), "gpu_bench.run.worker")


class Sweep:
    """A sweep in a process of its own, with a hard time limit."""

    def __init__(self, out: Path, cases: int, repeats: int = 1, steps: int = 3, retries: int = 2) -> None:
        numbers = [str(number) for number in (cases, repeats, steps, retries)]
        command = [sys.executable, "-c", _SWEEP, str(out), *numbers]
        self._process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True)

    def runs(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()

    def end(self) -> tuple[int, str]:
        """Its exit status, and what it said."""
        try:
            said, _ = self._process.communicate(timeout=LIMIT_S)
        finally:
            if self.runs():
                self.kill()
        return self._process.returncode, said


def _records(out: Path) -> dict[str, dict[str, Any]]:
    files = list(out.rglob("*.json"))
    assert [fault for file in files for fault in file_faults(file)] == []
    return {file.name.partition("--")[0]: record for file, record in valid(files)}


def _statuses(out: Path) -> dict[str, str]:
    return {name: record["status"] for name, record in _records(out).items()}


def _written(out: Path) -> set[tuple[Path, int]]:
    """The files of finished repeats, and when they were written."""
    return {(file, file.stat().st_mtime_ns) for file in out.rglob("case-*") if file.is_file()}


def _kill_one(killed: int | None = None) -> int:
    """Kill -9 the next worker that appears, other than one that was killed and may still be listed."""
    seen: list[int] = []

    def appeared() -> bool:
        seen[:] = [pid for pid in _workers() if pid != killed]
        return bool(seen)

    assert within(LIMIT_S, appeared)
    os.kill(seen[0], signal.SIGKILL)
    return seen[0]


@pytest.mark.full
def test_a_killed_sweep_leaves_nothing_behind_and_a_killed_worker_and_a_removed_machine_lose_nothing(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Two sweeps into one folder. The first is killed; of the second, a worker, then a machine is taken away."""
    endless = Sweep(tmp_path, cases=2, steps=10**9)
    seen: set[int] = set()

    def trains() -> bool:
        seen.update(_workers())
        # One worker examines each of the two machines; the next one trains.
        return len(seen) > 2

    assert within(LIMIT_S, trains)
    endless.kill()
    assert within(60, lambda: not any(alive(pid) for pid in seen)), "a worker outlived the sweep"

    before = _written(tmp_path)
    sweep = Sweep(tmp_path, cases=2, repeats=2, steps=40)
    # Until a repeat is finished, workers examine their machines.
    assert within(LIMIT_S, lambda: _written(tmp_path) != before or not sweep.runs())
    killed = _kill_one()
    (node,) = cluster.worker_nodes
    raylet = node.all_processes["raylet"][0].process.pid
    busy = False
    while not busy and sweep.runs():
        busy = bool({*descendants(raylet, "gpu_bench.run.worker")} - {killed})
    assert busy, "the sweep ended before a machine could be taken from it"
    cluster.remove_node(node, allow_graceful=False)
    status, said = sweep.end()
    assert status == 0, said
    assert "killed by SIGKILL" in said
    assert "machine is gone" in said or "the machine died; attempt" in said or "the worker died; attempt" in said
    assert _statuses(tmp_path) == {f"case-{number}": "ok" for number in range(2)}
    commits = {record["provenance"]["git_commit"] for record in _records(tmp_path).values()}
    assert len(commits) == 1, "the machines have a copy without history; the commit is the checkout's"


def test_workers_are_given_the_options_of_the_sweep_and_a_place_for_what_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    executor = object.__new__(RayExecutor)
    monkeypatch.setattr(executor, "_added", orders_environment(tmp_path), raising=False)
    monkeypatch.setattr(executor, "_sent", {}, raising=False)
    sent: list[Any] = []

    def send(name: str, order: dict[str, Any], limit_s: float, devices: int) -> str:
        sent.append(order)
        return name

    monkeypatch.setattr(executor, "_send", send)
    executor.submit(0, Place("node", {}), {"task": "train"}, 10.0, 1)
    given = sent[0]["environment"]
    assert given["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8"
    assert "CUDA_VISIBLE_DEVICES" not in given, "Ray says which GPU a worker may see"
    assert given["TRITON_CACHE_DIR"] == str(tmp_path / "triton")
