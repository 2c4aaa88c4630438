"""Which scaling is measured: cases as data. Nothing here imports PyTorch."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

from gpu_bench.cases.case import Case, ModelName
from gpu_bench.cases.planned import PlannedPoint
from gpu_bench.record.rules import Amount, Count, Seconds, Steps, Tokens

Strategy = Literal["ddp", "fsdp2", "tensor", "pipeline"]
Scaling = Literal["weak", "strong"]


@dataclass(frozen=True, kw_only=True)
class ScalingCase(Case):
    """The same training step on one process, then on more and more, one device each."""

    kind: Literal["scaling"] = "scaling"
    model: ModelName  # A size from `sizes.SIZES`
    precision: Literal["fp32", "amp-bf16"]  # `fp32`, or `amp-bf16`
    # What is spread: `ddp` the batch; `fsdp2` the batch and every parameter; `tensor` every matrix; `pipeline` the
    # layers
    strategy: Strategy
    scaling: Scaling  # `weak`: the batch grows with the processes; `strong`: it stays
    batch: Count  # Sequences per step on one process
    sequence: Tokens  # Tokens per sequence
    learning_rate: Amount = 1e-4
    # How many, ascending, from 1 on; those that have no devices are left out
    processes: tuple[Count, ...] = (1, 2, 4, 8, 16)
    micro_batches: Count = 1  # Pieces that a pipeline cuts the batch into
    # Whether each block is compiled, all by the code of the first; on one process too
    compile: Literal["none", "default"] = "none"
    warmup: Steps = 5  # Training steps before the clock starts
    steps: Steps = 20  # Timed training steps
    # Training steps under the profiler after the timed ones: it slows steps down, so they are apart
    profiled: Steps = 3
    time_limit_s: Seconds = 900.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.processes[:1] != (1,) or len(self.processes) < 2 or list(self.processes) != sorted({*self.processes}):
            raise ValueError(f"processes is {self.processes}; allowed: 1 and at least one more, ascending")
        if self.strategy == "pipeline" and (self.batch % self.micro_batches or self.micro_batches < self.processes[-1]):
            raise ValueError(
                f"micro_batches is {self.micro_batches}; allowed: a divisor of the batch, {self.batch}, and at least "
                f"the stages, {self.processes[-1]}"
            )

    @property
    def extent(self) -> str:
        """How many processes at most."""
        return f"1 to {self.processes[-1]} processes"

    def batch_of(self, processes: int) -> int:
        """Sequences per step of all processes together."""
        return self.batch * processes if self.scaling == "weak" else self.batch

    def fitting(self, devices: int, nodes: int = 1) -> tuple[int, ...]:
        """The numbers of processes that so many machines can run, which have so many devices together."""
        whole = (count for count in self.processes if count == 1 or count % nodes == 0)
        return tuple(count for count in whole if count <= devices)

    def point(self, processes: int, nodes: int) -> PlannedPoint:
        """What is timed on so many processes of so many machines; one process runs on each machine by itself."""
        settings = {
            "processes": processes,
            "nodes": nodes if processes > 1 else 1,
            "batch": self.batch_of(processes),
            "strategy": self.strategy,
            "scaling": self.scaling,
        }
        work = {"flops": None, "tokens": self.batch_of(processes) * self.sequence}
        return PlannedPoint(f"{processes} process{'' if processes == 1 else 'es'}", settings, work)


RENDEZVOUS, NODES = "GPU_BENCH_RENDEZVOUS", "GPU_BENCH_NODES"


@dataclass(frozen=True)
class Meeting:
    """Machines that measure together."""

    address: str = ""  # HOST:PORT of one of them; empty for a machine alone
    nodes: int = 1  # How many machines

    def joined(self, processes: int) -> bool:
        """Whether so many processes are spread over all machines; one process runs on each by itself."""
        return self.nodes > 1 and processes > 1

    def options(self, processes: int, name: str) -> tuple[str, ...]:
        """What `torchrun` is told, `name` being the same on every machine."""
        if not self.joined(processes):
            return ("--standalone", f"--nproc-per-node={processes}")
        return (
            f"--nnodes={self.nodes}",
            f"--nproc-per-node={processes // self.nodes}",
            "--rdzv-backend=c10d",
            f"--rdzv-endpoint={self.address}",
            f"--rdzv-id={name}",
        )


def meeting() -> Meeting:
    """The machines that the environment of this process names.

    Each of them runs the same command with two variables: `GPU_BENCH_RENDEZVOUS`, the address HOST:PORT at which they
    meet, and `GPU_BENCH_NODES`, how many they are.

    Raises:
        ValueError: When the number of machines is none, or they have no address.
    """
    address, nodes = os.environ.get(RENDEZVOUS, ""), os.environ.get(NODES, "1")
    if not nodes.isascii() or not nodes.isdigit() or int(nodes) < 1:
        raise ValueError(f"{NODES} is {nodes!r}; allowed: 1, 2, 3, ...")
    if int(nodes) > 1 and not address.rpartition(":")[0]:
        raise ValueError(f"{RENDEZVOUS} is {address!r} with {NODES} {nodes}; allowed: HOST:PORT of one of the machines")
    return Meeting(address, int(nodes))
