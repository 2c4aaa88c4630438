"""Repeats on a Ray cluster, one per GPU (one per core where there is none). This machine collects the reports.

Ray finds the machines, carries the code there and tells when one dies. Which case runs where is decided by the runner,
because the repeats of a record must stay on one machine. There, each repeat is a fresh process, as without a cluster.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_bench.machine import provenance
from gpu_bench.run import isolation
from gpu_bench.run.isolation import Place, RunError

_SOURCES = ("engine", "gpu_bench")
"""What travels to the machines; PyTorch must be there."""
_LOOK_S = 1.0
"""How long one look for finished repeats waits."""
_GRACE_S = 120.0
"""What a machine may take, beyond a repeat's own limit, to start a process and to send its report."""


@dataclass(frozen=True)
class _Sent:
    """A repeat that was sent out: its ticket, Ray's name for its machine, and when that machine counts as silent."""

    ticket: int
    machine: str
    deadline: float


class RayExecutor:
    """Runs repeats on the machines of a Ray cluster.

    The cluster is the one that `RAY_ADDRESS` names, else the one that runs here, else this machine with all its GPUs.

    Args:
        device: `cpu`, `cuda`, or `auto`: GPUs if the cluster has any.
        compiled: Folder on every machine for what compilers make, so that a case's second repeat finds it there.

    Raises:
        RunError: When Ray is missing, the cluster cannot be reached, or it has no such device.
    """

    def __init__(self, device: str, compiled: Path) -> None:
        self._added = orders_environment(compiled)
        # Ray would otherwise report its use to its makers.
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        try:
            import ray
        except ImportError as error:
            raise RunError("--executor ray needs a package: python -m pip install ray") from error
        self._ray: Any = ray  # Its functions carry no types.
        self._staged = tempfile.TemporaryDirectory(prefix="gpu_bench-ray-")
        try:
            self._ray.init(
                runtime_env={"working_dir": str(_stage(Path(self._staged.name)))},
                log_to_driver=False,
                logging_level="ERROR",
            )
        except (ConnectionError, ValueError, RuntimeError) as error:
            self._staged.cleanup()
            raise RunError(f"the Ray cluster cannot be used: {str(error).splitlines()[0]}") from error
        if device == "auto":
            device = "cuda" if self._ray.cluster_resources().get("GPU", 0) >= 1 else "cpu"
        self._device = device
        self._resource = "GPU" if device == "cuda" else "CPU"
        self._code = provenance.git_state()
        self._work = self._ray.remote(isolation.work)
        self._known: dict[str, Place | None] = {}
        """Every machine that is or was of use, by Ray's name for it; None where it is of none."""
        self._examined = False
        self._probes: dict[Any, str] = {}
        self._sent: dict[Any, _Sent] = {}
        self._alive: set[str] = set()

    def places(self) -> Sequence[Place]:
        """The machines that are alive and have been examined. A machine that joins later is used, too."""
        first, self._examined = not self._examined, True
        self._alive = {node["NodeID"] for node in self._ray.nodes() if node["Alive"]}
        for node in self._ray.nodes():
            name, slots = node["NodeID"], int(node["Resources"].get(self._resource, 0))
            if name in self._alive and name not in self._known:
                self._known[name] = None
                if slots:
                    order = {"task": "probe", "device": self._device, "environment": self._added}
                    self._probes[self._send(name, order, isolation.PROBE_LIMIT_S, 1)] = name
        self._examine(wait_s=isolation.PROBE_LIMIT_S + _GRACE_S if first else 0.0)
        found = [place for name, place in self._known.items() if place is not None and name in self._alive]
        if first and not found:
            raise RunError(f"device {self._device!r} is not available: no machine of the Ray cluster has one")
        return found

    def _examine(self, wait_s: float) -> None:
        """Collect the descriptions of themselves that machines have sent."""
        if not self._probes:
            return
        ready, _ = self._ray.wait(list(self._probes), num_returns=len(self._probes), timeout=wait_s)
        slots = {node["NodeID"]: int(node["Resources"].get(self._resource, 0)) for node in self._ray.nodes()}
        for reference in ready:
            name = self._probes.pop(reference)
            context = self._fetch(reference)
            if "device" in context:
                # The code is this checkout's: what runs there is a copy without history. A probe sees one device.
                context |= {"code": self._code, "device_count": slots[name]}
                self._known[name] = Place(name, context, slots[name])

    def submit(self, ticket: int, place: Place, order: Mapping[str, Any], limit_s: float, devices: int) -> None:
        """Send the repeat to the machine, with this machine's options."""
        reference = self._send(place.name, {**order, "environment": self._added}, limit_s, devices)
        self._sent[reference] = _Sent(ticket, place.name, time.monotonic() + limit_s + _GRACE_S)

    def _send(self, name: str, order: Mapping[str, Any], limit_s: float, devices: int) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        return self._work.options(
            num_cpus=devices if self._resource == "CPU" else 0,
            num_gpus=devices if self._resource == "GPU" else 0,
            scheduling_strategy=NodeAffinitySchedulingStrategy(name, soft=False),
            # The runner counts attempts, and decides where the next one takes place.
            max_retries=0,
        ).remote(order, limit_s)

    def collect(self) -> Sequence[tuple[int, dict[str, Any]]]:
        """Wait up to a second for reports. A machine that died, or has long been silent, yields `lost`.

        Ray may list such a machine as alive for a while, so it is examined again before it gets another repeat.
        """
        if not self._sent:
            return ()
        ready, waiting = self._ray.wait(list(self._sent), timeout=_LOOK_S)
        finished = [(self._sent.pop(reference), self._fetch(reference)) for reference in ready]
        for reference in waiting:
            if time.monotonic() > self._sent[reference].deadline:
                self._ray.cancel(reference, force=True)
                finished.append((self._sent.pop(reference), _lost("the machine did not answer any more", gone=True)))
        for sent, report in finished:
            if report.pop("gone", False):
                self._known.pop(sent.machine, None)
        return [(sent.ticket, report) for sent, report in finished]

    def _fetch(self, reference: Any) -> dict[str, Any]:
        """The report behind a reference. Ray's own message about a lost repeat names addresses; ours does not."""
        errors = self._ray.exceptions
        try:
            report: dict[str, Any] = self._ray.get(reference)
        except errors.RayTaskError as error:
            return {"status": "error", "message": provenance.redact(str(error).splitlines()[-1])}
        except (errors.WorkerCrashedError, errors.OutOfMemoryError):
            return _lost("the process that watched over the worker died")
        except errors.RayError:
            return _lost("the machine died", gone=True)
        return report

    def close(self) -> None:
        """End what runs and leave the cluster; one that was started here ends."""
        for reference in (*self._sent, *self._probes):
            self._ray.cancel(reference, force=True)
        self._ray.shutdown()
        self._staged.cleanup()


def orders_environment(compiled: Path) -> dict[str, str]:
    """What a worker on another machine is given: the options set here, and where its compilers keep what they make.

    Not which GPU it may see: Ray decides that.
    """
    options = {name: value for name, value in provenance.options().items() if name != "CUDA_VISIBLE_DEVICES"}
    return options | isolation.compiler_caches(compiled)


def _lost(message: str, *, gone: bool = False) -> dict[str, Any]:
    return {"status": "error", "message": message, "lost": True, "gone": gone}


def _stage(folder: Path) -> Path:
    """Copy the sources, and nothing else of the checkout, to where Ray packs them from."""
    for name in _SOURCES:
        ignored = shutil.ignore_patterns("__pycache__", "results")
        shutil.copytree(provenance.ROOT / name, folder / name, ignore=ignored)
    return folder
