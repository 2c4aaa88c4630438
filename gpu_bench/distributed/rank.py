"""One process of a scaling case, under `torchrun`: it trains, and says what communication took of its steps.

Two shares, from the profiler's record of what ran when, because they answer two questions. `busy`: the time in which
data was under way between processes, or a process waited for another one's. `exposed`: the part of it in which the
device did nothing else, which is what a step would gain if communication cost nothing.
"""

from __future__ import annotations

import json
import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, distributed

from gpu_bench.cases.kinds import case_from_dict
from gpu_bench.distributed.case import ScalingCase, Strategy
from gpu_bench.distributed.strategies import (
    Here,
    Parallel,
    PipelineParallel,
    TensorParallel,
    ddp,
    fsdp2,
    model_config,
    plain,
)
from gpu_bench.measure.data import draw_windows, read_corpus
from gpu_bench.measure.stopwatch import Stopwatch
from gpu_bench.measure.trace import WINDOW, beyond, clip, covered, interval, traced
from gpu_bench.record.store import write_json

_DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


@dataclass(frozen=True)
class Shares:
    """Shares of the profiled steps' time, 0 to 1."""

    busy: float
    exposed: float


def profiled_shares(steps: Callable[[], None], device: torch.device) -> Shares:
    """Run `steps` under the profiler and return what communication took of their time in this process."""
    return shares(traced(steps, device), device.type)


def shares(events: Sequence[Mapping[str, Any]], device: str) -> Shares:
    """What communication took of the profiled steps, from the complete events of a trace.

    On a GPU, communication is NCCL's kernels and computation all other work of the device. On a CPU, communication is
    Gloo's operations, from their start to their end on Gloo's own threads, and computation is PyTorch's innermost
    operations: an outer one may do nothing but wait for communication inside it.
    """
    # On a GPU the window is marked on the device's own timeline too, because its work starts and ends later there.
    marked = [event for event in events if event["name"] == WINDOW and event.get("cat") == "user_annotation"]
    begin, end = interval(marked[0])
    if device == "cuda":
        work = [event for event in events if event.get("cat") in _DEVICE_WORK]
        communication = [event for event in work if "nccl" in event["name"].lower()]
        computation = [event for event in work if "nccl" not in event["name"].lower()]
    else:
        communication = [event for event in events if event["name"].startswith("gloo:")]
        operations = [event for event in events if event.get("cat") == "cpu_op"]
        computation = [event for event in _innermost(operations) if event["name"].startswith("aten::")]
    sending = clip(map(interval, communication), begin, end)
    computing = clip(map(interval, computation), begin, end)
    whole = end - begin
    return Shares(busy=covered(sending) / whole, exposed=beyond(sending, computing) / whole)


def _innermost(events: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The events of each thread that contain no other one."""
    ordered = sorted(events, key=lambda event: (event["pid"], event["tid"], event["ts"], -event["dur"]))
    return [
        event
        for event, after in zip(ordered, [*ordered[1:], None], strict=True)
        if after is None
        or (after["pid"], after["tid"]) != (event["pid"], event["tid"])
        or after["ts"] >= event["ts"] + event["dur"]
    ]


JOB_VARIABLE = "GPU_BENCH_SCALING_JOB"
"""Names the file with the case, the kind of device, and where the report goes."""
STRATEGIES: dict[Strategy, Callable[[ScalingCase, Here], Parallel]] = {
    "ddp": ddp,
    "fsdp2": fsdp2,
    "tensor": TensorParallel,
    "pipeline": PipelineParallel,
}


def measure(case: ScalingCase, here: Here) -> dict[str, Any]:
    """Train the case on these processes. A single one trains the plain model, which is what the others compare with.

    Returns in every process the seconds of its steps, the losses of the whole batch from the first step on, and of
    every process what communication took and the allocator's peak.
    """
    make = plain if here.world == 1 else STRATEGIES[case.strategy]
    parallel = make(case, here)
    steps = case.warmup + case.steps + case.profiled
    corpus = read_corpus(vocabulary=model_config(case).vocab)
    windows = draw_windows(corpus, steps, case.batch_of(here.world), case.sequence, case.seed)
    batches = [parallel.own(window) for window in windows]
    losses: list[Tensor] = []

    def run(begin: int, count: int) -> None:
        for batch in batches[begin : begin + count]:
            losses.append(parallel.step(batch.to(here.device, non_blocking=True).long()))

    run(0, case.warmup)
    seconds = _timed(run, case, here)
    profiled = profiled_shares(lambda: run(case.warmup + case.steps, case.profiled), here.device)
    peak = torch.cuda.max_memory_allocated(here.device) if here.device.type == "cuda" else None
    curve = torch.stack(losses).double() * parallel.loss_weight
    everyone: list[Any] = [None] * here.world
    distributed.all_gather_object(everyone, {"communication": asdict(profiled), "peak": peak})
    distributed.all_reduce(curve)
    return {
        "step_s": [round(second, 9) for second in seconds],
        "losses": [round(loss, 6) if math.isfinite(loss) else None for loss in curve.tolist()],
        "communication": [one["communication"] for one in everyone],
        "peak": [one["peak"] for one in everyone],
    }


def _timed(run: Callable[[int, int], None], case: ScalingCase, here: Here) -> list[float]:
    """Seconds of every timed step; all processes begin together."""
    distributed.barrier()
    if here.device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(here.device)
    watch = Stopwatch(here.device)
    watch.mark()
    for index in range(case.steps):
        run(case.warmup + index, 1)
        watch.mark()
    return watch.seconds()


def _end_with_runner() -> None:
    # `torchrun` gives its processes sessions of their own, but passes standard input on: it closes with the runner.
    while os.read(0, 4096):
        pass
    os._exit(1)


def main() -> int:
    """Do the job that the environment names."""
    threading.Thread(target=_end_with_runner, daemon=True).start()
    job = json.loads(Path(os.environ[JOB_VARIABLE]).read_text(encoding="utf-8"))
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    cuda = job["device"] == "cuda"
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if cuda else "gloo", device_id=device if cuda else None)
    try:
        report = measure(cast(ScalingCase, case_from_dict(job["case"])), Here(rank, world, device))
        if int(os.environ["LOCAL_RANK"]) == 0:  # every machine has its own report
            write_json(Path(job["report"]), report)
    finally:
        distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    sys.exit(main())
